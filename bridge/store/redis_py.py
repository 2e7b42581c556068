"""redis-py's connections, mended where they do not suit: every connection of this project is one of these.

* **Packing.** With hiredis installed, redis-py's connections for threads pack commands with it; those for asyncio only
  read answers with it, and pack in Python. A script has some 25 arguments: packed in C, a busy bridge does 1.06-1.09
  times as many turns in a second.
* **Closed.** A connection that ends just when it is written to or read from is an OSError with asyncio's own loop,
  which redis-py knows, and a RuntimeError with uvloop, which it does not. It would pass every net for Redis' failures.
"""

from __future__ import annotations

from typing import Any

from redis.asyncio.connection import AbstractConnection, Connection, SSLConnection, UnixDomainSocketConnection
from redis.connection import HiredisRespSerializer
from redis.exceptions import ConnectionError as NoConnection

_packer = HiredisRespSerializer()
_UVLOOPS_WORDS = "handler is closed"


class Mended(AbstractConnection):
    """What is done otherwise."""

    def pack_command(self, *args: Any) -> list[bytes]:
        """Pack one command. Raises redis-py's `DataError` for what Redis cannot take."""
        return _packer.pack(*args)  # type: ignore[no-any-return]

    async def send_packed_command(self, *args: Any, **how: Any) -> None:
        """Write. Raises redis-py's `ConnectionError` where that is not possible."""
        try:
            await super().send_packed_command(*args, **how)
        except RuntimeError as exc:
            if _UVLOOPS_WORDS not in str(exc):
                raise
            raise NoConnection("closed while it was written to") from exc

    async def read_response(self, *args: Any, **how: Any) -> Any:
        """Read one answer. Raises redis-py's `ConnectionError` where that is not possible, and what Redis answers."""
        try:
            return await super().read_response(*args, **how)
        except RuntimeError as exc:
            if _UVLOOPS_WORDS not in str(exc):
                raise
            raise NoConnection("closed while it was read from") from exc


class TcpConnection(Mended, Connection):
    """To a host and port."""


class TlsConnection(Mended, SSLConnection):
    """To a host and port over TLS."""


class SocketConnection(Mended, UnixDomainSocketConnection):
    """To a socket of this machine."""


MENDED: dict[type[AbstractConnection] | None, type[AbstractConnection]] = {
    None: TcpConnection,
    SSLConnection: TlsConnection,
    UnixDomainSocketConnection: SocketConnection,
}
"""What takes the place of the connection class that redis-py chose for a URL; None where it chose none."""
