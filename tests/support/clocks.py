"""A clock that advances only when a task sleeps."""

from __future__ import annotations

import asyncio
import heapq


class Clock:
    """Monotonic time and sleep: call it for the time; `sleep` returns once `run` gets there."""

    def __init__(self, start: float = 1000.0) -> None:
        self.time = start
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []
        self._count = 0

    def __call__(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self._count += 1
        woken = asyncio.Event()
        heapq.heappush(self._sleepers, (self.time + seconds, self._count, woken))
        await woken.wait()

    async def run(self, tasks: list[asyncio.Task[object]]) -> None:
        """Advance from one sleeper to the next until all *tasks* are done."""
        while True:
            for _ in range(20):  # run everything that doesn't sleep first
                await asyncio.sleep(0)
            if all(task.done() for task in tasks):
                return
            if self._sleepers:
                self.time, _, woken = heapq.heappop(self._sleepers)
                woken.set()
