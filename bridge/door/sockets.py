"""Socket Mode: the same listeners over Slack's WebSocket, for a bridge that Slack can't reach.

https://docs.slack.dev/apis/events-api/using-socket-mode

slack_sdk's own client closes the old socket before it opens the next, and has been observed to receive nothing for
hours while reporting a healthy connection. Here a new socket is open before the old one closes, an envelope is
acknowledged only once its content is stored (Slack resends events that aren't), and a socket that receives nothing, not
even a ping, counts as dead after `SILENCE`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from http import HTTPStatus

import aiohttp
from aiohttp import WSMsgType

from bridge.errors import SlackError, SlackGone, SlackRefused
from bridge.json_reader import Json, read_json
from bridge.metrics import Metrics
from bridge.slack.payloads import Dispatch, Malformed, mapping, read_envelope, text

log = logging.getLogger(__name__)

SILENCE = timedelta(seconds=30)

# All in seconds.
_GIVE_UP = 120.0
_HELLO_WITHIN = 10.0
_OLD_SOCKET_STAYS = 15.0  # Slack closes a socket about 10 s after announcing it
_STABLE_AFTER = 10.0  # after a shorter connection, there's a pause before the next
_ACK_WITHIN = 3.0
_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)

Open = Callable[[], Awaitable[aiohttp.ClientWebSocketResponse]]


class Sockets:
    """Keeps one socket open (two while one replaces the other), and dispatches what arrives.

    *open_socket* opens a new socket, *dispatch* answers a request, *silence* is how long a socket may be silent.
    `opened` is set once the first socket is open.
    """

    def __init__(self, open_socket: Open, dispatch: Dispatch, metrics: Metrics, silence: timedelta = SILENCE) -> None:
        self._silence = silence.total_seconds()
        self.opened = asyncio.Event()
        self._open_socket = open_socket
        self._dispatch = dispatch
        self._metrics = metrics
        self._connections: list[_Connection] = []
        self._alive_at = time.monotonic()

    @property
    def is_up(self) -> bool:
        """Whether an open socket has recently received anything."""
        return any(connection.silent_for() < self._silence for connection in self._connections)

    def silent_for(self) -> list[float]:
        """Return the seconds since each open socket received anything, the oldest first; or since one was open."""
        return [connection.silent_for() for connection in self._connections] or [time.monotonic() - self._alive_at]

    async def acknowledgement(self, envelope: Json) -> Json | None:
        """Dispatch an *envelope* and return its acknowledgement; None if that failed, so that Slack resends it."""
        began = time.monotonic()
        ack: Json = {"envelope_id": envelope.get("envelope_id")}
        try:
            kind, request = read_envelope(envelope)
        except Malformed as exc:
            self._metrics.rejected.labels(exc.reason).inc()
            return ack  # resending it wouldn't help
        response = await self._dispatch(request)
        self._metrics.acked(kind, time.monotonic() - began)
        if response.status != HTTPStatus.OK:
            return None
        if response.body and envelope.get("accepts_response_payload"):
            ack["payload"] = json.loads(response.body)
        return ack

    async def run(self, closing: asyncio.Event) -> None:
        """Keep a socket open until *closing*, then acknowledge the envelopes that have arrived.

        Raises `SlackRefused` if Slack rejects the token, `SlackGone` if no socket could be opened for two minutes.
        """
        async with asyncio.TaskGroup() as group:
            keeper = group.create_task(self._keep_one_open(group))
            await asyncio.wait({keeper, group.create_task(closing.wait())}, return_when=asyncio.FIRST_COMPLETED)
            keeper.cancel()
            for connection in list(self._connections):
                await connection.close()

    async def _keep_one_open(self, group: asyncio.TaskGroup) -> None:
        failures = 0
        self._alive_at = time.monotonic()
        while True:
            try:
                connection = _Connection(await self._open_socket(), self.acknowledgement)
                await connection.hello()
            except SlackRefused:
                raise
            except SlackError as exc:
                log.warning("can't open a socket to Slack yet", extra={"detail": exc.detail})
                await self._pause_or_give_up(failures)
                failures += 1
                continue
            log.info("socket open", extra={"sockets": len(self._connections) + 1})
            opened_at = time.monotonic()
            group.create_task(self._use(connection))
            await connection.is_leaving.wait()
            self._alive_at = time.monotonic()
            if self._alive_at - opened_at > _STABLE_AFTER:
                failures = 0
                continue
            if failures:  # after the first short connection, the next socket is opened at once
                await self._pause_or_give_up(failures - 1)
            failures += 1

    async def _pause_or_give_up(self, failures: int) -> None:
        if self.is_up:
            self._alive_at = time.monotonic()
        if time.monotonic() - self._alive_at > _GIVE_UP:
            raise SlackGone("apps.connections.open", f"no socket for {_GIVE_UP:g} s")
        await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])

    async def _use(self, connection: _Connection) -> None:
        self._connections.append(connection)
        self.opened.set()
        watch = asyncio.create_task(self._watch(connection))
        try:
            await connection.receive()
        finally:
            self._connections.remove(connection)
            watch.cancel()
            await connection.close()
            log.info("socket closed", extra={"sockets": len(self._connections)})

    async def _watch(self, connection: _Connection) -> None:
        """Ping, and close the connection if nothing comes back, or once its successor has taken over."""
        leaving_since: float | None = None
        while connection.silent_for() < self._silence:
            await asyncio.sleep(self._silence / 4)
            await connection.ping()
            if connection.is_leaving.is_set():
                leaving_since = leaving_since or time.monotonic()
                if time.monotonic() - leaving_since > _OLD_SOCKET_STAYS:
                    break
        if not connection.is_leaving.is_set():
            log.warning("socket went silent, opening another")
        connection.is_leaving.set()
        await connection.close()


class _Connection:
    """One socket, from its hello to its end."""

    def __init__(
        self, socket: aiohttp.ClientWebSocketResponse, acknowledgement: Callable[[Json], Awaitable[Json | None]]
    ) -> None:
        self.is_leaving = asyncio.Event()
        self._socket = socket
        self._acknowledgement = acknowledgement
        self._heard_at = time.monotonic()
        self._unacknowledged: set[asyncio.Task[None]] = set()

    def silent_for(self) -> float:
        """Return the seconds since anything was received."""
        return time.monotonic() - self._heard_at

    async def hello(self) -> None:
        """Wait for Slack's first message. Raises `SlackError` if the socket closes instead, or nothing comes."""
        why = "closed before hello"
        try:
            async with asyncio.timeout(_HELLO_WITHIN):
                while (message := await self._next()) is not None:
                    if message.get("type") == "hello":
                        return
        except TimeoutError:
            await self.close()
            why = "no hello"
        raise SlackError("apps.connections.open", why)

    async def receive(self) -> None:
        """Dispatch every envelope, each in its own task, until the socket closes; then wait for those tasks."""
        try:
            async with asyncio.TaskGroup() as group:
                while (message := await self._next()) is not None:
                    if message.get("type") == "disconnect":
                        reason = text(message, "reason")
                        log.info("Slack asked for a new socket", extra={"reason": reason})
                        if reason == "link_disabled":
                            raise SlackRefused("apps.connections.open", reason)
                        self.is_leaving.set()
                    elif text(message, "envelope_id"):
                        task = group.create_task(self._acknowledge(message))
                        self._unacknowledged.add(task)
                        task.add_done_callback(self._unacknowledged.discard)
        finally:
            self.is_leaving.set()

    async def _acknowledge(self, envelope: Json) -> None:
        ack = await self._acknowledgement(envelope)
        if ack is not None:
            # If the socket has closed meanwhile, Slack resends the envelope, which is a duplicate then.
            with suppress(aiohttp.ClientError, ConnectionError):
                await self._socket.send_str(json.dumps(ack))

    async def ping(self) -> None:
        """Send a ping, which Slack answers."""
        with suppress(aiohttp.ClientError, ConnectionError):
            await self._socket.ping()

    async def close(self) -> None:
        """Close the socket once the envelopes that arrived are acknowledged, after at most 4 s."""
        if self._unacknowledged:
            await asyncio.wait(self._unacknowledged, timeout=_ACK_WITHIN)
        with suppress(aiohttp.ClientError, ConnectionError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._socket.close()

    async def _next(self) -> Json | None:
        """Return Slack's next message; None once the socket is closed. Answers pings, which count as signs of life."""
        while True:
            frame = await self._socket.receive()
            match frame.type:
                case WSMsgType.CLOSE | WSMsgType.CLOSING | WSMsgType.CLOSED | WSMsgType.ERROR:
                    return None
            self._heard_at = time.monotonic()
            if frame.type is WSMsgType.PING:
                with suppress(aiohttp.ClientError, ConnectionError):
                    await self._socket.pong(frame.data)
            elif frame.type is WSMsgType.TEXT:
                try:
                    return dict(mapping(read_json(frame.data)))
                except ValueError:
                    return {}
