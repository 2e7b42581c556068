"""The results that a handler may return, a closed set.

* A `Reply`, or an `Outcome` with more facts: recorded, then posted exactly once as far as possible.
* A `Modal` or a `HomeView`, which only the person sees; `HomeChanged` redraws their Home tab.
* `Wait`: a menu is shown, and the lane waits until someone has picked an agent.
* `Done`: there's nothing to show.

A handler raises `TryLater` if data it needs isn't available now.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, SerializeAsAny, ValidationError

from bridge.errors import RecordNotUnderstood, SlackError
from bridge.inbound import MessagePart
from bridge.slack.blockkit.reply import Reply, View

RUN_MARK: Final = "bridge_run"
"""The event type in the metadata of a run's card."""

MENU_MARK: Final = "bridge_menu"
"""The event type in the metadata of a menu that waits for a choice, or had one."""

NOTICE_MARK: Final = "bridge_notice"
"""The event type in the metadata of a notice that stands beside a turn's outcome."""


class After(BaseModel, frozen=True, defer_build=True):
    """What's left to do once an outcome is posted, perhaps twice: `Feature.once_posted` says who does it.

    Each class has its *kind*, by which it's read again.
    """

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Register a kind."""
        if kind := cls.model_fields.get("kind"):
            _AFTER[kind.default] = cls


_AFTER: Final[dict[str, type[After]]] = {}


def _read_after(value: Any) -> Any:
    """Read what's stored as the class of its kind; the release before stored the fields without one."""
    if not isinstance(value, dict):
        return value
    fields = {"kind", *value}
    kinds = [value["kind"]] if "kind" in value else [k for k, of in _AFTER.items() if of.model_fields.keys() == fields]
    if len(kinds) != 1 or kinds[0] not in _AFTER:
        raise ValueError("no such kind")
    return _AFTER[kinds[0]].model_validate(value)


class NewThread(After, frozen=True):
    """The message to queue in the thread that starts with the posted reply."""

    kind: Literal["new thread"] = "new thread"
    agent: int
    text: str  # with Slack's escapes, like a typed message
    parts: tuple[MessagePart, ...] = ()
    thread_ts: str = ""  # an existing thread; the reply is then not its root


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
    after: tuple[Annotated[SerializeAsAny[After], BeforeValidator(_read_after)], ...] = ()
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
class Modal:
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


Result = Reply | Outcome | Modal | HomeView | HomeChanged | Wait | Done


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
