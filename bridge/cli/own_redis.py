"""The embedded Redis as something that can be stopped and started while the playground runs."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

from bridge.queue.redis.embedded import LOOK_EVERY, Keeper, embedded_redis


class EmbeddedRedis:
    """A server whose data is in *data_dir*; *url* is always the same, and *is_stopped* where it is not to be there."""

    def __init__(self, data_dir: Path) -> None:
        self.url = ""
        self.is_stopped = True
        self._data_dir = data_dir
        self._keeper = Keeper(data_dir)
        self._use = AsyncExitStack()
        self._one_at_a_time = asyncio.Lock()

    @property
    def trouble(self) -> str:
        """Why it is not there although it is meant to be; ``""`` where all is well."""
        return self._keeper.trouble

    async def keep(self) -> None:
        """Start it again whenever it has ended, but for those who stopped it, until cancelled."""
        while True:
            async with self._one_at_a_time:
                if not self.is_stopped:
                    await self._keeper.look()
            await asyncio.sleep(LOOK_EVERY)

    async def start(self) -> None:
        """Be reachable, with all that was in it."""
        async with self._one_at_a_time:
            if self.is_stopped:
                self.url = await self._use.enter_async_context(embedded_redis(self._data_dir))
                self.is_stopped = False

    async def stop(self) -> None:
        """Be away; a server that another bridge uses stays."""
        async with self._one_at_a_time:
            self.is_stopped = True
            await self._use.aclose()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
