"""The embedded Redis of the playground, which people can stop and start there."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

from bridge.queue.redis.embedded import LOOK_EVERY, Keeper, embedded_redis


class EmbeddedRedis:
    """A server with its data in *data_dir*; *url* stays the same after restarts."""

    def __init__(self, data_dir: Path) -> None:
        self.url = ""
        self.is_stopped = True
        self._data_dir = data_dir
        self._keeper = Keeper(data_dir)
        self._use = AsyncExitStack()
        self._one_at_a_time = asyncio.Lock()

    @property
    def trouble(self) -> str:
        """Why the server isn't running, or ``""``."""
        return self._keeper.trouble

    async def keep(self) -> None:
        """Restart the server whenever it ends, unless it was stopped, until cancelled."""
        while True:
            async with self._one_at_a_time:
                if not self.is_stopped:
                    await self._keeper.look()
            await asyncio.sleep(LOOK_EVERY)

    async def start(self) -> None:
        """Start the server with its data."""
        async with self._one_at_a_time:
            if self.is_stopped:
                self.url = await self._use.enter_async_context(embedded_redis(self._data_dir))
                self.is_stopped = False

    async def stop(self) -> None:
        """Stop the server, unless another bridge uses it."""
        async with self._one_at_a_time:
            self.is_stopped = True
            await self._use.aclose()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
