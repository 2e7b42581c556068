"""A lane in the hands of a worker: what it holds, on which terms it takes the head, and what it finds there.

A worker gets a lane in one of two ways. It reads the ready stream (`Inbox.wait_for_lanes`, `Journal.take`); or, where
it has a place free, it makes an `Offer` to whoever takes a message in, in the same process: what is put into an empty
lane is then taken in the very step that keeps it, which saves a quick answer a wake-up and two round trips.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bridge.errors import RecordNotUnderstood
from bridge.ids import Lane, TurnId
from bridge.queue.records import Conversation, Turn, pairs
from bridge.queue.scripting import epoch_ms


@dataclass(frozen=True, slots=True)
class Held:
    """A lane that this process works on, by the *entry* that is pending for it."""

    entry: str
    lane: Lane


@dataclass(frozen=True, slots=True)
class Terms:
    """How a worker takes a head.

    Where nothing is left to decide and it *may_send*, SENT is written in the same step (`Turn.was_sent_now`), unless
    the turn was accepted before *oldest*. *token* is new for each take, and the same when a take is repeated.
    """

    token: str
    may_send: bool
    oldest: datetime

    def arguments(self, now: int, *, begins: bool) -> tuple[str | int, ...]:
        """What ``look_at_head`` of the scripts' prelude has to know.

        *now* in ms; *begins*: it counts as a take, which a worker that has waited and looks again does not.
        """
        return now, self.token, int(self.may_send), epoch_ms(self.oldest), int(begins)


@dataclass(frozen=True, slots=True)
class Taken:
    """The head of a lane: the *turn*, what its thread is bound to, and the *token* of this take.

    *channel_default* is the agent that answers in its channel where nothing else chooses, if the thread has none yet.
    """

    held: Held
    turn: Turn
    conversation: Conversation
    token: str
    channel_default: int | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The head of a lane is a record that this release cannot read; *is_newer*: a later one wrote it, and can."""

    held: Held
    turn: TurnId
    is_newer: bool = False


Head = Taken | Unreadable


@dataclass(frozen=True, slots=True)
class InDoubt:
    """Nobody knows whether *turn* was put in: the answer was lost, or nobody waited for it."""

    turn: TurnId


@dataclass(frozen=True, slots=True)
class Offer:
    """A worker that is free, on its *terms*.

    *answer* is what came of it: the head of the lane that it has now; a lane that had waited for longer; nothing for
    it; or a doubt, which it has to settle (`Inbox.settle`).
    """

    terms: Terms
    answer: asyncio.Future[Head | Held | InDoubt | None]

    def accept(self, handed: Head | Held | InDoubt | None) -> None:
        """Tell the worker; it may have ended by now, and then its lease will."""
        if not self.answer.done():
            self.answer.set_result(handed)


def read_head(held: Held, answer: Sequence[Any], token: str) -> Head:
    """Read what ``look_at_head`` of the scripts' prelude gives."""
    if answer[0] == "newer":
        return Unreadable(held, TurnId(answer[1]), is_newer=True)
    _, turn_id, turn, conversation, fresh, handed_out, default = answer
    try:
        read = Turn.from_redis(turn_id, pairs(turn), was_sent_now=fresh == "1", handed_out=int(handed_out))
    except RecordNotUnderstood:
        return Unreadable(held, TurnId(turn_id))
    bound = Conversation.from_redis(pairs(conversation))
    return Taken(held, read, bound, token, int(default) if default else None)
