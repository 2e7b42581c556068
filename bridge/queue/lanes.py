"""A lane in the hands of a worker: what it holds, and what it finds there.

A worker gets a lane in one of two ways. It reads the ready stream (`Inbox.wait_for_lanes`, `Journal.take`); or, where
it has a place free, it makes an `Offer` to whoever takes a message in, in the same process: what is put into an empty
lane is then taken in the very step that keeps it. Without that a person waits 1.5 ms longer (4.1 ms become 5.7).
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bridge.errors import RecordNotUnderstood
from bridge.ids import Lane, TurnId
from bridge.queue.records import Conversation, Record, pairs


@dataclass(frozen=True, slots=True)
class Held:
    """A lane that this process works on, by the *entry* that is pending for it."""

    entry: str
    lane: Lane


@dataclass(frozen=True, slots=True)
class Taken:
    """The head of a lane: its *record*, and what its thread is bound to.

    *token* is new for each take. *channel_default* is the agent that answers in its channel where nothing else
    chooses, if the thread has none yet.
    """

    held: Held
    record: Record
    conversation: Conversation
    token: str = field(compare=False)
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


class Offer:
    """A worker that is free.

    *answer* is what came of it: the head of the lane that it has now; a lane that had waited for longer; nothing for
    it; or a doubt, which it has to settle (`Inbox.settle`).
    """

    def __init__(self) -> None:
        self.answer: asyncio.Future[Head | Held | InDoubt | None] = asyncio.get_running_loop().create_future()

    def accept(self, handed: Head | Held | InDoubt | None) -> None:
        """Tell the worker; it may have ended by now, and then its lease will."""
        if not self.answer.done():
            self.answer.set_result(handed)


def read_head(held: Held, answer: Sequence[Any]) -> Head:
    """Read what ``look_at_head`` of the scripts' prelude gives."""
    if answer[0] == "newer":
        return Unreadable(held, TurnId(answer[1]), is_newer=True)
    _, turn_id, record, conversation, handed_out, default = answer
    try:
        read = Record.from_redis(turn_id, pairs(record), handed_out=int(handed_out))
    except RecordNotUnderstood:
        return Unreadable(held, TurnId(turn_id))
    bound = Conversation.from_redis(pairs(conversation))
    return Taken(held, read, bound, secrets.token_hex(8), int(default) if default else None)
