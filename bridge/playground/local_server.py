"""An ASGI application on a real loopback socket, in the running event loop."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

_HOST = "127.0.0.1"
_DRAIN_SECONDS = 1
_BACKLOG = 2048
_PONG_SECONDS = 30.0
_LAST_PORT = 65535
_PORTS_TRIED = 100

Port = int | socket.socket
"""A port by its number, or one that this process already listens to."""


def typed_port(typed: str) -> socket.socket:
    """Read a port from a command line, and listen to it; 0 is any free one."""
    if not (typed.isdecimal() and int(typed) <= _LAST_PORT):
        raise argparse.ArgumentTypeError(f"“{typed}” isn't a port: use a number from 0 to {_LAST_PORT}, such as 8090")
    try:
        return reserved(int(typed))
    except OSError as exc:
        raise argparse.ArgumentTypeError(f"{typed} can't be used ({exc.strerror}): choose another, such as 0") from exc


def reserved(port: int) -> socket.socket:
    """Listen to *port*, or to any free one if it's 0, before anything is started. Raises OSError if it's in use.

    With SO_REUSEADDR, macOS lets a program have a port of 127.0.0.1 that another one has on all addresses.
    """
    with socket.socket() as probe:
        probe.settimeout(0.5)
        if port and probe.connect_ex((_HOST, port)) == 0:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    return _listening(port)


def next_reserved(first: int) -> socket.socket:
    """Listen to *first*, or to the next free port: two programs that start at once get different ones."""
    for port in range(first, first + _PORTS_TRIED):
        with contextlib.suppress(OSError):
            return reserved(port)
    return reserved(0)


def _listening(port: int) -> socket.socket:
    # Name the protocol: only then does asyncio set TCP_NODELAY, without which small responses take 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_HOST, port))
        listener.listen(_BACKLOG)  # Linux refuses a used port only here
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


@runtime_checkable
class Mutable(Protocol):
    """A connection that can go silent."""

    def mute(self) -> None:
        """Send and receive nothing from now on, but stay open."""


class LocalServer:
    """Serves *app* on *port* (0: any free one, or a `reserved` one); after `stop`, `start` opens the same port again.

    WebSockets need *sockets*, their protocol class, and are pinged every *ping_seconds*.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        port: Port = 0,
        sockets: type[asyncio.Protocol] | None = None,
        ping_seconds: float | None = None,
    ) -> None:
        self._app = app
        self._port = port
        self._sockets = sockets
        self._ping_seconds = ping_seconds
        self._server: uvicorn.Server | None = None

    @property
    def url(self) -> str:
        """The address, without a trailing slash; known once the server has started."""
        port = self._port if isinstance(self._port, int) else self._port.getsockname()[1]
        return f"http://{_HOST}:{port}"

    async def start(self) -> None:
        config = uvicorn.Config(
            _Silenced(self._app),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws=self._sockets or "none",
            ws_ping_interval=self._ping_seconds,
            ws_ping_timeout=_PONG_SECONDS,
            timeout_graceful_shutdown=_DRAIN_SECONDS,
            timeout_keep_alive=60,
        )
        config.load()
        server = uvicorn.Server(config)
        server.lifespan = config.lifespan_class(config)
        # Not `serve()`, which installs signal handlers: those belong to the program.
        listener = _listening(self._port) if isinstance(self._port, int) else self._port
        self._port = listener.getsockname()[1]
        await server.startup(sockets=[listener])
        self._server = server

    async def stop(self) -> None:
        """Break every connection, as a killed server does, cancel running requests, and close the socket."""
        server, self._server = self._server, None
        if server is None:
            return
        for listener in server.servers:
            listener.close()
        for connection in list(server.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        for task in list(server.server_state.tasks):
            task.cancel()
        # Not `shutdown()`, which says goodbye to each client and always waits 0.1 s.
        await _ended(server.server_state)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def cut(self, scope: Scope) -> None:
        """Break the connection of the request in *scope*, without a response."""
        for connection in self._connections(scope):
            if connection.transport is not None:
                connection.transport.abort()

    def mute(self, scope: Scope) -> None:
        for connection in self._connections(scope):
            if isinstance(connection, Mutable):
                connection.mute()

    def _connections(self, scope: Scope) -> list[Any]:
        everyone = self._server.server_state.connections if self._server else set()
        return [connection for connection in everyone if getattr(connection, "client", None) == scope["client"]]


async def _ended(state: ServerState) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while state.connections or state.tasks:  # noqa: ASYNC110 - uvicorn has plain sets, no events
                await asyncio.sleep(0)


class _Silenced:
    """An application whose requests end silently when the server stops."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond, unless the server cancels this task: its connection is already broken then."""
        with contextlib.suppress(asyncio.CancelledError):
            await self._app(scope, receive, send)


@dataclass(frozen=True)
class DropBefore:
    """A fault: the connection breaks before the request is carried out."""


@dataclass(frozen=True)
class DropAfter:
    """A fault: the connection breaks before the response. The request is carried out, so many seconds *later*."""

    later: float = 0.0


class Cut:
    """An ASGI response that breaks the connection."""

    def __init__(self, server: LocalServer) -> None:
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        """Break the connection, and wait until the server notices."""
        self._server.cut(scope)
        await until_disconnected(receive)


class Silence:
    """An ASGI response that never comes: the connection stays open until the client gives up."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        await until_disconnected(receive)


async def until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Background:
    """Background tasks that end with their owner; `close` raises their first failure."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start *work* as a task, which `close` cancels."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is None:
            self._tasks.discard(task)

    async def idle(self) -> None:
        """Wait until all tasks are done, including those started meanwhile."""
        while running := [task for task in self._tasks if not task.done()]:
            await asyncio.wait(running)

    async def close(self) -> None:
        """Cancel what still runs, and raise the first failure."""
        tasks, self._tasks = self._tasks, set()
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
