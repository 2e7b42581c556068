"""The embedded Redis as something that can be stopped and started while the playground runs."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

from bridge.queue.redis.embedded import LOOK_EVERY, Keeper, embedded_redis


class EmbeddedRedis:
    """A server whose data is in *data_dir*."""

    def __init__(self, data_dir: Path) -> None:
        self._url = ""
        self._data_dir = data_dir
        self._keeper = Keeper(data_dir)
        self._use: AsyncExitStack | None = None
        self._one_at_a_time = asyncio.Lock()

    @property
    def url(self) -> str:
        """Where it is, always the same."""
        return self._url

    @property
    def is_stopped(self) -> bool:
        """Whether it is not meant to be there."""
        return self._use is None

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
        async with self._one_at_a_time, AsyncExitStack() as use:
            if self._use is None:
                self._url = await use.enter_async_context(embedded_redis(self._data_dir))
                self._use = use.pop_all()

    async def stop(self) -> None:
        """Be away; a server that another bridge uses stays."""
        async with self._one_at_a_time:
            use, self._use = self._use, None
            if use is not None:
                await use.aclose()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
