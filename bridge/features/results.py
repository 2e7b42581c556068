"""What a handler returns: a closed set.

* A `Reply`, or an `Outcome` where there is more to say: it is recorded, then posted exactly once as far as that can be.
* A `Form` or a `HomeView`, which the person sees and nothing else; `HomeChanged` has their Home tab drawn anew.
* `Wait`: a menu is shown, and the lane waits until somebody has chosen.
* `Done`: there is nothing to show.

`TryLater` is raised where something that has to be looked up first cannot be had now.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from bridge.errors import RecordNotUnderstood
from bridge.inbound import MessagePart
from bridge.slack.blockkit.reply import Reply, View


class NewThread(BaseModel):
    """The message that is queued in the thread whose root the reply becomes."""

    model_config = ConfigDict(frozen=True)

    agent: int
    text: str  # with Slack's escapes, like a message that somebody typed there
    parts: tuple[MessagePart, ...] = ()
    thread_ts: str = ""  # the thread that it is for, where the reply is no root


class PostedReport(BaseModel):
    """What is kept of a scheduled report once it is posted for its *slot*.

    Its *words* are for the first question in its thread, its *numbers* for the next report to compare with. With
    *binds* its thread is a conversation at once. It is *called* what its schedule says.
    """

    model_config = ConfigDict(frozen=True)

    report: str
    called: str
    slot: AwareDatetime
    words: str
    numbers: str = ""
    binds: bool = False


class ShownLate(BaseModel):
    """The outcome of the earlier turn *turn* is shown after all; the message *notice* has asked whether to."""

    model_config = ConfigDict(frozen=True)

    turn: str
    notice: str


class Greeted(BaseModel):
    """The person was greeted, and is not to be greeted again."""

    model_config = ConfigDict(frozen=True)

    user: str


class Outcome(BaseModel):
    """*what* happened, in a word for the trace and the metrics, and the *reply* that shows it.

    *mark*, *agent* and *session* go into the message's metadata; *workflow* is the one that ran. *keeps_text*: the
    reply has a button that sends the text again. *after* is done
    once it is posted, and may be done again. *ran* is
    the name of the workflow of a run that was started, and *ended* how that ended. *concerns* is what it was about, for
    the audit: a kind, an id and a name (``agent 7 Support``).
    """

    model_config = ConfigDict(frozen=True)

    what: str
    reply: Reply
    mark: str = "bridge_turn"
    agent: int | None = None
    session: int | None = None
    workflow: int | None = None
    keeps_text: bool = False
    after: tuple[NewThread | PostedReport | ShownLate | Greeted, ...] = ()
    ran: str = ""
    ended: str = ""
    concerns: str = ""

    @classmethod
    def from_json(cls, text: str) -> Outcome:
        """Read what ``model_dump_json`` made. Raises `RecordNotUnderstood`."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as exc:
            raise RecordNotUnderstood("outcome") from exc


def shown(reply: Reply, what: str = "shown", about: str = "") -> Outcome:
    """Make the outcome of which *reply* is all that people see."""
    return Outcome(what=what, reply=reply, concerns=about)


@dataclass(frozen=True, slots=True)
class Form:
    """Open *view* with the turn's trigger. A trigger lives 3 s: where it is too late, *otherwise* is shown."""

    view: View
    otherwise: Reply
    about: str = ""


@dataclass(frozen=True, slots=True)
class HomeView:
    """Show *view* as the Home tab of this turn's person, unless it has changed since they saw *view_hash*."""

    view: View
    view_hash: str = ""


@dataclass(frozen=True, slots=True)
class HomeChanged:
    """A click in the Home tab has changed what that shows: draw it anew."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Show *menu* in the thread, once, and let the lane wait until somebody has chosen an agent."""

    menu: Reply


@dataclass(frozen=True, slots=True)
class Done:
    """There is nothing to show, for *reason* (it is kept for `bridge trace`).

    One that *keeps_text* leaves that, with what it has staged, to a button of another turn.
    """

    reason: str
    facts: dict[str, str] = field(default_factory=dict)
    keeps_text: bool = False


Result = Reply | Outcome | Form | HomeView | HomeChanged | Wait | Done


class TryLater(Exception):
    """Something that has to be looked up first cannot be had before *after*; the message waits."""

    def __init__(self, after: timedelta) -> None:
        super().__init__(after)
        self.after = after
