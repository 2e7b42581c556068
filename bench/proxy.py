"""A proxy in front of Redis that counts round trips.

A pipeline or a transaction sent at once counts as one, however many commands it has.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

_CHUNK = 1 << 16


class CountingProxy:
    """Forwards bytes to the Redis at the unix socket *upstream* and counts round trips."""

    def __init__(self, upstream: Path) -> None:
        self._upstream = upstream
        self.round_trips = 0

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        back, forth = await asyncio.open_unix_connection(self._upstream)
        connection = _Connection(self)
        ways = {
            asyncio.create_task(_pump(reader, forth, connection.asked)),
            asyncio.create_task(_pump(back, writer, connection.answered)),
        }
        with suppress(asyncio.CancelledError):  # asyncio's streams would print it on shutdown
            await asyncio.wait(ways)


class _Connection:
    """Counts a round trip at the first write after an answer."""

    def __init__(self, proxy: CountingProxy) -> None:
        self._proxy = proxy
        self._is_waiting = False

    def asked(self) -> None:
        if not self._is_waiting:
            self._is_waiting = True
            self._proxy.round_trips += 1

    def answered(self) -> None:
        self._is_waiting = False


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passed: Callable[[], None]) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(_CHUNK):
            passed()
            writer.write(chunk)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def counted(upstream: Path, here: Path) -> AsyncIterator[CountingProxy]:
    """Serve a proxy at the unix socket *here*."""
    proxy = CountingProxy(upstream)
    server = await asyncio.start_unix_server(proxy.carry, here)
    try:
        yield proxy
    finally:
        server.close()
