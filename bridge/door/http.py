"""The HTTP server: Slack's requests, and three pages for operators.

It's uvicorn with added limits. By itself, uvicorn stores every header line and trailer it gets, waits forever for a
request to be completed or an answer to be read, and resets a connection if it answers a request before reading all of
it, so that the client never sees the answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bridge.errors import ConfigurationError
from bridge.metrics import CONTENT_TYPE, Metrics
from bridge.slack import EVENTS_PATH

LARGEST_HEAD = 64 * 1024  # all of a request but its body; Slack's is about 1 KiB
LINGER_SECONDS = 2.0  # how long the rest of a request is discarded after its answer
LINGER_BYTES = 32 * 1024 * 1024

_HEADER_COST = 32  # bytes to store a header besides its text, as in HTTP/2 (RFC 9113, section 6.5.2)
_PIPELINED = 16  # requests that wait for an earlier one's answer; Slack sends none
_BACKLOG = 2048
_KEEP_ALIVE_SECONDS = 75  # longer than a proxy's usual 60: the proxy closes first, so no request meets a closed socket
_SHUTDOWN_SECONDS = 5  # Slack waits at most 3 s for an answer


class Reach(StrEnum):
    """Whether Slack, Redis or the service is reachable."""

    NOT_YET = "not yet"  # not since the process started
    UP = "up"
    DOWN = "down"  # it was up before
    UNKNOWN = "unknown"  # of the service: it hasn't answered since the process started


@dataclass(frozen=True, slots=True)
class Readiness:
    """What the bridge can reach, whether it *accepts* requests yet, and whether it's shutting down.

    *slack_trouble* is Slack's error for the bot token, if any; *project_trouble* names projects whose key is rejected;
    *clock_trouble* says how wrong this machine's clock is;
    *redis_trouble* says why an embedded Redis isn't running. *redis_notice* is anything else operators should know
    about Redis. All are ``""`` if there's nothing to say.
    """

    slack: Reach
    redis: Reach
    project: Reach
    draining: bool = False
    accepts: bool = True
    slack_trouble: str = ""
    project_trouble: str = ""
    clock_trouble: str = ""
    redis_trouble: str = ""
    redis_notice: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether a load balancer should send requests to this process.

        Losing Redis or the service later doesn't matter: another replica would be no better off, and this one tells
        people about it. Nor does a revoked token: messages are queued. A silent socket does, because nothing arrives,
        and so does a clock by which Slack's requests are refused.
        """
        return self.accepts and not self.draining and self.slack is Reach.UP and self.redis is not Reach.NOT_YET


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """Return the URL; its host is a wildcard if the server listens on all addresses."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"


def build(guard: ASGIApp | None, readiness: Callable[[], Readiness], metrics: Metrics) -> ASGIApp:
    """Build the application: *guard* at ``/slack/events``, and ``/healthz``, ``/readyz`` and ``/metrics``.

    Without *guard*, in Socket Mode, there is no ``/slack/events``.
    """

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok")

    async def ready(_: Request) -> Response:
        state = readiness()
        body = {
            "ready": state.is_ready,
            "slack": Reach.DOWN if state.slack_trouble else state.slack,
            "redis": state.redis,
            "project": state.project,
            "draining": state.draining,
        }
        for name in ("slack_trouble", "project_trouble", "clock_trouble", "redis_trouble", "redis_notice"):
            if text := getattr(state, name):
                body[name] = text
        return JSONResponse(body, status_code=200 if state.is_ready else 503)

    async def numbers(_: Request) -> Response:
        await metrics.measure()
        return Response(metrics.exposition(), headers={"content-type": CONTENT_TYPE})

    pages = Starlette(routes=[Route("/healthz", health), Route("/readyz", ready), Route("/metrics", numbers)])

    async def router(scope: Scope, receive: Receive, send: Send) -> None:
        # Bypasses Starlette's routing and its two layers of middleware: they cost as much as checking the signature.
        if guard is not None and scope["type"] == "http" and scope["path"] == EVENTS_PATH:
            await guard(scope, receive, send)
        else:
            await pages(scope, receive, send)

    return router


@contextlib.asynccontextmanager
async def serving(app: ASGIApp, host: str, port: int, group: asyncio.TaskGroup) -> AsyncIterator[Address]:
    """Serve *app* from a task of *group* while the block runs; port 0 picks a free one.

    At the end of the block, running requests are still answered. Signals are left to the caller. Raises
    `ConfigurationError` if the address can't be used.
    """
    listener = await _listen(host, port)
    config = uvicorn.Config(
        app,
        loop="none",  # use the running loop
        http=BoundedHttp,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    server = _Server(config)
    task = group.create_task(server.serve([listener]), name="http server")
    try:
        yield Address(*listener.getsockname()[:2])
    finally:
        server.should_exit = True
        await asyncio.wait([task])
        listener.close()  # the server doesn't if its task was cancelled early


class BoundedHttp(HttpToolsProtocol):
    """One connection, with limits on what a request has besides its body, on time, and on data after an answer.

    Besides its body, a request has a head, and the sizes, extensions and trailers of a chunked body. Trailers are
    ignored: uvicorn would add them to the headers that the application is reading.
    """

    head_seconds = 10.0
    _head_size = 0  # of the headers, each with `_HEADER_COST`
    _beside_body = 0  # bytes
    _discarded = 0
    _is_in_head = False
    _is_lingering = False
    _timer: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Give the client `head_seconds` for a request's head."""
        super().connection_made(transport)
        self._close_in(self.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the timers, which would keep the connection's objects alive."""
        self._close_in(None)
        if self._stalled is not None:
            self._stalled.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the bytes that aren't a body's, and those discarded after an answer."""
        self._beside_body += len(data)
        if self._is_lingering:
            self._discarded += len(data)
        super().data_received(data)
        if self._is_in_head and self._timer is None:
            self._close_in(self.head_seconds)
        if self._beside_body > LARGEST_HEAD or self._discarded > LINGER_BYTES:
            self.transport.close()
        if self.transport.is_closing():  # here, or by uvicorn, which has answered with 400
            self._abort_if_unread()

    def on_message_begin(self) -> None:
        """Expect a head."""
        super().on_message_begin()
        self._is_in_head = True
        self._head_size = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header, unless it's a trailer. An exception here becomes a 400."""
        if not self._is_in_head:
            return
        self._head_size += len(name) + len(value) + _HEADER_COST
        if self._head_size > LARGEST_HEAD:
            raise ValueError("the head is too large")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Pass the request on; the application limits its body."""
        self._is_in_head = False
        if self._timer is not None:
            self._close_in(None)
        if len(self.pipeline) >= _PIPELINED:
            raise ValueError("too many requests at once")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Don't count the body itself."""
        self._beside_body -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Count the next request from zero."""
        super().on_message_complete()
        self._beside_body = 0
        if self._is_lingering:
            self._is_lingering = False
            self._close_in(None)

    def on_response_complete(self) -> None:
        """Discard the rest of an unread request for a while: closing at once would also discard the answer."""
        super().on_response_complete()
        if self.cycle.more_body and not self.transport.is_closing():
            self._is_lingering = True
            self._close_in(LINGER_SECONDS)

    def pause_writing(self) -> None:
        """Give a client that doesn't read its answers `head_seconds` to do so."""
        super().pause_writing()
        self._abort_if_unread()

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        if self._stalled is not None and not self.transport.is_closing():
            self._stalled.cancel()
            self._stalled = None

    def _abort_if_unread(self) -> None:
        """Abort the connection after `head_seconds`: closing it would wait for the client to read what is left."""
        if self._stalled is None:
            self._stalled = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _close_in(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self.transport.close)


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _listen(host: str, port: int) -> socket.socket:
    """Open the listening socket. uvicorn would exit the process if that failed. Raises `ConfigurationError`."""
    try:
        addresses = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as exc:
        raise ConfigurationError(
            [f"BRIDGE_HOST: {host} isn't an address of this machine: use one such as 0.0.0.0"]
        ) from exc
    family, kind, protocol, _, address = addresses[0]
    # asyncio sets TCP_NODELAY only if the protocol is given; without it, small answers take 40 ms.
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as exc:
        listener.close()
        why = exc.strerror or "unknown reason"
        raise ConfigurationError(
            [f"BRIDGE_PORT: {port} on {host} can't be used ({why}): free it, or set another port, such as 3001"]
        ) from exc
    listener.setblocking(False)
    return listener
