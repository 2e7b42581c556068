"""The socket client against a server that sends arbitrary frames."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bridge.door.sockets import Sockets
from bridge.metrics import Metrics
from support.waiting import wait_until

HELLO = json.dumps({"type": "hello"})
ENVELOPE = json.dumps({"type": "events_api", "envelope_id": "e1", "payload": {}})
Serve = Callable[[web.WebSocketResponse], Awaitable[None]]


@asynccontextmanager
async def sockets_to(serve: Serve) -> AsyncIterator[Sockets]:
    """Keep a socket open to a server that runs *serve* on each connection, and acknowledge every envelope."""

    async def handle(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str(HELLO)
        await serve(socket)
        return socket

    async def dispatch(_request: AsyncBoltRequest) -> BoltResponse:
        return BoltResponse(status=200)

    app = web.Application()
    app.router.add_get("/", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    closing = asyncio.Event()
    host, port = runner.addresses[0][:2]
    try:
        async with aiohttp.ClientSession() as http, asyncio.TaskGroup() as group:
            sockets = Sockets(lambda: http.ws_connect(f"ws://{host}:{port}/"), dispatch, Metrics())
            group.create_task(sockets.run(closing))
            try:
                yield sockets
            finally:
                closing.set()
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    "frame",
    [
        "no JSON",
        "5",
        "[]",
        "[" * 100_000,
        f'{{"type": "hello", "deep": {"[" * 100}{"]" * 100}}}',
        '{"type": []}',
        '{"envelope_id": 5}',
        '{"type": "disconnect", "reason": 5}',
    ],
    ids=["words", "number", "list", "deep", "a little too deep", "type", "id", "reason"],
)
async def test_a_malformed_frame_is_ignored(frame: str) -> None:
    heard = asyncio.Queue[str]()

    async def serve(socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(b"\xff")
        await socket.send_str(frame)
        await socket.send_str(ENVELOPE)
        async for message in socket:
            heard.put_nowait(message.data)

    async with sockets_to(serve) as sockets:
        async with asyncio.timeout(10):
            acknowledged = await heard.get()

        assert json.loads(acknowledged) == {"envelope_id": "e1"}
        assert sockets.is_up


async def test_sockets_closed_at_once_are_reopened_with_pauses() -> None:
    opened: list[float] = []

    async def serve(socket: web.WebSocketResponse) -> None:
        opened.append(asyncio.get_running_loop().time())
        await socket.close()

    async with sockets_to(serve):
        await wait_until(lambda: len(opened) == 4, "a fourth connection is requested")

    assert opened[2] - opened[1] >= 0.5
    assert opened[3] - opened[2] >= 1.0
