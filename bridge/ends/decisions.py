"""What happens to a message: on its arrival, and for ``!why`` and `bridge trace`, whose row `explain` finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from bridge.ends import Cure, End, notices
from bridge.ends.failures import FAILURES
from bridge.ends.messages import (
    ANSWERED,
    DEATHS,
    DECISIONS,
    ENDS,
    GIVEN_UP,
    REPLIED,
    REQUESTS,
    UNKNOWN,
    USED_UP,
    Decision,
    MessageState,
    Reason,
)
from bridge.ends.refusals import NOT_ALLOWED, ON_ARRIVAL, why_not_posted
from bridge.errors import NotAllowed, TooOften
from bridge.inbound import SLACK_ITSELF
from bridge.queue.put import NotQueued, WhyNotQueued
from bridge.queue.trace import MessageTrace, TurnTrace
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Reply
from bridge.slack.payloads import text
from bridge.slack.senders import Sender

WRITTEN: Final = (None, "", "file_share", "thread_broadcast", "me_message")
"""Subtypes of messages that a person wrote. Others are about events such as joins and topics, or from bots."""


def not_written(message: Mapping[str, Any]) -> Reason | None:
    """Return why a *message*, as Slack shows it, isn't one that a person or an app wrote; None if it is."""
    user, app = text(message, "user"), Sender.of(message).id
    if message.get("subtype") not in (WRITTEN if not app else (*WRITTEN, "bot_message")):
        return Reason.ABOUT_SOMETHING
    if user in SLACK_ITSELF:
        return Reason.OF_SLACK
    if message.get("hidden"):
        return Reason.HIDDEN
    return None if user or app else Reason.OF_NOBODY


@dataclass(frozen=True, slots=True)
class Received:
    """The decision about a message: what the caller acts on, and metrics and logs count.

    Its *reason* is a `Reason`, perhaps with a fact, or of a refusal the name of the notice about it.
    """

    decision: Decision
    reason: str = ""


NOT_QUEUED: Final[Mapping[WhyNotQueued, Received]] = {
    "duplicate": Received("duplicate"),
    "full": Received("full"),
    "paused": Received("paused"),
    "muted": Received("ignored", Reason.MUTED),
    "unbound": Received("unbound", Reason.NO_CONVERSATION),
    "deleted": Received("ignored", Reason.DELETED),
    "edited": Received("ignored", Reason.EDITED_AWAY),
    "newer": Received("early", Reason.NEW_TEXT_COMES),
    "early": Received("early", Reason.ROOT_COMES),
    "deferred": Received("deferred", Reason.READ_AGAIN),
    "others": Received("ignored", Reason.OTHERS_WRITE),
    "already": Received("known"),
    "gone": Received("known"),
}
"""The decision about a message that the inbox didn't store, by its end there; it's never ``stale`` or a ``menu``."""


def told_of(put: NotQueued, *, is_first: bool = False) -> tuple[str, Reply]:
    """Return the notice that a message wasn't queued, and its name; for *is_first*, see `notices.paused`."""
    match put:
        case NotQueued("full"):
            return "thread_full", notices.THREAD_FULL
        case NotQueued("muted"):
            return "muted", notices.THREAD_MUTED
        case NotQueued("paused", limited, wait):
            return f"paused:{limited}", notices.paused(limited, wait, is_first=is_first)
        case _:
            return "not_queued", notices.not_queued()


@dataclass(frozen=True, slots=True)
class Explanation:
    """What happened to a message: its *meaning* in the table, its facts, and the latest *turn*, if it became one.

    *since* fills in ``{since}``. *refusal* is the name of the rule that refused it. *shown_at* is the ``ts`` of the
    bot's message about it, if everyone can see it.
    """

    meaning: End
    facts: Mapping[str, str] = field(default_factory=dict)
    since: datetime | None = None
    turn: TurnTrace | None = None
    refusal: str = ""
    shown_at: str = ""

    def happened(self, since: str = "{since}") -> str:
        """Return what happened, in a sentence; *since* is the moment in words."""
        text = self.meaning.happened
        for name, value in {"cause": "", "count": "", "refused": "", **self.facts, "since": since}.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    @property
    def is_public(self) -> bool:
        """Whether everyone in its thread can see that."""
        return self.meaning.is_public or bool(self.shown_at)

    @property
    def button(self) -> Cure:
        """The button that helps, if what it would send is still stored; a reply that needs a mention never was."""
        needs_text = self.meaning.button in {"again", "now"}
        return "" if needs_text and not (self.turn and self.turn.has_text) else self.meaning.button


