"""Hearing of stops: the process that works on a turn closes its call to the service as soon as somebody stops it.

What ends the turn is the mark in Redis (`bridge.queue.stops`), which every step of the journal looks at; this only
makes it happen at once. One subscription serves all turns of the process. Where it broke, the marks are looked at when
it is open again, so that at most a word that came meanwhile is late.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from bridge.ids import TurnId
from bridge.queue.stops import Stops, TurnStopped

_WAIT = timedelta(seconds=1)
_REMEMBERED = 1000  # a word may come before the take that it is about has been answered


class Watches:
    """The turns in work here that a stop can end."""

    def __init__(self) -> None:
        self._limits: dict[TurnId, asyncio.Timeout] = {}
        self._stopped: OrderedDict[TurnId, None] = OrderedDict()

    @property
    def turns(self) -> list[TurnId]:
        """Those that are watched at the moment."""
        return list(self._limits)

    @asynccontextmanager
    async def ends_when_stopped(self, turn: TurnId) -> AsyncIterator[None]:
        """End the block where *turn* is stopped. Raises `TurnStopped`."""
        limit = asyncio.timeout(None)  # what a time-out does is what is wanted here; only its moment is a stop
        self._limits[turn] = limit
        try:
            async with limit:
                if turn in self._stopped:
                    _end(limit)
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            raise TurnStopped(turn) from None
        finally:
            self._limits.pop(turn, None)

    def stop(self, turn: TurnId) -> None:
        """End what is done about *turn* here, now or when it begins."""
        self._stopped[turn] = None
        if len(self._stopped) > _REMEMBERED:
            self._stopped.popitem(last=False)
        limit = self._limits.get(turn)
        if limit is not None and limit.when() is None:
            _end(limit)

    async def listen(self, stops: Stops) -> None:
        """Hear of stops until Redis is away. Raises `StoreUnavailable`."""
        async with stops.listening() as heard:
            for turn in await stops.marked(self.turns):
                self.stop(turn)
            while True:
                if (heard_of := await heard.next(_WAIT)) is not None:
                    self.stop(heard_of)


def _end(limit: asyncio.Timeout) -> None:
    limit.reschedule(asyncio.get_running_loop().time())
