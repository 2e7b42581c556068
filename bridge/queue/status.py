"""What every process is doing, from the queue itself: who reads the ready stream, and their lanes.

Nothing is written, and no text is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from redis.exceptions import ResponseError

from bridge.ids import Lane
from bridge.queue.keys import GROUP
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts
from bridge.queue.wipe import FIELDS, Wipe

_MOST: Final = 1000  # of running turns


@dataclass(frozen=True, slots=True)
class Work:
    """A turn being worked on: its *lane*, its *step*, and when it was accepted."""

    turn: str
    lane: Lane
    step: str
    accepted_at: datetime | None


@dataclass(frozen=True, slots=True)
class Process:
    """A bridge with the queue open: its *name*, when it was last heard of, and its work."""

    name: str
    last_heard: timedelta
    work: tuple[Work, ...]


@dataclass(frozen=True, slots=True)
class Status:
    """All *processes*, and how many lanes have work, are *parked* for a choice or *held* by a stop; dead letters.

    *wipe*: the store was emptied recently.
    """

    processes: tuple[Process, ...] = ()
    lanes: int = 0
    parked: int = 0
    held: int = 0
    dead: int = 0
    wipe: Wipe | None = None


async def status_of(scripts: Scripts) -> Status:
    """Read it all. Raises `StoreUnavailable`."""
    redis, keys = scripts.redis, scripts.keys
    with translated():
        try:
            consumers: list[dict[str, Any]] = await redis.xinfo_consumers(keys.ready(), GROUP)
            pending: list[dict[str, Any]] = await redis.xpending_range(keys.ready(), GROUP, "-", "+", _MOST)
        except ResponseError:  # it's unused
            consumers, pending = [], []
        work: dict[str, list[Work]] = {}
        for one in pending:
            entries: Any = await redis.xrange(keys.ready(), one["message_id"], one["message_id"])
            if not entries:
                continue
            lane = Lane(entries[0][1]["lane"])
            turn: Any = await redis.lindex(keys.box(lane), 0)
            step, at = await redis.hmget(keys.turn(turn), ["step", "at"]) if turn else (None, None)
            since = datetime.fromtimestamp(int(at) / 1000, UTC) if at else None
            work.setdefault(one["consumer"], []).append(Work(str(turn or ""), lane, str(step or ""), since))
        return Status(
            processes=tuple(
                Process(one["name"], timedelta(milliseconds=one["idle"]), tuple(work.get(one["name"], ())))
                for one in sorted(consumers, key=lambda one: int(one["idle"]))
            ),
            lanes=await redis.xlen(keys.ready()),
            parked=await redis.hlen(keys.parked()),
            held=await redis.hlen(keys.held()),
            dead=await redis.zcard(keys.dead()),
            wipe=Wipe.read(await redis.hmget(keys.owner(), FIELDS), datetime.now(UTC)),
        )
