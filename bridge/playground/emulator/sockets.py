"""The WebSockets that an app holds open: https://docs.slack.dev/apis/events-api/using-socket-mode."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Final

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketDisconnected

from bridge.playground.emulator import sample
from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.faults import Error, Faults
from bridge.playground.emulator.tickets import Tickets
from bridge.playground.local_server import Background, LocalServer

MOST_CONNECTIONS: Final = 10
_LASTS_SECONDS: Final = 18_060  # as Slack announces; it refreshes connections every few hours
_HOST: Final = "applink-1"
_OPEN: Final = "apps.connections.open"


class Gone(Exception):
    """The connection has ended."""


class Connection:
    """One open WebSocket, with every message *sent* and every ack received, in order."""

    def __init__(self, number: int, websocket: WebSocket, server: LocalServer) -> None:
        self.number = number
        self.sent: list[Json] = []
        self.acked: list[Json] = []
        self.is_open = True
        self.is_muted = False
        self._websocket = websocket
        self._server = server
        self._asked: dict[str, asyncio.Future[Json | None]] = {}

    async def send(self, message: Json) -> None:
        """Send a message; on a muted connection nothing happens. Raises Gone."""
        if self.is_muted:
            return
        if not self.is_open:
            raise Gone
        self.sent.append(message)
        try:
            await self._websocket.send_text(json.dumps(message))
        except (WebSocketDisconnect, WebSocketDisconnected) as exc:  # the second if already known
            raise Gone from exc

    async def ask(self, envelope: Json) -> Json | None:
        """Send an envelope and wait for its ack on this connection. Returns the ack's payload. Raises Gone."""
        answer: asyncio.Future[Json | None] = asyncio.get_running_loop().create_future()
        self._asked[envelope["envelope_id"]] = answer
        try:
            await self.send(envelope)
            return await answer
        finally:
            del self._asked[envelope["envelope_id"]]

    async def listen(self) -> None:
        """Receive acks until the connection ends."""
        try:
            while (heard := await self._websocket.receive())["type"] == "websocket.receive":
                self._hear(heard.get("text") or "")
        finally:
            self._lost()

    def _hear(self, text: str) -> None:
        try:
            ack = json.loads(text)
        except ValueError:
            return
        if not isinstance(ack, dict) or not isinstance(ack.get("envelope_id"), str):
            return
        self.acked.append(ack)
        answer = self._asked.get(ack["envelope_id"])
        if answer is not None and not answer.done():
            answer.set_result(ack.get("payload"))

    def _lost(self) -> None:
        self.is_open = False
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(Gone())

    async def warn(self, reason: str) -> None:
        """Tell the app that this connection will be closed."""
        with contextlib.suppress(Gone):
            await self.send({"type": "disconnect", "reason": reason, "debug_info": {"host": _HOST}})

    async def close(self) -> None:
        if self.is_open and not self.is_muted:
            self._lost()
            with contextlib.suppress(WebSocketDisconnect, WebSocketDisconnected):
                await self._websocket.close()

    def mute(self) -> None:
        """Mute the connection: nothing is sent, nothing is read, and it stays open."""
        self.is_muted = True
        self._server.mute(self._websocket.scope)

    def cut(self) -> None:
        """Break the connection without a close frame."""
        self._server.cut(self._websocket.scope)


class SocketConnections:
    """All open connections, the least recently used first, and their faults; new ones fail while *are_refused*."""

    def __init__(self, tickets: Tickets, faults: Faults) -> None:
        self.open: list[Connection] = []
        self.are_refused = False
        self._tickets = tickets
        self._faults = faults
        self._server: LocalServer | None = None
        self._arrival = asyncio.Event()
        self._so_far = 0
        self._closing = Background()

    def route(self) -> WebSocketRoute:
        """The endpoint for the URLs from ``apps.connections.open``."""
        return WebSocketRoute("/link/", self._join)

    def open_at(self, server: LocalServer) -> None:
        self._server = server

    async def close(self) -> None:
        """Cancel pending closes; the server ends the connections."""
        await self._closing.close()

    def take_turn(self, avoid: int) -> Connection | None:
        """The next connection, if possible not number *avoid*."""
        if not self.open:
            return None
        turn = next((other for other in self.open if other.number != avoid), self.open[0])
        self.open.remove(turn)
        self.open.append(turn)
        return turn

    async def opened(self) -> None:
        while not self.open:
            self._arrival.clear()
            await self._arrival.wait()

    @property
    def in_order(self) -> list[Connection]:
        """The open connections, oldest first, each with what was sent and acked on it."""
        return sorted(self.open, key=lambda socket: socket.number)

    async def disconnect(
        self, reason: str = "refresh_requested", *, closes_after: float = 10.0, connection: Connection | None = None
    ) -> None:
        """Tell the app to reconnect, on every connection or on the given one.

        *reason* is ``warning``, ``refresh_requested`` or ``link_disabled``. The connections are closed after
        *closes_after* seconds, with 0 before this returns; muted ones aren't affected.
        """
        for socket in [connection] if connection else self.in_order:
            await socket.warn(reason)
            if closes_after:
                self._closing.start(self._drop(socket, after=closes_after))
            else:
                await self._drop(socket)

    async def _drop(self, connection: Connection, *, after: float = 0.0) -> None:
        """Close a connection, and don't use it any longer."""
        await asyncio.sleep(after)
        if connection in self.open and not connection.is_muted:
            self.open.remove(connection)
        await connection.close()

    def mute(self) -> None:
        """Mute the open connections: no envelope, ping or pong, but they stay open.

        They still get their share of envelopes, in vain. New connections work.
        """
        for socket in self.in_order:
            socket.mute()

    def cut(self) -> None:
        """Break every connection without a close frame."""
        for socket in self.in_order:
            socket.cut()

    def refuse(self, error: str) -> None:
        """Refuse new connections with Slack's *error*; an empty one allows them again."""
        self._faults.clear(_OPEN)
        if error:
            self._faults.on(_OPEN, Error(error), times=None)

    async def _join(self, websocket: WebSocket) -> None:
        if (
            self._server is None
            or self.are_refused
            or not self._tickets.use_socket(websocket.query_params.get("ticket", ""))
        ):
            await websocket.close()
            return
        await websocket.accept()
        self._so_far += 1
        connection = Connection(self._so_far, websocket, self._server)
        if len(self.open) >= MOST_CONNECTIONS:
            await connection.warn("too_many_websockets")
            await connection.close()
            return
        await self._serve(connection)

    async def _serve(self, connection: Connection) -> None:
        with contextlib.suppress(Gone):
            await connection.send(_hello(len(self.open) + 1))
        self.open.append(connection)
        self._arrival.set()
        try:
            await connection.listen()
        finally:
            if connection in self.open:
                self.open.remove(connection)


def _hello(connections: int) -> Json:
    return {
        "type": "hello",
        "num_connections": connections,
        "debug_info": {"host": _HOST, "build_number": 1, "approximate_connection_time": _LASTS_SECONDS},
        "connection_info": {"app_id": sample.APP},
    }
