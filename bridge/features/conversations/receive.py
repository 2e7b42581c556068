"""Decide about a message that arrives: whether it is for an agent, and in which lane it waits.

This runs at the door, before Slack is told that the message was taken. It ends with one `Inbox.put`, which marks
the message as seen and queues it in one step; only then is Slack answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from bridge.features.access import Access
from bridge.features.conversations.notices import edited, paused
from bridge.features.registry import features
from bridge.ids import MessageKey, TurnId, thread_lane
from bridge.inbound import InboundMessage, Notice
from bridge.queue.deliveries import NOT_YET
from bridge.queue.inbox import (
    Condition,
    Duplicate,
    Early,
    Full,
    Inbox,
    Kept,
    Muted,
    Paused,
    Put,
    Queued,
    Unbound,
    Void,
)
from bridge.queue.keys import TRACE

_BEGINS_WITH_A_MENTION = re.compile(r"\s*<@([UW][A-Z0-9]+)")
STOP = "/stop"  # what `!stop` is written as here
LAST_RETRY = 3  # https://docs.slack.dev/apis/events-api/#retries; Socket Mode repeats as often
YOUNG = timedelta(minutes=10)  # the last repeat comes some six minutes after the event
REMEMBERED = TRACE - timedelta(hours=1)  # which messages were taken in; the hour is for what is on its way
_IN_ORDER = re.compile(r"/(?:new(?!\S)|agent |session )")  # `!` commands that wait for the messages before them


@dataclass(frozen=True, slots=True)
class Received:
    """What became of a message: *decision* in a word, for metrics and logs."""

    decision: Literal[
        "queued", "duplicate", "ignored", "refused", "full", "paused", "unbound", "muted", "early", "kept",
        "edited", "asked", "known", "late", "unknown", "withdrawn",
    ]  # fmt: skip
    reason: str = ""

    @property
    def is_passed_over(self) -> bool:
        """Whether no turn came of it, which a trace could tell of."""
        return self.decision in {"ignored", "unbound", "early", "kept"}


def _nobody_looks(_message: InboundMessage, _turn: TurnId, _ahead: int) -> None:
    """Show nobody that a message waits."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """Receives messages into the *inbox*.

    *bot_user* is the bot's own user id. With *mentions_only*, a reply in a bound thread has to mention the bot.
    *store_since* says since when the store knows anything: an older thread may have been bound before it was lost.
    *waits_behind* is told which message waits behind how many others, and returns at once.
    """

    inbox: Inbox
    access: Access
    bot_user: str
    mentions_only: bool
    store_since: Callable[[], datetime | None]
    waits_behind: Callable[[InboundMessage, TurnId, int], None] = _nobody_looks

    async def receive(self, message: InboundMessage, *, was_missed: bool = False) -> Received:
        """Decide about *message*, and keep it if it is for us.

        One that *was_missed* is known from its edit alone: a reply counts if messages were refused when it was written.
        Raises `StoreUnavailable` (Slack shall send it again) and `SlackError` where the person cannot be judged.
        """
        if not message.text.strip() and not message.has_files:
            return Received("ignored", "no text")
        if self._is_for_somebody_else(message):
            return Received("ignored", "begins by mentioning somebody else")
        if not is_addressed(message):
            if message.is_root:
                return Received("ignored", "not addressed to the bot")
            if self.mentions_only and features.command_line(message, self.bot_user) is None:
                return Received("ignored", "replies need a mention here")
        # Posts of some apps' bots lack their `bot_id`. What people type needs no look-up: Slack's clients mark it.
        if not message.is_typed and await self.access.directory.is_bot(message.user):
            return Received("ignored", "written by another app's bot")
        return await (self._addressed(message) if is_addressed(message) else self._reply(message, was_missed))

    async def edited(self, message: InboundMessage, *, is_mention: bool = False) -> Received:
        """The text of a message was changed: while it waits, the new text is what will be sent; else it is offered.

        An unknown message may have been refused, and Slack is about to send its earlier text again: the new one is
        taken in. Where the event *is_mention*, which comes with an edit however old, that goes for all that a message
        taken in would still be known of: the mention may have come with the edit.
        """
        age = timedelta(seconds=max(0.0, float(message.edited_ts or message.ts) - float(message.ts)))
        became = await self.inbox.edit(message, is_young=age < YOUNG)
        match became:
            case "asked":
                if message.text.strip() and features.command_line(message, self.bot_user) is None:
                    await self._offer(message)
                return Received("asked")
            case "unknown" if is_mention and age >= REMEMBERED:
                return Received("ignored", "changed more than seven days after it was written")
            case "unknown" if is_mention or age < YOUNG:
                return await self.receive(message, was_missed=True)
            case "edited" | "known" | "late":
                return Received(became)
            case _:
                return Received("unknown")

    async def deleted(self, message: MessageKey, at: str) -> Received:
        """A message was deleted *at* a time: while it waits, it is taken back; and Slack may have refused it."""
        is_young = float(at) - float(message.ts) < YOUNG.total_seconds()
        became = await self.inbox.withdraw(message, is_young=is_young)
        return Received("withdrawn" if became == "withdrawn" else "late" if became == "late" else "unknown")

    async def _offer(self, message: InboundMessage) -> None:
        """Ask the author of a message, in private, whether the agent is to get its new text too."""
        await self.inbox.put(
            _notice(message, edited(str(message.key)), of="edit", is_offer=True),
            event=f"edit:{message.key}:{message.edited_ts}" if message.edited_ts else message.event_id,
            thread=message.thread,
            in_order=False,
        )

    def _is_for_somebody_else(self, message: InboundMessage) -> bool:
        begins = _BEGINS_WITH_A_MENTION.match(message.text)
        if message.is_root or message.is_mention:
            return False
        return begins is not None and begins[1] != self.bot_user

    async def _addressed(self, message: InboundMessage) -> Received:
        refusal = await self.access.refusal(message)
        if refusal:
            return await self._tell(message, refusal, "refused")
        # A command starts no conversation.
        condition = Condition.START if features.command_line(message, self.bot_user) is None else Condition.NONE
        return await self._keep(message, condition)

    async def _reply(self, message: InboundMessage, was_missed: bool) -> Received:  # noqa: FBT001
        """A reply without a mention: for the agent if its thread is bound."""
        refusal = await self.access.refusal(message)
        condition = Condition.MISSED if was_missed else Condition.BOUND
        if refusal:
            return await self._tell(message, refusal, "refused", condition)
        received = await self._keep(message, condition)
        if was_missed:
            return received
        if received.decision == "unbound" and message.thread.is_older_than(self.store_since()):
            return await self._keep(message, Condition.SEARCH)
        return received

    async def _keep(self, message: InboundMessage, condition: Condition) -> Received:
        line = features.command_line(message, self.bot_user)
        put = await self.inbox.put(
            message,
            event=message.event_id,
            message=message.key,
            thread=message.thread,
            in_order=line is None or _IN_ORDER.match(line.casefold()) is not None,
            condition=condition,
            why=_why(message, condition, is_command=line is not None),
            version=message.edited_ts,
            is_last=message.retry >= LAST_RETRY,
            is_limited=line is None,  # a command is no turn, and !stop must work most of all in a thread that runs wild
        )
        match put:
            case Queued(turn) if line is not None and line.casefold().split() == [STOP]:
                # At once, past every queue; the turn that says what came of it gives the same stop again.
                await self.inbox.stops.stop(thread_lane(message.thread), message.ts, by=turn)
                return Received("queued")
            case Muted():
                return await self._muted(message)
            case Queued(turn, _, ahead) if ahead and line is None:
                self.waits_behind(message, turn, ahead)
                return Received("queued")
            case Full():
                return await self._tell(message, "thread_full", "full")
            case Paused():
                what = paused(put.limited, put.wait, is_first=put.is_first)
                return await self._tell(message, what, "paused")
            case _:
                return _received(put)

    async def _muted(self, message: InboundMessage) -> Received:
        """Nothing said here is for the agent; who speaks to the bot itself is told why."""
        if is_addressed(message):
            return await self._tell(message, "muted", "muted")
        return Received("ignored", "its thread is muted")

    async def _tell(
        self,
        message: InboundMessage,
        what: str,
        decision: Literal["refused", "full", "paused", "muted"],
        condition: Condition = Condition.NONE,
    ) -> Received:
        """Queue a private line instead of the message; the message is marked as seen by it."""
        put = await self.inbox.put(
            _notice(message, what),
            event=message.event_id,
            message=message.key,
            thread=message.thread,
            in_order=False,
            condition=condition,
            version=message.edited_ts,
            is_last=message.retry >= LAST_RETRY,
            why=f"{decision}: {what}",
        )
        return Received(decision, what) if isinstance(put, Queued) else _received(put)


def _notice(message: InboundMessage, what: str, *, of: str = "", is_offer: bool = False) -> Notice:
    return Notice(
        team=message.team,
        channel=message.channel,
        user=message.user,
        what=what,
        of=of,
        is_offer=is_offer,
        ts=message.ts,
        thread_ts=message.thread_ts,
    )


def is_addressed(message: InboundMessage) -> bool:
    """Whether a message is for the bot without looking at its thread: it mentions it, or stands in its own channel.

    In the direct message everything is: a reply there, too, in a thread that is not bound (any more).
    """
    return message.is_mention or message.is_direct


def _why(message: InboundMessage, condition: Condition, *, is_command: bool) -> str:
    """Say for the trace why a message is for the bot."""
    match condition:
        case Condition.BOUND | Condition.MISSED:
            why = "a reply in a thread where the bot talks"
        case Condition.SEARCH:
            why = "a reply in a thread where the bot may have talked before its store was lost"
        case _:
            why = "it mentions the bot" if message.is_mention else "it is in the bot's direct message"
    return f"{why}, as a command" if is_command else why


def _received(put: Put) -> Received:
    match put:
        case Void("deleted"):
            return Received("ignored", "it was deleted before Slack sent it again")
        case Void():
            return Received("ignored", "it was edited before Slack sent it again, and this is an earlier text")
        case Early("text"):
            return Received("early", f"{NOT_YET}it was edited since, and Slack is asked to send both again")
        case Early():
            return Received("early", f"{NOT_YET}the root of its thread was refused; Slack is asked to send both again")
        case _:
            return _PLAINLY[type(put)]


_PLAINLY: dict[type[Put], Received] = {
    Queued: Received("queued"),
    Duplicate: Received("duplicate"),
    Full: Received("full"),
    Paused: Received("paused"),
    Muted: Received("ignored", "its thread is muted"),
    Unbound: Received("unbound", "its thread is not bound"),
    Kept: Received("kept", f"{NOT_YET}it is read again when the root of its thread comes, within ten minutes"),
}
