"""Waiting for Redis, the service or Slack, and giving up when the process drains."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

from bridge.queue.redis.connection import waiting

_STORE_RETRY = timedelta(seconds=0.5)


class Draining(Exception):
    """The process is ending; another one takes over the waiting turns."""


class Patience:
    """Waits that end when *draining* is set."""

    def __init__(
        self, draining: asyncio.Event, *, sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep
    ) -> None:
        self._draining = draining
        self._sleep = sleep

    async def pause(self, duration: timedelta, until: Coroutine[Any, Any, None] | None = None) -> None:
        """Sleep for *duration*, or *until* something has happened. Raises `Draining`."""
        ends = [asyncio.ensure_future(end) for end in (self._sleep(duration.total_seconds()), until) if end]
        try:
            await self.wait_for(next(asyncio.as_completed(ends)))
        finally:
            for end in ends:
                end.cancel()

    async def wait_out(self, seconds: float) -> None:
        """Sleep, also when draining: whoever takes over must not look before the end."""
        await self._sleep(seconds)

    async def wait_for(self, what: Awaitable[object]) -> None:
        """Wait for *what*, and cancel it when draining. Raises `Draining`."""
        waiting = asyncio.ensure_future(what)
        draining = asyncio.ensure_future(self._draining.wait())
        try:
            await asyncio.wait({waiting, draining}, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                raise Draining
            await waiting
        finally:
            waiting.cancel()
            draining.cancel()

    def through_outages(self) -> AbstractContextManager[None]:
        """Have commands and scripts in the block wait until Redis is up, and repeat them (`waiting`).

        Draining doesn't end this: an agent's answer is worth more than a quick shutdown.
        """
        return waiting(self.wait_for_redis)

    async def wait_for_redis(self) -> None:
        """Sleep before the next attempt."""
        await self._sleep(_STORE_RETRY.total_seconds())
