"""Waiting: for Redis to come back, for the service, for Slack; and giving up the wait when the process drains.

Those who wait for the service are let go in the order in which their messages were accepted (`Line`), and lend their
place among the turns in flight to others meanwhile (`Slots`).
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from bridge.errors import StoreUnavailable

_STORE_RETRY = timedelta(seconds=0.5)

T = TypeVar("T")


class Draining(Exception):
    """The process ends; what only waits is given back for another to go on with."""


class Patience:
    """Waits that end when *draining* is set."""

    def __init__(
        self, draining: asyncio.Event, *, sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep
    ) -> None:
        self._draining = draining
        self._sleep = sleep

    async def pause(self, duration: timedelta) -> None:
        """Wait for *duration*. Raises `Draining`."""
        await self.wait_for(self._sleep(duration.total_seconds()))

    async def wait_for(self, what: Awaitable[None]) -> None:
        """Wait for *what*. Raises `Draining`."""
        waiting = asyncio.ensure_future(what)
        draining = asyncio.ensure_future(self._draining.wait())
        try:
            await asyncio.wait({waiting, draining}, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                raise Draining
            await waiting
        finally:
            waiting.cancel()
            draining.cancel()

    async def through_outages(self, step: Callable[[], Awaitable[T]]) -> T:
        """Do *step*, again and again while Redis is away. It has to be one that may be repeated.

        It does not end with draining, but with the process: what was answered is worth more than a quick end.
        """
        while True:
            try:
                return await step()
            except StoreUnavailable:
                await self.wait_for_redis()

    async def wait_for_redis(self) -> None:
        """Wait a moment before the next try; its caller comes back until Redis is there."""
        await self._sleep(_STORE_RETRY.total_seconds())


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


@dataclass(order=True, slots=True)
class _Place:
    accepted_at: datetime
    number: int
    is_first: asyncio.Event = field(default_factory=asyncio.Event, compare=False)
    has_left: bool = field(default=False, compare=False)


class Line:
    """Lets go the oldest first."""

    def __init__(self) -> None:
        self._places: list[_Place] = []
        self._count = 0

    async def wait(self, accepted_at: datetime, is_over: Callable[[], Awaitable[None]]) -> None:
        """Return when *is_over* has, and nobody who waits was accepted earlier."""
        self._count += 1
        place = _Place(accepted_at, self._count)
        heapq.heappush(self._places, place)
        try:
            await is_over()
            if self._places[0] is not place:
                await place.is_first.wait()
        finally:
            place.has_left = True
            while self._places and self._places[0].has_left:
                heapq.heappop(self._places)
            if self._places:
                self._places[0].is_first.set()
