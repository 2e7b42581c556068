"""Snapshots of the statistics: one hash, with an opaque text for each hour.

That an hour has one snapshot at most needs no script: the first ``HSETNX`` wins, whichever process makes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from bridge.queue.keys import SNAPSHOTS, SNAPSHOTTING, milliseconds
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts


class SnapshotStore:
    """What is kept of one namespace. Every method may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys
        self._key = scripts.keys.snapshots()

    async def hours(self) -> list[int]:
        """List the hours of which there is a snapshot, in order."""
        with translated():
            fields: Any = await self._redis.hkeys(self._key)
        return sorted(int(field) for field in fields if field.isdecimal())

    async def has(self, hour: int) -> bool:
        """Whether an hour has its snapshot."""
        with translated():
            return bool(await self._redis.hexists(self._key, str(hour)))

    async def read(self, hours: Iterable[int]) -> dict[int, str]:
        """Read the snapshots of these *hours*, as far as they are still there."""
        wanted = sorted(set(hours))
        if not wanted:
            return {}
        with translated():
            texts: Any = await self._redis.hmget(self._key, [str(hour) for hour in wanted])
        return {hour: text for hour, text in zip(wanted, texts, strict=True) if text}

    async def keep(self, hour: int, text: str) -> bool:
        """Keep the snapshot of an hour, unless it has one."""
        with translated():
            async with self._redis.pipeline(transaction=True) as pipe:
                pipe.hsetnx(self._key, str(hour), text)
                pipe.pexpire(self._key, milliseconds(SNAPSHOTS))
                is_first, _ = await pipe.execute()
        return bool(is_first)

    async def drop(self, hours: Collection[int]) -> None:
        """Drop the snapshots of these *hours*."""
        if hours:
            with translated():
                await self._redis.hdel(self._key, *(str(hour) for hour in hours))

    async def claim(self, hour: int, whose: str) -> bool:
        """Let one process for a while be the one that takes a snapshot of its own accord."""
        with translated():
            key = self._keys.snapshotting(hour)
            return bool(await self._redis.set(key, whose, nx=True, px=milliseconds(SNAPSHOTTING)))
