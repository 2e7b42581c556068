"""How many turns may be in flight in one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Slots:
    """A count of *free* places. A turn that only waits for the service lends its place to others meanwhile.

    It falls below zero where lanes were taken over from the dead, which are not turned away.
    """

    def __init__(self, most: int) -> None:
        self.free = most
        self._freed = asyncio.Event()

    async def room(self) -> int:
        """Wait until a place is free; returns how many are."""
        while self.free <= 0:
            self._freed.clear()
            await self._freed.wait()
        return self.free

    def give(self) -> None:
        """Give a place back."""
        self.free += 1
        self._freed.set()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Lend the own place to others for a while, and wait for one afterwards."""
        self.give()
        try:
            yield
            await self.room()
        finally:
            self.free -= 1
