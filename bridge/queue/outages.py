"""Outages: when nobody heard Slack, and what has still to be looked for in its history because of that.

`Namespace.hold` notes an outage, `bridge.features.catch_up` looks for what was said then. There is one at a time: a new
one that comes before an earlier one is caught up spans both, and all is read anew, which does no harm. Everything that
has to be read is a `Unit`; the list of them is planned once, then each unit is crossed off when it has been read, so
that any process goes on where another one ended. A claim keeps two from reading the same; should it fail, nothing is
taken in twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from bridge.ids import MessageKey, ThreadKey
from bridge.queue.keys import BEHIND, CATCHING_UP, MARKED, milliseconds
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts, epoch_ms

_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class PastOutage:
    """Nobody heard Slack from when it *began* until it *ended*.

    *is_planned*: what has to be read is known, or at least *has_threads*, which; *left* is how much of that there is.
    Of *found* messages, *queued* were for an agent and not there yet. *done_at*: all was read. *was_wiped*: what waited
    then is gone, too.
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
        """Its identity."""
        return str(epoch_ms(self.ended))


@dataclass(frozen=True, slots=True)
class Unit:
    """Something to read: a thread (``t``, *at* is its root) or a channel (``c``, *at* is what was read already)."""

    kind: Literal["t", "c"]
    team: str
    channel: str
    at: str = ""

    def __str__(self) -> str:
        """The stored form; `parse` reads it."""
        return f"{self.kind}:{self.team}:{self.channel}:{self.at}"

    @classmethod
    def parse(cls, text: str) -> Unit:
        """Read what ``str`` made. Raises ValueError for anything else."""
        kind, team, channel, at = text.split(":")
        if kind not in {"t", "c"}:
            raise ValueError(text)
        return cls("t" if kind == "t" else "c", team, channel, at)

    @classmethod
    def of_thread(cls, thread: ThreadKey) -> Unit:
        """The unit that *thread* is."""
        return cls("t", *thread)

    @property
    def thread(self) -> ThreadKey:
        """The thread that it is."""
        return ThreadKey(self.team, self.channel, self.at)


class Outages:
    """What is kept about outages. Every method may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self._redis = scripts.redis
        self._keys = scripts.keys

    async def latest(self) -> PastOutage | None:
        """Give the last outage, also where it is caught up; None where none is known."""
        with translated():
            async with self._redis.pipeline(transaction=False) as pipe:
                pipe.hgetall(self._keys.catch_up())
                pipe.zcard(self._keys.unread())
                fields, left = await pipe.execute()
        if not fields:
            return None
        return PastOutage(
            began=_moment(fields["from"]),
            ended=_moment(fields["to"]),
            is_planned="planned" in fields,
            has_threads="threads" in fields,
            was_wiped="wiped" in fields,
            read=int(fields.get("read", "0")),
            left=int(left),
            found=int(fields.get("found", "0")),
            queued=int(fields.get("queued", "0")),
            done_at=_moment(fields["done"]) if "done" in fields else None,
        )

    async def note(self, began: datetime, ended: datetime) -> None:
        """Note an outage that no bridge could notice."""
        await self._scripts.run("outage", epoch_ms(began), epoch_ms(ended), milliseconds(MARKED), confirmed=True)

    async def claim(self, process: str) -> bool:
        """Whether *process* is to read: nobody else does. It has to be asked again and again."""
        key, lasts = self._keys.catching_up(), milliseconds(CATCHING_UP)
        with translated():
            if await self._redis.set(key, process, nx=True, px=lasts):
                return True
            if await self._redis.get(key) != process:
                return False
            return bool(await self._redis.pexpire(key, lasts))

    async def give_back(self, process: str) -> None:
        """Let another process read."""
        with translated():
            if await self._redis.get(self._keys.catching_up()) == process:
                await self._redis.delete(self._keys.catching_up())

    async def plan(
        self, outage: PastOutage, units: Sequence[tuple[float, Unit]], now: datetime, *, is_whole: bool = True
    ) -> bool:
        """Keep what has to be read, each with when it was last active. False where there is another outage by now.

        Where that *is_whole*, it is all; else it is the threads.
        """
        for first in range(0, len(units), _AT_ONCE):
            if not await self._cross_off(outage, "", now, units[first : first + _AT_ONCE]):
                return False
        return await self._cross_off(outage, "", now, (), planned="planned" if is_whole else "threads")

    async def was_read(
        self,
        outage: PastOutage,
        unit: Unit,
        now: datetime,
        *,
        found: int = 0,
        queued: int = 0,
        leads_to: Iterable[tuple[float, Unit]] = (),
    ) -> bool:
        """Cross *unit* off; what it *leads_to* has to be read too. False where there is another outage by now."""
        return await self._cross_off(outage, str(unit), now, leads_to, counted=(found, queued))

    async def _cross_off(
        self,
        outage: PastOutage,
        unit: str,
        now: datetime,
        more: Iterable[tuple[float, Unit]],
        *,
        planned: str = "",
        counted: tuple[int, int] = (0, 0),
    ) -> bool:
        words = [word for score, new in more for word in (f"{score:.6f}", str(new))]
        how = (outage.name, unit, epoch_ms(now), planned, *counted, milliseconds(BEHIND))
        return str(await self._scripts.run("caught_up", *how, *words)) != "changed"

    async def unread(self, most: int) -> list[Unit]:
        """List what has to be read, the latest first."""
        with translated():
            found: Any = await self._redis.zrevrange(self._keys.unread(), 0, most - 1)
        return [Unit.parse(one) for one in found]

    async def is_behind(self, thread: ThreadKey) -> bool:
        """Whether *thread* has still to be read, and is not for too long already."""
        with translated():
            return bool(await self._redis.exists(self._keys.behind(thread)))

    async def has_had(self, message: MessageKey) -> bool:
        """Whether *message* was taken in during the last week, as far as the store still knows."""
        with translated():
            return bool(await self._redis.exists(self._keys.seen_message(message)))

    async def active_threads(self, since: datetime, least: int) -> list[tuple[float, ThreadKey]]:
        """List the threads with a conversation in which something was said *since*, and so many at *least*.

        Each comes with when that was, the latest first.
        """
        with translated():
            count = int(await self._redis.zcount(self._keys.active(), since.timestamp(), "+inf"))
            last = max(count, least) - 1
            found: Any = await self._redis.zrevrange(self._keys.active(), 0, last, withscores=True)
        return [(float(score), ThreadKey.parse(thread)) for thread, score in found]


def _moment(ms: str) -> datetime:
    return datetime.fromtimestamp(int(ms) / 1000, UTC)
