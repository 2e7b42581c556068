"""A limit that people share, so that no one can use it up."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairSemaphore:
    """Limits what is held at once to *most*, and what one person holds to half of that.

    People who wait get it in turn, each in the order of their requests. A large request isn't passed by smaller ones,
    or it might wait forever.
    """

    def __init__(self, most: int) -> None:
        self.free = most
        self._most_each = max(1, most // 2)
        self._held = Counter[str]()
        self._waiting: dict[str, deque[tuple[int, asyncio.Future[None]]]] = {}  # the next person first

    @asynccontextmanager
    async def held(self, person: str, amount: int = 1) -> AsyncIterator[None]:
        """Hold *amount* for *person* during the block, once it's their turn."""
        request = amount, asyncio.get_running_loop().create_future()
        self._waiting.setdefault(person, deque()).append(request)
        self._hand_out()
        try:
            await request[1]
            yield
        finally:
            if request[1].cancelled():
                self._waiting[person].remove(request)
                if not self._waiting[person]:
                    del self._waiting[person]
            else:
                self.free += amount
                self._held[person] -= amount
                if not self._held[person]:
                    del self._held[person]
            self._hand_out()

    def _hand_out(self) -> None:
        while self._hand_out_one():
            pass

    def _hand_out_one(self) -> bool:
        for person, requests in self._waiting.items():
            amount, ready = requests[0]
            if self._held[person] + amount > self._most_each:
                continue
            if amount > self.free:
                return False
            self.free -= amount
            self._held[person] += amount
            ready.set_result(None)
            requests.popleft()
            del self._waiting[person]
            if requests:
                self._waiting[person] = requests  # after everyone else
            return True
        return False
