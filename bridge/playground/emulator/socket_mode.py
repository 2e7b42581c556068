"""What can be seen of the app's sockets, and what can be done to them."""

from __future__ import annotations

from typing import Final

from bridge.playground.emulator.deliver import Deliverer
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.server import ApiServer
from bridge.playground.emulator.sockets import Connection, SocketConnections
from bridge.playground.emulator.watch import Watch
from bridge.playground.emulator.workspace import Workspace

_OPEN: Final = "apps.connections.open"


class SocketMode(Watch):
    """The side of a workspace that deals in WebSockets."""

    def __init__(self, workspace: Workspace, api: ApiServer, deliverer: Deliverer, sockets: SocketConnections) -> None:
        super().__init__(workspace, api, deliverer)
        self._sockets = sockets

    @property
    def use_sockets(self) -> bool:
        """Whether the app's Socket Mode is on: everything goes over its sockets then, nothing to its URL."""
        return self._deliverer.use_sockets

    @use_sockets.setter
    def use_sockets(self, is_on: bool) -> None:
        self._deliverer.use_sockets = is_on

    @property
    def sockets(self) -> list[Connection]:
        """The open connections, oldest first, each with what was sent and acked on it."""
        return sorted(self._sockets.open, key=lambda one: one.number)

    async def disconnect(
        self, reason: str = "refresh_requested", *, closes_after: float = 10.0, connection: Connection | None = None
    ) -> None:
        """Tell the app to connect anew: on every connection, or on the one that is named.

        *reason* is ``warning``, ``refresh_requested`` or ``link_disabled``. The connections are closed after
        *closes_after* seconds, with 0 before this returns; the silent ones neither hear of it nor are they closed.
        """
        for one in [connection] if connection else self.sockets:
            await one.warn(reason)
            if closes_after:
                self._sockets.close_later(one, closes_after)
            else:
                await self._sockets.drop(one)

    def mute_sockets(self) -> None:
        """Let the connections that are open now fall silent: no envelope, ping or pong any more, and no end either.

        They still get their turn, in vain. Those that are opened later are as always.
        """
        for one in self.sockets:
            one.mute()

    def cut_sockets(self) -> None:
        """Break every connection without a word."""
        for one in self.sockets:
            one.cut()

    def refuse_sockets(self, error: str) -> None:
        """Let no new connection be opened, for Slack's reason *error*; with an empty one all is well again."""
        self.faults.clear(_OPEN)
        if error:
            self.faults.on(_OPEN, Error(error), times=None)
