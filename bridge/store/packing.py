"""redis-py's connections, packing commands in C.

With hiredis installed, redis-py's connections for threads pack commands with it; those for asyncio only read answers
with it, and pack in Python. A script has some 25 arguments: packed in C, a busy bridge does 1.06-1.09 times as many
turns in a second.
"""

from __future__ import annotations

from typing import Any

from redis.asyncio.connection import AbstractConnection, Connection, SSLConnection, UnixDomainSocketConnection
from redis.connection import HiredisRespSerializer

_packer = HiredisRespSerializer()


class Packing:
    """To stand before one of redis-py's connections."""

    def pack_command(self, *args: Any) -> list[bytes]:
        """Pack one command. Raises redis-py's `DataError` for what Redis cannot take."""
        return _packer.pack(*args)  # type: ignore[no-any-return]


class TcpConnection(Packing, Connection):
    """To a host and port."""


class TlsConnection(Packing, SSLConnection):
    """To a host and port over TLS."""


class SocketConnection(Packing, UnixDomainSocketConnection):
    """To a socket of this machine."""


PACKING: dict[type[AbstractConnection] | None, type[AbstractConnection]] = {
    None: TcpConnection,
    SSLConnection: TlsConnection,
    UnixDomainSocketConnection: SocketConnection,
}
"""What takes the place of the connection class that redis-py chose for a URL; None where it chose none."""
