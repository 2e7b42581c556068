"""`Hourly`: each hour has its snapshot of the statistics, also when nobody looks at them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from bridge.errors import ProjectError, StoreUnavailable
from bridge.features.stats.snapshots import hour_of
from bridge.features.stats.statistics import Statistics
from bridge.queue.patience import Draining

log = logging.getLogger(__name__)

LOOKS_EVERY: Final = timedelta(minutes=5)  # longer than a claim lives, so that who failed may try again


class Hourly:
    """Reads *statistics* where an hour goes on without a snapshot; of several processes one does, *name* for example.

    *pause* waits, and raises `Draining` when the process ends. It comes first: whoever has just started has better
    things to do.
    """

    def __init__(self, statistics: Statistics, *, name: str, pause: Callable[[timedelta], Awaitable[None]]) -> None:
        self._statistics = statistics
        self._name = name
        self._pause = pause

    async def run(self) -> None:
        """Look every few minutes, until the process ends."""
        while True:
            try:
                await self._pause(LOOKS_EVERY)
                await self.look()
            except Draining:
                return

    async def look(self) -> None:
        """Take the snapshot of this hour, if it is wanting and nobody else is at it."""
        store, hour = self._statistics.store, hour_of(self._statistics.now())
        try:
            if not await store.has(hour) and await store.claim(hour, self._name):
                await self._statistics.read()
        except (StoreUnavailable, ProjectError) as exc:
            log.info("no snapshot of the statistics was taken", extra={"after": type(exc).__name__})
