"""The app's sockets, and their faults."""

from __future__ import annotations

from typing import Final

from bridge.playground.emulator.faults import Error, Faults
from bridge.playground.emulator.sockets import Connection, SocketConnections

_OPEN: Final = "apps.connections.open"


class SocketMode:
    """Shows and disturbs the app's sockets."""

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
        """Tell the app to reconnect, on every connection or on the given one.

        *reason* is ``warning``, ``refresh_requested`` or ``link_disabled``. The connections are closed after
        *closes_after* seconds, with 0 before this returns; muted ones aren't affected.
        """
        for one in [connection] if connection else self.connections:
            await one.warn(reason)
            if closes_after:
                self._sockets.close_later(one, closes_after)
            else:
                await self._sockets.drop(one)

    def mute(self) -> None:
        """Mute the open connections: no envelope, ping or pong, but they stay open.

        They still get their share of envelopes, in vain. New connections work.
        """
        for one in self.connections:
            one.mute()

    def cut(self) -> None:
        """Break every connection without a close frame."""
        for one in self.connections:
            one.cut()

    def refuse(self, error: str) -> None:
        """Refuse new connections with Slack's *error*; an empty one allows them again."""
        self._faults.clear(_OPEN)
        if error:
            self._faults.on(_OPEN, Error(error), times=None)
