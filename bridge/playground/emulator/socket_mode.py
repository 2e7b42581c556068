"""What can be seen of the app's sockets, and what can be done to them."""

from __future__ import annotations

from typing import Final

from bridge.playground.emulator.faults import Error, Faults
from bridge.playground.emulator.sockets import Connection, SocketConnections

_OPEN: Final = "apps.connections.open"


class SocketMode:
    """What can be done to the app's sockets."""

    def __init__(self, sockets: SocketConnections, faults: Faults) -> None:
        self._sockets = sockets
        self._faults = faults

    @property
    def connections(self) -> list[Connection]:
        """The open connections, oldest first, each with what was sent and acked on it."""
        return sorted(self._sockets.open, key=lambda one: one.number)

    async def disconnect(
        self, reason: str = "refresh_requested", *, closes_after: float = 10.0, connection: Connection | None = None
    ) -> None:
        """Tell the app to connect anew: on every connection, or on the one that is named.

        *reason* is ``warning``, ``refresh_requested`` or ``link_disabled``. The connections are closed after
        *closes_after* seconds, with 0 before this returns; the silent ones neither hear of it nor are they closed.
        """
        for one in [connection] if connection else self.connections:
            await one.warn(reason)
            if closes_after:
                self._sockets.close_later(one, closes_after)
            else:
                await self._sockets.drop(one)

    def mute(self) -> None:
        """Let the connections that are open now fall silent: no envelope, ping or pong any more, and no end either.

        They still get their turn, in vain. Those that are opened later are as always.
        """
        for one in self.connections:
            one.mute()

    def cut(self) -> None:
        """Break every connection without a word."""
        for one in self.connections:
            one.cut()

    def refuse(self, error: str) -> None:
        """Let no new connection be opened, for Slack's reason *error*; with an empty one all is well again."""
        self._faults.clear(_OPEN)
        if error:
            self._faults.on(_OPEN, Error(error), times=None)
