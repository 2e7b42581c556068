"""What has a limit: `Latest`, a dictionary, in size, `Cache`, what's fetched, in age, and `Bucket`, in time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from bridge.errors import BridgeError

K = TypeVar("K")
V = TypeVar("V")


class Latest(OrderedDict[K, V]):
    """Keeps at most *most* items: those that were set last."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)


class Cache(Generic[V]):
    """At most *most* values by key, fetched once for concurrent callers and cached for *seconds*.

    The callers share a failure, too; it's cached for as long as *failed* says.
    """

    def __init__(
        self, fetch: Callable[[str], Awaitable[V]], *, seconds: float, monotonic: Callable[[], float],
        failed: Callable[[BridgeError], float] = lambda _: 0.0, most: int = 10_000,
    ) -> None:  # fmt: skip
        self._fetch, self._seconds, self._failed, self._monotonic = fetch, seconds, failed, monotonic
        self._cached: Latest[str, tuple[float, float, V | BridgeError]] = Latest(most)  # since, until, value
        self._fetching: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def get(self, key: str, *, at_most: float | None = None) -> V:
        """Return the value for *key*, cached for *at_most* so many seconds. Raises the error of fetching it."""
        value: V | BridgeError
        if not self.has(key, at_most):
            # A lock per key, which exists while it's held: if the fetching caller is cancelled, the next one fetches.
            known, lock = self._cached.get(key), self._fetching.setdefault(key, asyncio.Lock())
            async with lock:
                if self._cached.get(key) is known:
                    try:
                        value, seconds = await self._fetch(key), self._seconds
                    except BridgeError as exc:
                        value, seconds = exc, self._failed(exc)
                    since = self._monotonic()
                    self._cached[key] = since, since + seconds, value
        value = self._cached[key][2]
        if isinstance(value, BridgeError):
            raise value.with_traceback(None)
        return value

    def has(self, key: str, at_most: float | None = None) -> bool:
        """Whether the value for *key*, or the failure of fetching it, is cached; *at_most* as in `get`."""
        if key not in self._cached:
            return False
        since, until, _value = self._cached[key]
        return self._monotonic() < (until if at_most is None else min(until, since + at_most))


class Bucket:
    """Has room for *most* in each minute."""

    def __init__(self, most: int, monotonic: Callable[[], float]) -> None:
        self._at: deque[float] = deque(maxlen=most)
        self._monotonic = monotonic

    def wait(self) -> float:
        """Return in how many seconds there's room; 0 if there is."""
        return max(0.0, self._at[0] + 60 - self._monotonic()) if len(self._at) == self._at.maxlen else 0.0

    def add(self) -> None:
        """Count something."""
        self._at.append(self._monotonic())
