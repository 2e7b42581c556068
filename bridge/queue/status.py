"""The status of all processes: when each last sent a heartbeat, and its lanes in the ready stream.

Only reads, and no message text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from bridge.ids import Lane, ThreadKey
from bridge.queue.keys import GROUP, Keys
from bridge.queue.reloads import Reloads
from bridge.queue.scripting import Scripts, from_epoch_ms, pipelined, server_time
from bridge.queue.wipe import FIELDS, Wipe

RUNNING: Final = timedelta(seconds=20)  # heartbeats are 5 s apart
_MOST: Final = 1000  # of running turns, or lanes


@dataclass(frozen=True, slots=True)
class InProgress:
    """A turn being worked on: its *lane*, its *step*, when it was accepted, and its *project* (``""``: the default).

    *next_try* is when it's sent to the service again, if it waits for that.
    """

    turn: str
    lane: Lane
    step: str
    accepted_at: datetime | None
    project: str = ""
    next_try: datetime | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """A bridge process: its *name*, how long ago its last heartbeat was (None: over a day), and its work.

    *clock* says how wrong its machine's clock is, if it is. One that ended without stopping cleanly *is_replaced* once
    another has started since.
    """

    name: str
    last_heard: timedelta | None
    work: tuple[InProgress, ...]
    clock: str = ""
    is_replaced: bool = False

    @property
    def is_running(self) -> bool:
        """Whether its last heartbeat is recent."""
        return self.last_heard is not None and self.last_heard < RUNNING

    @property
    def is_missing(self) -> bool:
        """Whether it should run, and doesn't."""
        return not (self.is_running or self.is_replaced)


@dataclass(frozen=True, slots=True)
class Status:
    """All *processes*, and how many *lanes* have work, are *parked* for a choice or *held* by a stop.

    *approvals* counts requests that wait for approval, *dead* dead letters. *wipe*: the store was emptied recently.
    """

    processes: tuple[Process, ...] = ()
    lanes: int = 0
    parked: int = 0
    held: int = 0
    approvals: int = 0
    dead: int = 0
    wipe: Wipe | None = None

    @property
    def is_well(self) -> bool:
        """Whether what should run runs: at least one process, and another for each that ended unexpectedly."""
        has_one = any(process.is_running for process in self.processes)
        return has_one and not any(process.is_missing for process in self.processes)


async def status_of(scripts: Scripts) -> Status:
    """Read the status of all processes. Raises `StoreUnavailable`."""
    redis, keys = scripts.redis, scripts.keys
    try:
        pending: list[dict[str, Any]] = await redis.xpending_range(keys.ready(), GROUP, "-", "+", _MOST)
    except ResponseError:  # the namespace is unused
        pending = []
    work: dict[str, list[InProgress]] = {}
    for delivery in pending:
        entry = delivery["message_id"]
        entries: Any = await redis.xrange(keys.ready(), entry, entry)
        if not entries:
            continue
        lane = Lane(entries[0][1]["lane"])
        turn: Any = await redis.lindex(keys.box(lane), 0)
        fields: Any = await redis.hmget(keys.turn(turn), ["step", "at", "body", "next_try"]) if turn else [None] * 4
        step, at, body, again = fields
        since = from_epoch_ms(at) if at else None
        of_thread = lane.startswith("t:") and keys.thread(ThreadKey.parse(lane.removeprefix("t:")))
        project = await redis.hget(of_thread, "project") if of_thread else None
        with suppress(ValueError, AttributeError):  # it's only shown
            project = project or json.loads(body or "{}").get("project")
        next_try = from_epoch_ms(again) if again and step == "queued" else None
        running_turn = InProgress(str(turn or ""), lane, str(step or ""), since, str(project or ""), next_try)
        work.setdefault(delivery["consumer"], []).append(running_turn)
    parked, held = set(await redis.hkeys(keys.parked())), set(await redis.hkeys(keys.held()))
    return Status(
        processes=await processes_of(scripts, work),
        lanes=await redis.xlen(keys.ready()),
        parked=len(parked - held),
        held=len(parked & held),  # else its stopped turn is still being finished
        approvals=await redis.zcard(keys.approvals()),
        dead=await redis.zcard(keys.dead()),
        wipe=Wipe.read(await redis.hmget(keys.owner(), FIELDS), scripts.clock.now()),
    )


