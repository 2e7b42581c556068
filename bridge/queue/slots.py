"""How many turns a process runs at once.

Turns that wait for the service continue in the order their messages were accepted (`Line`), and free their slot
meanwhile (`Slots`). So do those of a project that uses up its share of the slots (`Shares`).
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime


class Slots:
    """Counts *free* slots for running turns. A turn that waits for the service lends out its slot.

    The count is negative after taking over more abandoned lanes than there are slots.
    """

    def __init__(self, most: int) -> None:
        self.free = most
        self._freed = asyncio.Event()

    async def wait_for_free(self) -> int:
        """Wait until a slot is free; returns how many are."""
        while self.free <= 0:
            self._freed.clear()
            await self._freed.wait()
        return self.free

    def release(self) -> None:
        """Free a slot."""
        self.free += 1
        self._freed.set()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Free the caller's slot during the block, and wait for one afterwards."""
        self.release()
        try:
            yield
            await self.wait_for_free()
        finally:
            self.free -= 1


class Shares:
    """How many turns of each project may run at once: a slow project leaves slots to the others.

    Half of *most* slots are reserved, the same number for each of *count* projects. The others are for any.
    """

    def __init__(self, most: int, count: Callable[[], int]) -> None:
        self._most = most
        self._count = count
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def ask(self, project: str) -> asyncio.Future[None]:
        """Ask for a share, which is granted in the order of the calls. Give the result back with `give_back`."""
        asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(project, deque()).append(asked)
        self._grant()
        return asked

    def give_back(self, project: str, asked: asyncio.Future[None]) -> None:
        """Give a share back if it was granted, or else no longer wait for it."""
        if not asked.done():
            asked.cancel()
        elif not asked.cancelled():
            self._running[project] -= 1
        self._grant()

    def _grant(self) -> None:
        for project, waiting in list(self._waiting.items()):
            while waiting and (waiting[0].cancelled() or self._is_free(project)):
                if not (asked := waiting.popleft()).cancelled():
                    self._running[project] += 1
                    asked.set_result(None)
            if not waiting:
                del self._waiting[project]

    def _is_free(self, project: str) -> bool:
        count = self._count()
        reserved = max(1, self._most // (2 * count))
        if self._running[project] < reserved:
            return True
        used = {name: number for name, number in self._running.items() if number and name != project}
        unused = sum(max(0, reserved - number) for number in used.values()) + reserved * max(0, count - 1 - len(used))
        return self._running.total() + unused < self._most


@dataclass(order=True, slots=True)
class _Waiting:
    accepted_at: datetime
    number: int
    is_first: asyncio.Event = field(default_factory=asyncio.Event, compare=False)
    has_left: bool = field(default=False, compare=False)


class Line:
    """Lets waiting turns continue, oldest first."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []
        self._count = 0

    async def wait(self, accepted_at: datetime, is_over: Callable[[], Awaitable[None]]) -> None:
        """Return once *is_over* has returned and no turn accepted earlier is waiting."""
        self._count += 1
        waiting = _Waiting(accepted_at, self._count)
        heapq.heappush(self._waiting, waiting)
        try:
            await is_over()
            while self._waiting[0] is not waiting:
                waiting.is_first.clear()  # it was first until one accepted earlier came
                await waiting.is_first.wait()
        finally:
            waiting.has_left = True
            while self._waiting and self._waiting[0].has_left:
                heapq.heappop(self._waiting)
            if self._waiting:
                self._waiting[0].is_first.set()
