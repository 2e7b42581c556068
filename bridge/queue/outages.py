"""Outages, in which Slack couldn't reach any process, and the threads and channels to read because of them.

`Namespace.hold` records an outage; `bridge.recovery` reads the missed messages. There's one outage at a time:
a new one before the last is caught up on spans both, and reading everything again is harmless. The `Unit`s to read are
planned once and removed one by one, so any process can continue. A claim keeps two processes from reading the same
unit; if it fails, deduplication still holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from bridge.ids import MessageKey, ThreadKey
from bridge.queue.keys import CATCHING_UP, MARKED, UNREAD_THREAD, milliseconds
from bridge.queue.scripting import Scripts, epoch_ms, from_epoch_ms

BOUND: Final = timedelta(days=7)
"""How far before an outage's end to read. The store remembers received messages for a day longer (`MARKED`)."""

_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class PastOutage:
    """An outage: Slack couldn't reach any process from *began* to *ended*.

    *is_planned*: all units to read are stored; *has_threads*: at least the threads are. *read* units were read, *left*
    are unread. Of the *found* messages, *queued* were new and for an agent. *done_at*: when all units had been read.
    *was_wiped*: the store also lost its queued messages.
    """

    began: datetime
    ended: datetime
    is_planned: bool = False
    has_threads: bool = False
    was_wiped: bool = False
    read: int = 0
    left: int = 0
    found: int = 0
    queued: int = 0
    done_at: datetime | None = None

    @property
    def name(self) -> str:
        """Its identity: the end, in ms."""
        return str(epoch_ms(self.ended))


@dataclass(frozen=True, slots=True)
class Unit:
    """A thread (``t``, *at* is its root) or a channel (``c``, read down to *at*) to read."""

    kind: Literal["t", "c"]
    team: str
    channel: str
    at: str = ""

    def __str__(self) -> str:
        """Return the stored form, for `parse`."""
        return f"{self.kind}:{self.team}:{self.channel}:{self.at}"

    @classmethod
    def parse(cls, text: str) -> Unit:
        """Parse the stored form. Raises ValueError."""
        kind, team, channel, at = text.split(":")
        if kind not in {"t", "c"}:
            raise ValueError(text)
        return cls("t" if kind == "t" else "c", team, channel, at)

    @classmethod
    def of_thread(cls, thread: ThreadKey) -> Unit:
        """Make the unit for *thread*."""
        return cls("t", *thread)

    @property
    def thread(self) -> ThreadKey:
        """The thread of a ``t`` unit."""
        return ThreadKey(self.team, self.channel, self.at)


class Outages:
    """Stores outages. Every method may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self._redis = scripts.redis
        self._keys = scripts.keys

    async def latest(self) -> PastOutage | None:
        """Return the last outage, even one that's caught up on, or None."""
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.hgetall(self._keys.catch_up())
            pipe.zcard(self._keys.unread())
            fields, left = await pipe.execute()
        if not fields:
            return None
        return PastOutage(
            began=from_epoch_ms(fields["from"]),
            ended=from_epoch_ms(fields["to"]),
            is_planned="planned" in fields,
            has_threads="threads" in fields,
            was_wiped="wiped" in fields,
            read=int(fields.get("read", "0")),
            left=int(left),
            found=int(fields.get("found", "0")),
            queued=int(fields.get("queued", "0")),
            done_at=from_epoch_ms(fields["done"]) if "done" in fields else None,
        )

    async def note(self, began: datetime, ended: datetime) -> None:
        """Record an outage that the bridge couldn't detect."""
        facts = {"began": epoch_ms(began), "ended": epoch_ms(ended), "marked_ms": milliseconds(MARKED)}
        await self._scripts.run("outage", facts, confirmed=True)

    async def claim(self, process: str) -> bool:
        """Claim catching up for *process*, or renew its claim. Returns whether it holds the claim."""
        return await self._scripts.claim(self._keys.catching_up(), process, CATCHING_UP)

    async def release(self, process: str) -> None:
        """Release the claim of *process*."""
        if await self._redis.get(self._keys.catching_up()) == process:
            await self._redis.delete(self._keys.catching_up())

    async def plan(
        self, outage: PastOutage, units: Sequence[tuple[float, Unit]], now: datetime, *, is_whole: bool = True
    ) -> bool:
        """Store the *units* to read, each with its last activity (Unix time). False if there's a new outage.

        With *is_whole*, the list is complete; otherwise it has only the threads.
        """
        for first in range(0, len(units), _AT_ONCE):
            if not await self._progress(outage, now, units[first : first + _AT_ONCE]):
                return False
        return await self._progress(outage, now, planned="planned" if is_whole else "threads")

    async def was_read(
        self,
        outage: PastOutage,
        unit: Unit,
        now: datetime,
        *,
        found: int = 0,
        queued: int = 0,
        leads_to: Iterable[tuple[float, Unit]] = (),
        mark: str = "",
    ) -> bool:
        """Remove *unit* and add the units it *leads_to*. False if there's a new outage.

        A thread that still has the *mark* from before it was read needn't be read again for a new outage.
        """
        return await self._progress(outage, now, leads_to, unit=str(unit), found=found, queued=queued, mark=mark)

    async def _progress(
        self, outage: PastOutage, now: datetime, more: Iterable[tuple[float, Unit]] = (), **facts: str | int
    ) -> bool:
        units = [(f"{score:.6f}", str(unit)) for score, unit in more]
        times = {"now": epoch_ms(now), "unread_ms": milliseconds(UNREAD_THREAD)}
        return str(await self._scripts.run("caught_up", outage.name, {**facts, **times, "more": units})) != "changed"

    async def unread(self, most: int) -> tuple[list[Unit], int]:
        """List the unread units, most recent first, and count them all."""
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.zrevrange(self._keys.unread(), 0, most - 1)
            pipe.zcard(self._keys.unread())
            units, count = await pipe.execute()
        return [Unit.parse(unit) for unit in units], int(count)

    async def unread_mark(self, thread: ThreadKey) -> str:
        """Return the mark of *thread* if it has yet to be read; ``""`` after ten minutes, when its mark expires."""
        return str(await self._redis.get(self._keys.unread_thread(thread)) or "")

    async def was_received(self, message: MessageKey) -> bool:
        """Whether *message* was received within the last `MARKED`."""
        return bool(await self._redis.exists(self._keys.seen_message(message)))

    async def active_threads(self, since: datetime, least: int) -> list[tuple[float, ThreadKey]]:
        """List the threads with a conversation that were active *since* then, but at *least* so many.

        The most recently active come first, each with its last activity (Unix time).
        """
        count = int(await self._redis.zcount(self._keys.active(), since.timestamp(), "+inf"))
        last = max(count, least) - 1
        active: Any = await self._redis.zrevrange(self._keys.active(), 0, last, withscores=True)
        return [(float(score), ThreadKey.parse(thread)) for thread, score in active]