async def processes_of(
    scripts: Scripts, work: Mapping[str, Sequence[InProgress]] = MappingProxyType({})
) -> tuple[Process, ...]:
    """Return the processes that run, and those that ended without stopping cleanly. Raises `StoreUnavailable`."""
    heard = await last_heard(scripts.redis, scripts.keys)
    now, names = await server_time(scripts.redis), dict.fromkeys([*heard, *work])
    reports = await Reloads(scripts).reports(names)
    # Each of the ended processes is replaced by another one that has started since, if possible on the same host.
    free = {
        name: timedelta(seconds=now - report.started) for name, report in reports.items() if report and report.started
    }
    replaced = set[str]()
    silent_for = {name: heard.get(name, timedelta.max) for name in names}
    for gone, ago in sorted(silent_for.items(), key=itemgetter(1)):
        since = [name for name, age in free.items() if age < ago and name != gone]
        if ago >= RUNNING and since:
            host = gone.rpartition(":")[0].rpartition(":")[0]
            del free[min(since, key=lambda name: (not name.startswith(f"{host}:"), free[name]))]
            replaced.add(gone)
    return tuple(
        Process(
            name,
            heard.get(name),
            tuple(work.get(name, ())),
            clock=report.clock if report else "",
            is_replaced=name in replaced,
        )
        for name, report in reports.items()
    )


async def dead_letters(scripts: Scripts) -> tuple[int, datetime | None]:
    """Return how many dead letters there are, and since when. Raises `StoreUnavailable`."""
    key = scripts.keys.dead()
    first: Any = await scripts.redis.zrange(key, 0, 0, withscores=True)
    return (int(await scripts.redis.zcard(key)), from_epoch_ms(first[0][1])) if first else (0, None)


async def oldest_message(scripts: Scripts) -> datetime | None:
    """Return when the oldest message was accepted that isn't answered yet, and doesn't wait for people.

    Raises `StoreUnavailable`.
    """
    entries: Any = await scripts.redis.xrange(scripts.keys.ready(), count=_MOST)
    accepted = await first_accepted(scripts, [Lane(str(fields["lane"])) for _entry, fields in entries if fields])
    return min(filter(None, accepted), default=None)


async def first_accepted(scripts: Scripts, lanes: Sequence[Lane]) -> list[datetime | None]:
    """Return when each lane's first turn was accepted, if that's a message. Raises `StoreUnavailable`."""
    keys, redis = scripts.keys, scripts.redis
    heads = await pipelined(redis, lambda pipe: [pipe.lindex(keys.box(lane), 0) for lane in lanes])
    turns = [keys.turn(str(head or "")) for head in heads]
    records = await pipelined(redis, lambda pipe: [pipe.hmget(turn, ["kind", "at"]) for turn in turns])
    return [from_epoch_ms(at) if kind == "message" and at else None for kind, at in records]


async def running(scripts: Scripts) -> list[str]:
    """List the running processes. Raises `StoreUnavailable`."""
    heard = await last_heard(scripts.redis, scripts.keys)
    return sorted(name for name, age in heard.items() if age < RUNNING)


async def last_heard(redis: Redis, keys: Keys) -> dict[str, timedelta]:
    """Return how long ago each process sent a heartbeat, latest first, by Redis's clock. Raises redis-py's errors."""
    now = int(await server_time(redis) * 1000)
    processes: Any = await redis.zrevrange(keys.processes(), 0, -1, withscores=True)
    return {name: timedelta(milliseconds=max(0, now - at)) for name, at in processes}