def explain(known: MessageTrace, down_since: datetime | None = None) -> Explanation | None:
    """Say what happened to a message; None if nothing is recorded. *down_since*: the service has been down."""
    if not known.turns:
        if not known.passed_over:
            return None
        why = known.passed_over[-1].why
        reason = Reason.of(why)
        if reason is Reason.NO_ACCESS:
            return _refused(why.partition(": ")[2])
        return Explanation(reason.meaning if reason else DECISIONS["ignored"])
    turn = known.turns[-1]
    if turn.kind == "notice" and turn.deliveries and turn.deliveries[0].why.startswith("refused: "):
        return _refused(turn.deliveries[0].why.partition(": ")[2], turn)
    if turn.step in {"queued", "sent", "posting"} and turn.ends_as:
        return Explanation(replace(ENDS[turn.ends_as], button=""), turn=turn)
    match turn.step:
        case "queued":
            return _waiting(turn, down_since)
        case "sent":
            return Explanation(MessageState.WORKING.value, since=turn.sent_at, turn=turn)
        case "posting":
            return Explanation(MessageState.POSTING.value, turn=turn)
        case "dead":
            return _dead(turn)
        case _:
            return _ended(turn)


def _refused(what: str, turn: TurnTrace | None = None) -> Explanation:
    """Explain a refusal by the name of its notice, with facts after a colon."""
    name, _, facts = what.partition(":")
    if name == "rule" and facts:  # in the words of the operator's file, whose last sentence says what helps
        happened, _, cure = facts.rpartition(". ")
        return Explanation(replace(ON_ARRIVAL["rule"], happened=f"{happened}.", cure=cure), turn=turn, refusal="rule")
    line = ON_ARRIVAL.get(f"{name}:{facts.partition(':')[0]}") or ON_ARRIVAL.get(name) or NOT_ALLOWED
    return Explanation(line, {} if turn is None else _cause(turn), turn=turn, refusal=name)


def _waiting(turn: TurnTrace, down_since: datetime | None) -> Explanation:
    if turn.is_held:
        return Explanation(MessageState.HELD.value, turn=turn)
    if turn.menu or turn.is_parked:
        return Explanation(MessageState.MENU.value, turn=turn, shown_at=turn.menu)
    if down_since:
        return Explanation(MessageState.DOWN.value, since=down_since, turn=turn)
    if turn.ahead:
        return Explanation(MessageState.BEHIND.value, {"count": kit.counted(turn.ahead, "other message")}, turn=turn)
    if turn.waits_for_reading:
        return Explanation(MessageState.UNREAD.value, turn=turn)
    if turn.next_try:
        return Explanation(MessageState.TRIED_LATER.value, since=turn.next_try, turn=turn)
    return Explanation((MessageState.NOT_ACCEPTED if turn.unsent else MessageState.NEXT).value, turn=turn)


def _dead(turn: TurnTrace) -> Explanation:
    reason = turn.deaths[-1][1] if turn.deaths else turn.what
    if turn.dropped_at:
        return Explanation(MessageState.DISCARDED_BY_ADMIN.value, turn=turn)
    if turn.died == "sent":
        return Explanation(_unknown(turn), _cause(turn), turn=turn)
    name, _, error = reason.partition(": ")
    line = DEATHS.get(reason) or DEATHS.get(name) or DEATHS["started several times, never finished"]
    if name == "Slack" and turn.died == "queued":  # the menu that asks for an agent
        line = GIVEN_UP["menu"]
    return Explanation(line, {"refused": why_not_posted(error)}, turn=turn)


def _ended(turn: TurnTrace) -> Explanation:
    what = turn.what
    if turn.approval in REQUESTS:
        return Explanation(REQUESTS[turn.approval], turn=turn, shown_at=turn.posted)
    if what.startswith("refused: "):
        return _refused(what.partition(": ")[2], turn)
    if what == NotAllowed.__name__ and turn.cause:
        return _refused(f"rule:{_reason_given(turn)}", turn)
    if what == TooOften.__name__ and turn.cause:
        return Explanation(USED_UP, _cause(turn), turn=turn)
    line = _unknown(turn) if what == "unknown" else ENDS.get(what) or ENDS.get(what.partition(":")[0])  # or a reply
    if turn.has_new_text and line in {None, REPLIED, ANSWERED}:
        return Explanation(MessageState.EDITED.value, turn=turn, shown_at="")
    if line is None or line.happened == REPLIED.happened or (line is ANSWERED and not turn.posted):
        line = (MessageState.REPLIED if turn.posted else MessageState.REPLIED_PRIVATELY).value
    elif turn.answered_at and not turn.posted and what not in {"stopped", "deleted"}:
        line = replace(line, is_public=False)  # its reply was private, too
    return Explanation(line, _cause(turn), turn=turn, shown_at=turn.posted)


def _unknown(turn: TurnTrace) -> End:
    is_run = turn.kind != "message" or turn.concerns.startswith("workflow ")  # nothing else waits for an outcome
    return MessageState.RUN_UNKNOWN.value if is_run else UNKNOWN


def _reason_given(turn: TurnTrace) -> str:
    """Return why a call of the service failed, or what refused it: a status or cause, and its own words."""
    cause = turn.cause.removeprefix(f"{turn.concerns}: ").rpartition(", after ")
    words = cause[0] or cause[2]
    name, _, rest = words.partition(": ")
    return rest if name in FAILURES else words


def _cause(turn: TurnTrace) -> dict[str, str]:
    """Return that as a part of a sentence."""
    words = kit.one_line(_reason_given(turn), 300)
    return {"cause": f" ({words})" if words else ""}
