"""`CachedHash`: a small hash in Redis that is needed all the time, and rarely changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from bridge.errors import StoreUnavailable
from bridge.queue.redis.connection import waiting
from bridge.queue.scripting import Scripts

T = TypeVar("T")


class CachedHash(Generic[T]):
    """The values of the hash *key* by field, which *parse* makes of what is stored.

    Each process caches them while it's subscribed to changes (`bridge.queue.watches`), so a change costs one read of
    the hash. While Redis is down, the last known values apply.
    """

    def __init__(self, scripts: Scripts, key: str, parse: Callable[[str], T]) -> None:
        self._redis = scripts.redis
        self._key = key
        self._parse = parse
        self._known: Mapping[str, T] | None = None
        self._is_fresh = self._is_subscribed = False
        self._changes = 0  # signals received
        self._reading = asyncio.Lock()

    def heard(self, *, is_open: bool) -> None:
        """Handle a possible change; unless *is_open*, the subscription to changes has ended."""
        self._changes += 1
        self._is_subscribed, self._is_fresh = is_open, False

    def changed(self) -> None:
        """Handle a change by this process itself."""
        self.heard(is_open=self._is_subscribed)

    async def values(self) -> Mapping[str, T]:
        """Return all values. Raises `StoreUnavailable` if they were never read."""
        if not self._is_fresh:
            async with self._reading:
                if not self._is_fresh:
                    await self._read()
        return self._known or {}

    async def _read(self) -> None:
        changes = self._changes
        try:
            with waiting(None):
                stored: Any = await self._redis.hgetall(self._key)
        except StoreUnavailable:
            if self._known is None:
                raise
            return
        self._known = {field: self._parse(text) for field, text in stored.items()}
        self._is_fresh = self._is_subscribed and changes == self._changes
