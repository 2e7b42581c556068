"""Scripts that lose the response to the first put."""

from __future__ import annotations

from typing import Any

from redis.asyncio import Redis

from bridge.errors import StoreUnavailable
from bridge.metrics import Metrics
from bridge.queue.scripting import Scripts
from support.store import NAMESPACE


class LostPut(Scripts):
    """Runs the first put and loses its response; if *is_late*, runs it only in `run_late_put`."""

    def __init__(self, redis: Redis, *, is_late: bool = False) -> None:
        super().__init__(redis, NAMESPACE, Metrics())
        self._is_late = is_late
        self._lost: tuple[str | int, ...] = ()

    async def run(self, name: str, *args: str | int, **how: Any) -> Any:
        if name == "put" and not self._lost:
            self._lost = args
            if not self._is_late:
                await super().run(name, *args, **how)
            raise StoreUnavailable("away")
        return await super().run(name, *args, **how)

    async def run_late_put(self) -> Any:
        """Run the late put."""
        return await super().run("put", *self._lost)
