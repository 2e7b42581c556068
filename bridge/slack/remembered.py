"""What was looked up and may be used again for a while."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from bridge.errors import SlackError

FAILURE_SECONDS = 5.0  # long enough that a crowd does not ask one by one, short enough to recover
MOST = 10_000

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[Value]):
    value: Value | SlackError
    until: float


class Remembered(Generic[Value]):
    """Values by id, fetched once for all who ask at the same time; kept for *seconds*, failures for less."""

    def __init__(
        self,
        fetch: Callable[[str], Awaitable[Value]],
        *,
        seconds: float,
        monotonic: Callable[[], float],
        failure_seconds: float = FAILURE_SECONDS,
        most: int = MOST,
    ) -> None:
        self._fetch = fetch
        self._seconds = seconds
        self._failure_seconds = failure_seconds
        self._monotonic = monotonic
        self._most = most
        self._kept: OrderedDict[str, _Entry[Value]] = OrderedDict()
        self._fetching: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def get(self, key: str) -> Value:
        """Give the value for *key*. Raises the `SlackError` that fetching it met."""
        entry = self._fresh(key)
        if entry is None:
            # A lock for each key, alive while somebody holds it: if the one who fetches is cancelled, the next does.
            lock = self._fetching.setdefault(key, asyncio.Lock())
            async with lock:
                entry = self._fresh(key) or await self._fetched(key)
        if isinstance(entry.value, SlackError):
            raise entry.value.with_traceback(None)
        return entry.value

    def _fresh(self, key: str) -> _Entry[Value] | None:
        entry = self._kept.get(key)
        return entry if entry is not None and self._monotonic() < entry.until else None

    async def _fetched(self, key: str) -> _Entry[Value]:
        entry: _Entry[Value]
        try:
            entry = _Entry(await self._fetch(key), self._monotonic() + self._seconds)
        except SlackError as exc:
            entry = _Entry(exc, self._monotonic() + self._failure_seconds)
        self._keep(key, entry)
        return entry

    def _keep(self, key: str, entry: _Entry[Value]) -> None:
        self._kept[key] = entry
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
