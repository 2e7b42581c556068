"""The results that a handler may return, a closed set.

* A `Reply`, or an `Outcome` with more facts: recorded, then posted exactly once as far as possible.
* A `Form` or a `HomeView`, which only the person sees; `HomeChanged` redraws their Home tab.
* `Wait`: a menu is shown, and the lane waits until someone has picked an agent.
* `Done`: there's nothing to show.

A handler raises `TryLater` if data it needs isn't available now.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from pydantic import AwareDatetime, BaseModel, ValidationError

from bridge.errors import RecordNotUnderstood, SlackError
from bridge.inbound import MessagePart
from bridge.slack.blockkit.reply import Reply, View

RUN_MARK: Final = "bridge_run"
"""The event type in the metadata of a run's card."""

MENU_MARK: Final = "bridge_menu"
"""The event type in the metadata of a menu that waits for a choice."""

NOTICE_MARK: Final = "bridge_notice"
"""The event type in the metadata of a notice that stands beside a turn's outcome."""


class NewThread(BaseModel, frozen=True):
    """The message to queue in the thread that starts with the posted reply."""

    agent: int
    text: str  # with Slack's escapes, like a typed message
    parts: tuple[MessagePart, ...] = ()
    thread_ts: str = ""  # an existing thread; the reply is then not its root


class PostedReport(BaseModel, frozen=True):
    """The data stored about a scheduled report once it's posted for its *slot*.

    Its *words* are quoted with the first question in its thread, and the next report is compared with its *numbers*.
    With *binds*, its thread is a conversation at once. *called* describes its schedule.
    """

    report: str
    called: str
    slot: AwareDatetime
    words: str
    numbers: str = ""
    binds: bool = False


class PostedTask(BaseModel, frozen=True):
    """The data stored about a scheduled question or run once its message for a *slot* is posted.

    *called* describes it. *thread_ts* is the thread that a question continues, or ``""``, and *ended* how a run ended.
    *numbers* is the snapshot of the statistics that were filled in, for the next one.
    """

    task: str
    called: str
    slot: AwareDatetime
    thread_ts: str = ""
    ended: str = ""
    numbers: str = ""


class PostedAlert(BaseModel, frozen=True):
    """The *alert* that was posted since its condition holds, at *since*; *called* is the condition.

    *text* is quoted with the first question in its thread, and is the input of the workflow that it runs.
    """

    alert: str
    called: str
    since: AwareDatetime
    text: str


class PostedIncident(BaseModel, frozen=True):
    """The message about an *incident* that began at *since*."""

    incident: str
    since: AwareDatetime


class RequestPosted(BaseModel, frozen=True):
    """The card of a request for *approval* was posted; those who may approve it are notified."""

    approval: str


class ApproverAsked(BaseModel, frozen=True):
    """The *user* was asked to decide about a request for *approval*, as an earlier release recorded it."""

    approval: str
    user: str


class RunEnded(BaseModel, frozen=True):
    """The run that *turn* started has ended with *status*; those who asked to be notified are told.

    *name* is the workflow's, and *took* how long it took, in words.
    """

    turn: str
    name: str
    status: str
    took: str = ""


class AnswerShown(BaseModel, frozen=True):
    """The outcome of a message is shown, by *turn* for *agent* (its name); those who asked to be notified are told."""

    turn: str
    agent: str = ""


class ShownLate(BaseModel, frozen=True):
    """The outcome of an earlier *turn* was shown on request, by a button in the message *notice* (``ts``)."""

    turn: str
    notice: str


class QueuedAgain(BaseModel, frozen=True):
    """The notice says that *turn* was queued again, and is removed once that ends."""

    turn: str


class Greeted(BaseModel, frozen=True):
    """The person was greeted, and won't be greeted again."""

    user: str


class Outcome(BaseModel, frozen=True):
    """*what* happened, in a word for the trace and the metrics, and the *reply* that shows it.

    *mark*, *agent* and *session* go into the message's metadata. *workflow* is the ID of the workflow that ran, *ran*
    its name, and *ended* how the run ended. *keeps_text*: the reply has a button that sends the text again. *after* is
    handled once the reply is posted, perhaps twice. *concerns* is the subject for the audit: a kind, an ID and a name
    (``agent 7 Support``). *cause* is why a call of the project service failed, for operators (`ProjectError.cause`).
    *is_outside*: its thread is gone, so only its person sees it, in the channel. *project* is the one that it's about;
    None: the turn's. *facts* are more for the audit: a request for approval, the rule that asks for it, and its input's
    hash.
    """

    what: str
    reply: Reply
    mark: str = "bridge_turn"
    agent: int | None = None
    session: int | None = None
    workflow: int | None = None
    keeps_text: bool = False
    after: tuple[
        NewThread
        | PostedReport
        | PostedTask
        | PostedAlert
        | PostedIncident
        | RequestPosted
        | ApproverAsked
        | ShownLate
        | QueuedAgain
        | Greeted
        | RunEnded
        | AnswerShown,
        ...,
    ] = ()
    ran: str = ""
    ended: str = ""
    concerns: str = ""
    cause: str = ""
    is_outside: bool = False
    project: str | None = None
    facts: dict[str, str] = {}

    @classmethod
    def from_json(cls, text: str) -> Outcome:
        """Parse the output of ``model_dump_json``. Raises `RecordNotUnderstood`."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as exc:
            raise RecordNotUnderstood("outcome") from exc


def shown(reply: Reply, what: str = "shown", about: str = "") -> Outcome:
    """Return the outcome that only shows *reply*."""
    return Outcome(what=what, reply=reply, concerns=about)


@dataclass(frozen=True, slots=True)
class Form:
    """Open *view* with the turn's trigger, which expires after 3 s. If it's too late, show *otherwise*."""

    view: View
    otherwise: Reply
    about: str = ""


@dataclass(frozen=True, slots=True)
class HomeView:
    """Show *view* as this person's Home tab, unless it changed since they saw *view_hash*."""

    view: View
    view_hash: str = ""


@dataclass(frozen=True, slots=True)
class HomeChanged:
    """A click changed the Home tab's contents: redraw it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Show *menu* in the thread, once, and hold the lane until someone has picked an agent."""

    menu: Reply


@dataclass(frozen=True, slots=True)
class Done:
    """There's nothing to show; *reason* is for `bridge trace`.

    With *keeps_text*, the text stays and the staged writes are made, for a button of another turn.
    """

    reason: str
    keeps_text: bool = False


Result = Reply | Outcome | Form | HomeView | HomeChanged | Wait | Done


class TryLater(Exception):
    """Data that the handler needs isn't available yet; the turn is retried *after* this time, or in five seconds."""

    def __init__(self, after: timedelta | None = None) -> None:
        super().__init__(after)
        self.after = timedelta(seconds=5) if after is None else after


@contextmanager
def try_later() -> Iterator[None]:
    """Have errors of Slack in this block retry the turn. Raises `TryLater`."""
    try:
        yield
    except SlackError as exc:
        raise TryLater(exc.retry_after or None) from exc
