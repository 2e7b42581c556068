"""Ending the work on turns that people stop, in whichever process it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

from bridge.ids import TurnId
from bridge.latest import Latest
from bridge.queue.stops import Stops

_MOST_REMEMBERED_STOPS = 1000  # the signal of a stop may arrive before the answer to `Journal.take`


class TurnStopped(Exception):
    """The turn was stopped: it's over, and shows nothing."""


class Watches:
    """The turns running here that a stop can end.

    The subscription also covers settings (`bridge.queue.cached_hash`): *on_settings* are called with ``is_open=True``
    when they may have changed, and with ``is_open=False`` when the subscription ends.
    """

    def __init__(self, *on_settings: Callable[..., None]) -> None:
        self._on_settings = on_settings
        self._limits: dict[TurnId, asyncio.Timeout] = {}
        self._stopped: Latest[TurnId, None] = Latest(_MOST_REMEMBERED_STOPS)

    @asynccontextmanager
    async def ends_when_stopped(self, turn: TurnId) -> AsyncIterator[None]:
        """End the block when *turn* is stopped. Raises `TurnStopped`."""
        limit = asyncio.timeout(None)  # a time-out that only a stop triggers
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

    def check(self, turn: TurnId) -> None:
        """Raise `TurnStopped` if *turn* was stopped, as far as this process has heard."""
        if turn in self._stopped:
            raise TurnStopped(turn)

    def stop(self, turn: TurnId) -> None:
        """End the work on *turn* here, now or when it starts."""
        self._stopped[turn] = None
        limit = self._limits.get(turn)
        if limit is not None and limit.when() is None:
            _end(limit)

    async def listen(self, stops: Stops) -> None:
        """Listen for stops until Redis is down. Raises `StoreUnavailable`."""
        try:
            async with aclosing(stops.heard(lambda: list(self._limits))) as heard:
                async for turn in heard:
                    if turn is None:
                        self._tell(is_open=True)
                    else:
                        self.stop(turn)
        finally:
            self._tell(is_open=False)

    def _tell(self, *, is_open: bool) -> None:
        for heard in self._on_settings:
            heard(is_open=is_open)


def _end(limit: asyncio.Timeout) -> None:
    limit.reschedule(asyncio.get_running_loop().time())
