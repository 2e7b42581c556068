"""The line of those who wait for the service: when it is back, the message that was accepted first goes first.

Those who wait are woken in the order in which they began to, and that is chance: who failed while the service still
counted as there waits a little by itself before it joins the others.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime


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
            self._move_up()

    def _move_up(self) -> None:
        while self._places and self._places[0].has_left:
            heapq.heappop(self._places)
        if self._places:
            self._places[0].is_first.set()
