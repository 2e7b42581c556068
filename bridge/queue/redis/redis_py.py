"""redis-py's connections, mended where they do not suit: every connection of this project is one of these.

* **Packing.** With hiredis installed, redis-py's connections for threads pack commands with it; those for asyncio only
  read answers with it, and pack in Python. A script has some 25 arguments: packed in C, a busy bridge does 1.06-1.09
  times as many turns in a second.
* **Kept.** A connection of the pool that somebody keeps (`KeptConnection`), where redis-py has a client for that: its
  client does not look whether the connection is still good, as its pool does.
* **Closed.** A connection that ends just when it is written to or read from is an OSError with asyncio's own loop,
  which redis-py knows, and a RuntimeError with uvloop, which it does not. It would pass every net for Redis' failures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hiredis
from redis.asyncio.connection import (
    AbstractConnection,
    Connection,
    ConnectionPool,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis.exceptions import ConnectionError as NoConnection, DataError, MovedError, ResponseError

_UVLOOPS_WORDS = "handler is closed"


class Mended(AbstractConnection):
    """What is done otherwise."""

    def pack_command(self, *args: Any) -> list[bytes]:
        """Pack one command. Raises redis-py's `DataError` for what Redis cannot take."""
        name, *others = args
        words = name.encode().split() if isinstance(name, str) else name.split()  # CONFIG GET is two
        try:
            return [hiredis.pack_command((*words, *others))]
        except TypeError as exc:
            raise DataError(str(exc)) from exc

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


Command = tuple[str | int, ...]


class KeptConnection:
    """A connection of *pool* for one who sends one thing after the other, taken with the first."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        self._connection: AbstractConnection | None = None

    async def answers(self, commands: Sequence[Command]) -> list[Any]:
        """Carry out *commands* in one round trip; each has its answer or the error that Redis answered.

        Those that another node of a cluster is to carry out go there. Raises redis-py's errors where there is no
        answer.
        """
        answers = await self._ask(commands)
        moved = [place for place, answer in enumerate(answers) if isinstance(answer, MovedError)]
        if moved:  # not carried out, and the connection knows by now where to go
            for place, answer in zip(moved, await self._ask([commands[place] for place in moved]), strict=True):
                answers[place] = answer
        return answers

    async def _ask(self, commands: Sequence[Command]) -> list[Any]:
        connection = await self._good_one()
        try:
            await connection.send_packed_command(connection.pack_commands(commands))
            return [await _answer(connection) for _ in commands]
        except BaseException:
            # Also where nobody waits any more: what was not read would be taken for the answer to what comes next.
            await connection.disconnect(nowait=True)
            raise

    async def _good_one(self) -> AbstractConnection:
        """Do what the pool does with each connection that it hands out, or takes back."""
        if self._connection is None:
            self._connection = await self._pool.get_connection()  # type: ignore[no-untyped-call] # so is much of redis-py
            return self._connection
        if self._connection.should_reconnect():  # type: ignore[no-untyped-call]
            await self._connection.disconnect()
        await self._pool.ensure_connection(self._connection)
        return self._connection


async def _answer(connection: AbstractConnection) -> Any:
    try:
        return await connection.read_response()
    except ResponseError as exc:
        return exc
