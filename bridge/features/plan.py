"""What is to be done about a turn: the value that a handler of commands or chats returns.

A handler may look things up, as often as it likes; whatever *changes* something outside is only said here and
done by `bridge.features.turn`, which writes a step to the journal before each such effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bridge.features.outcome import PostedReport
from bridge.ids import ThreadKey, TurnId
from bridge.inbound import InboundMessage, Notice
from bridge.slack.blockkit.reply import Reply, View


@dataclass(frozen=True, slots=True)
class Show:
    """Answer with *reply*; nothing else changes. *what* names it for the trace and the metrics.

    *about* is what it was about, for the audit: a kind, an id and a name (``agent 7 Support``). So it is below.
    """

    reply: Reply
    what: str = "shown"
    about: str = ""


@dataclass(frozen=True, slots=True)
class OpenForm:
    """Open *view* with the turn's trigger. A trigger lives 3 s: where it is too late, *otherwise* is shown."""

    view: View
    otherwise: Reply
    about: str = ""


@dataclass(frozen=True, slots=True)
class AskAgent:
    """Send *message* to the agent in the thread of this turn, continuing *session* where there is one.

    With *is_first* the thread has no agent yet: it is bound to this one, unless another was faster. *title* is what the
    conversation is called from now on (``""``: as before).
    """

    agent: int
    agent_name: str
    message: str
    session: int | None = None
    is_first: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class RunWorkflow:
    """Start one run of a workflow with *input* (any JSON value) and keep a card about it in the channel.

    *replaces* takes the place of the private question whose button was pressed.
    """

    workflow: int
    workflow_name: str
    input: Any
    replaces: Reply | None = None


@dataclass(frozen=True, slots=True)
class PublishHome:
    """Show *view* as the Home tab of this turn's person, unless it has changed since they saw *view_hash*."""

    view: View
    view_hash: str = ""


@dataclass(frozen=True, slots=True)
class StartThread:
    """Post *root* in the channel as the root of a new thread, and queue *text* there for the agent.

    *text* has Slack's escapes, like that of a message that somebody typed there. With *thread_ts*, it is no new thread:
    *root* is posted in that one.
    """

    agent: int
    root: Reply
    text: str
    thread_ts: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class WaitForChoice:
    """Show *menu* in the thread, once, and let the lane wait until somebody has chosen an agent."""

    menu: Reply


@dataclass(frozen=True, slots=True)
class ChooseAgent:
    """An agent for the waiting messages of *thread* was chosen; *reply* takes the menu's place.

    The first choice wins: *too_late* is shown instead where there was another one before.
    """

    thread: ThreadKey
    agent: int
    reply: Reply
    too_late: Reply


@dataclass(frozen=True, slots=True)
class SetDefault:
    """Let *agent* answer in the channel of *notice*, which tells the channel where that is a change; None: nobody.

    In a direct message, which belongs to its person, nobody else is told. *reply* is for who asked for it.
    """

    agent: int | None
    reply: Reply
    notice: Notice | None
    about: str = ""


@dataclass(frozen=True, slots=True)
class SendAgain:
    """Queue the message of the earlier turn *turn* once more, at the end of its thread; *reply* replaces the button."""

    turn: str
    reply: Reply
    gone: Reply


@dataclass(frozen=True, slots=True)
class ShowAfterAll:
    """Show what was recorded of the earlier turn *turn* and perhaps never posted, once for each message with a button.

    Where *asked_at* (``ts``) only that is asked, its message is replaced. *again* and *gone* are shown where it was, or
    is no longer kept.
    """

    turn: str
    again: Reply
    gone: Reply
    asked_at: str = ""


@dataclass(frozen=True, slots=True)
class QueueMessage:
    """Queue *message*, which its person was asked about, once; *reply* takes the question's place.

    *in_order*: it waits for those before it in its thread.
    """

    message: InboundMessage
    reply: Reply
    in_order: bool


@dataclass(frozen=True, slots=True)
class AskEdited:
    """Queue the new text of a *message* (by identity) that was changed too late; *reply* takes the offer's place."""

    message: str
    reply: Reply
    gone: Reply


@dataclass(frozen=True, slots=True)
class CastVote:
    """Keep what the person of this turn thinks of an *agent*'s answer in a *session*, the one of an earlier *turn*."""

    turn: TurnId
    agent: int
    session: int | None
    is_up: bool
    reply: Reply


@dataclass(frozen=True, slots=True)
class StopTurn:
    """Stop what is in work in *thread*, or, with *only*, the turn of that one message (its ``ts``).

    *given* is Slack's ts of when somebody asked for that: a turn that was begun later is left alone.
    """

    thread: ThreadKey
    given: str
    only: str = ""


@dataclass(frozen=True, slots=True)
class Resume:
    """Let what waits in *thread* behind a stopped turn go on, or *drop* it."""

    thread: ThreadKey
    drop: bool


@dataclass(frozen=True, slots=True)
class Greet:
    """Offer *prompts* in the direct message with a person, and greet them there with *reply* where there is one."""

    channel: str
    prompts: list[dict[str, str]]
    reply: Reply | None


@dataclass(frozen=True, slots=True)
class PostReport:
    """Post a scheduled report with its *reply*, as the root of a thread in which it can be asked about."""

    reply: Reply
    posted: PostedReport


@dataclass(frozen=True, slots=True)
class TryLater:
    """Something that has to be looked up first cannot be had before *after*; the message waits."""

    after: timedelta


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing is to be done, for *reason* (it is kept for `bridge trace`)."""

    reason: str
    facts: dict[str, str] = field(default_factory=dict)


Plan = (
    Show
    | OpenForm
    | PublishHome
    | AskAgent
    | RunWorkflow
    | StartThread
    | WaitForChoice
    | ChooseAgent
    | SetDefault
    | SendAgain
    | ShowAfterAll
    | AskEdited
    | QueueMessage
    | CastVote
    | StopTurn
    | Resume
    | Greet
    | PostReport
    | TryLater
    | Nothing
)
