"""Scripts that lose the response to the first put."""

from __future__ import annotations

import asyncio
from typing import Any

from redis.asyncio import Redis

from bridge.errors import StoreUnavailable
from bridge.metrics import Metrics
from bridge.queue.scripting import Scripts
from support.store import NAMESPACE


class LostPut(Scripts):
    """Runs the first put and loses its response; if *is_late*, runs it only in `run_late_put`.

    Attempts to settle it wait for *may_settle*, and the first *away* of them fail.
    """

    def __init__(self, redis: Redis, *, is_late: bool = False, away: int = 0) -> None:
        super().__init__(redis, NAMESPACE, Metrics())
        self.away = away
        self.may_settle = asyncio.Event()
        self.may_settle.set()
        self._is_late = is_late
        self._lost: tuple[str | int, ...] = ()

    async def run(self, name: str, *args: str | int, **how: Any) -> Any:
        if name == "put" and not self._lost:
            self._lost = args
            if not self._is_late:
                await super().run(name, *args, **how)
            raise StoreUnavailable("away")
        if name == "settle":
            await self._fail_settling()
        return await super().run(name, *args, **how)

    async def run_late_put(self) -> Any:
        """Run the late put."""
        return await super().run("put", *self._lost)

    async def _fail_settling(self) -> None:
        await self.may_settle.wait()
        if self.away:
            self.away -= 1
            raise StoreUnavailable("away")
