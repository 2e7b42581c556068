"""Minimal HTTP/1.1: the fakes' server and the load client's connections.

Both are asyncio protocols on httptools with constant headers and no request objects, at about 20 µs per request, so
one core can run the load and the fakes while the server under test has another.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import httptools

Reply = Callable[[bytes], None]
"""Sends a JSON body with status 200; does nothing if the client has disconnected."""

Answering = Callable[[bytes, bytes, Reply], None]
"""Called with a request's target and body, and a callback that sends the answer, now or later."""

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n%bcontent-length: %d\r\n\r\n%b"
_STALE_SECONDS = 2.0  # less than the 5 s after which uvicorn closes an idle connection by default


class _Served(asyncio.Protocol):
    """One connection to a fake, without pipelining."""

    def __init__(self, answering: Answering, headers: bytes) -> None:
        self._answering = answering
        self._headers = headers
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._target = b""
        self._body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's isn't a subclass

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._target = self._body = b""

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        self._answering(self._target, self._body, self._reply)

    def _reply(self, body: bytes) -> None:
        if self._transport is not None:
            self._transport.write(_HEAD % (self._headers, len(body), body))


async def serve(answering: Answering, headers: bytes = b"") -> asyncio.Server:
    """Serve on a free loopback port, with these *headers* in each response."""
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: _Served(answering, headers), "127.0.0.1", 0, backlog=4096)


def port_of(server: asyncio.Server) -> int:
    """The port that *server* listens on."""
    port: int = server.sockets[0].getsockname()[1]
    return port


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's response and how long it took."""

    status: int
    body: bytes
    seconds: float


class Line(asyncio.Protocol):
    """A keep-alive connection of the load client, without pipelining."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._body = b""
        self._began = 0.0
        self.used_at = time.perf_counter()

    @property
    def is_fresh(self) -> bool:
        """Whether the connection is too young for the server to be closing it."""
        return self._transport is not None and time.perf_counter() - self.used_at < _STALE_SECONDS

    async def ask(self, request: bytes) -> Answer:
        """Send a complete request and wait for the answer. Raises `ConnectionError`."""
        if self._transport is None:
            raise ConnectionResetError
        self._answer = asyncio.get_running_loop().create_future()
        self._began = time.perf_counter()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's isn't a subclass

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError())

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._body = b""

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        self.used_at = now = time.perf_counter()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(Answer(self._parser.get_status_code(), self._body, now - self._began))


class Lines:
    """A pool of connections to one server, one per concurrent request."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[Line] = []

    async def open(self, count: int) -> None:
        """Open *count* connections ahead of the measurement."""
        self._idle = [line for line in self._idle if line.is_fresh]
        while len(self._idle) < count:
            self._idle.append(await self._new())

    async def ask(self, request: bytes) -> Answer:
        """Send a request over an idle or a new connection."""
        line = self._take() or await self._new()
        answer = await line.ask(request)
        self._idle.append(line)
        return answer

    def close(self) -> None:
        """Close all connections."""
        for line in self._idle:
            line.close()
        self._idle.clear()

    def _take(self) -> Line | None:
        while self._idle:
            line = self._idle.pop()
            if line.is_fresh:
                return line
            line.close()
        return None

    async def _new(self) -> Line:
        _, line = await asyncio.get_running_loop().create_connection(Line, "127.0.0.1", self._port)
        return line
