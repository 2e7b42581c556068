"""The HTTP server around the guard, on a real socket."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

import aiohttp
import pytest
import uvicorn
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bridge.door.guard import Guard
from bridge.door.http import Address, BoundedHttp, Reach, Readiness, build, serving
from bridge.errors import ConfigurationError
from bridge.metrics import Metrics
from support.slack_requests import JSON, SECRET, signed

BODY = json.dumps({"type": "event_callback", "event": {"type": "app_mention"}}).encode()
UP = Readiness(slack=Reach.UP, redis=Reach.UP, project=Reach.UP)
WaitUntil = Callable[..., Awaitable[None]]


def headers(body: bytes = BODY) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in [JSON, *signed(body)]}


@dataclass
class Bridge:
    """A test-controlled app behind the server."""

    readiness: Readiness = UP
    metrics: Metrics = field(default_factory=Metrics)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    began: int = 0

    async def inside(self, _request: AsyncBoltRequest) -> BoltResponse:
        self.began += 1
        await self.may_answer.wait()
        return BoltResponse(status=200, body="done")

    @asynccontextmanager
    async def served(self, port: int = 0) -> AsyncIterator[Address]:
        app = build(Guard(SECRET, self.metrics, self.inside), lambda: self.readiness, self.metrics)
        async with asyncio.TaskGroup() as group, serving(app, "127.0.0.1", port, group) as address:
            yield address


@pytest.fixture
def bridge() -> Bridge:
    bridge = Bridge()
    bridge.may_answer.set()
    return bridge


async def get(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as http, http.get(url) as response:
        return response.status, await response.text()


async def test_a_signed_event_is_answered_without_a_server_name(bridge: Bridge) -> None:
    async with (
        bridge.served() as address,
        aiohttp.ClientSession() as http,
        http.post(f"{address.url}/slack/events", data=BODY, headers=headers()) as response,
    ):
        assert (response.status, await response.text()) == (200, "done")
        assert "Server" not in response.headers


async def test_healthz_answers_ok(bridge: Bridge) -> None:
    async with bridge.served() as address:
        assert await get(f"{address.url}/healthz") == (200, "ok")


@pytest.mark.parametrize(
    ("readiness", "status"),
    [
        (UP, 200),
        (replace(UP, project=Reach.NOT_YET), 200),
        (replace(UP, redis=Reach.DOWN), 200),
        (replace(UP, slack=Reach.DOWN), 503),
        (replace(UP, redis=Reach.NOT_YET), 503),
        (replace(UP, slack=Reach.NOT_YET), 503),
        (replace(UP, draining=True), 503),
    ],
)
async def test_readyz_shows_the_state_of_each_part(bridge: Bridge, readiness: Readiness, status: int) -> None:
    bridge.readiness = readiness
    async with bridge.served() as address:
        response = await get(f"{address.url}/readyz")

    assert response[0] == status
    assert json.loads(response[1]) == {
        "ready": status == 200,
        "slack": readiness.slack.value,
        "redis": readiness.redis.value,
        "project": readiness.project.value,
        "draining": readiness.draining,
    }


async def test_readyz_shows_notices_and_stays_ready(bridge: Bridge) -> None:
    bridge.readiness = replace(UP, redis_notice="wiped", clock_trouble="an hour off")
    async with bridge.served() as address:
        status, body = await get(f"{address.url}/readyz")

    shown = json.loads(body)
    assert (status, shown["redis_notice"], shown["clock_trouble"]) == (200, "wiped", "an hour off")


async def test_metrics_are_prometheus_text(bridge: Bridge) -> None:
    bridge.metrics.event("message", "accepted")
    async with (
        bridge.served() as address,
        aiohttp.ClientSession() as http,
        http.get(f"{address.url}/metrics") as response,
    ):
        assert response.headers["Content-Type"].startswith("text/plain; version=")
        assert 'bridge_events_total{kind="message",outcome="accepted"} 1.0' in await response.text()


async def test_other_paths_do_not_exist(bridge: Bridge) -> None:
    async with bridge.served() as address:
        assert (await get(f"{address.url}/slack/events/"))[0] in {404, 405}
        assert (await get(f"{address.url}/slack/events"))[0] == 405
        assert (await get(f"{address.url}/docs"))[0] == 404


async def test_an_unread_huge_body_gets_its_413(bridge: Bridge) -> None:
    async with bridge.served() as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", address.port)
        writer.write(b"POST /slack/events HTTP/1.1\r\nHost: x\r\nContent-Length: 20971520\r\n\r\n")
        for _ in range(20):  # a client that sends everything before it reads
            writer.write(b"x" * 1024 * 1024)
            await writer.drain()
        assert b" 413 " in await reader.readline()
        writer.close()
        await writer.wait_closed()


async def test_an_endless_head_closes_the_connection(bridge: Bridge) -> None:
    async with bridge.served() as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", address.port)
        writer.write(b"POST /slack/events HTTP/1.1\r\nHost: x\r\n")
        taken = await _lines_taken(reader, writer, b"X-Filler: " + b"x" * 1000 + b"\r\n")
        writer.close()

    assert 60 < taken < 10_000


CHUNKED = b"POST /slack/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("begin", "filler"),
    [
        (b"2\r\n{}\r\n0\r\n", b"X-Filler: " + b"x" * 1000 + b"\r\n"),
        (b"2\r\n{}\r\n0\r\nX-Filler: ", b"x" * 1000),
        (b"2;", b"x" * 1000),
        (b"2\r\n{}\r\n", b"1;" + b"x" * 1000 + b"\r\n \r\n"),
        (b"", b"1\r\n \r\n" * 200),
    ],
    ids=["trailers", "a trailer", "an extension", "extensions", "chunks"],
)
async def test_endless_bytes_beside_a_body_close_the_connection(bridge: Bridge, begin: bytes, filler: bytes) -> None:
    async with bridge.served() as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", address.port)
        writer.write(CHUNKED + begin)
        taken = await _lines_taken(reader, writer, filler)
        writer.close()

    assert taken < 10_000
    assert bridge.began == 0


async def test_a_signature_in_trailers_does_not_count(bridge: Bridge, caplog: pytest.LogCaptureFixture) -> None:
    signature = "".join(f"{name}: {value}\r\n" for name, value in headers().items()).encode()
    async with bridge.served() as address:
        answer = await _answer(address, CHUNKED + b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(BODY), BODY, signature))

    assert b" 401 " in answer.partition(b"\r\n")[0]
    assert bridge.began == 0
    assert [record.message for record in caplog.records] == ["refused requests with 401"]


async def test_a_signed_request_may_have_trailers(bridge: Bridge) -> None:
    signed = "".join(f"{name}: {value}\r\n" for name, value in headers().items()).encode()
    begin = CHUNKED.removesuffix(b"\r\n") + signed
    async with bridge.served() as address:
        answer = await _answer(
            address, begin + b"\r\n%x\r\n%b\r\n0\r\nX-Slack-Signature: v0=\r\n\r\n" % (len(BODY), BODY)
        )

    assert b" 200 " in answer.partition(b"\r\n")[0]


@pytest.mark.parametrize(
    ("sent", "most"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"a: \r\n" * 5000 + b"\r\n", 0),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Filler: " + b"x" * 100_000 + b"\r\n\r\n", 0),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 3000, 20),
    ],
    ids=["headers", "a header", "requests"],
)
async def test_too_much_in_one_packet_is_refused(bridge: Bridge, sent: bytes, most: int) -> None:
    async with bridge.served() as address:
        answer = await _answer(address, sent)

    assert answer.count(b" 400 ") == 1
    assert answer.count(b" 200 ") <= most


async def _answer(address: Address, sent: bytes) -> bytes:
    """Send bytes; return all that comes back until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", address.port)
    writer.write(sent)
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_a_client_that_reads_no_answer_is_disconnected(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch, wait_until: WaitUntil
) -> None:
    monkeypatch.setattr(BoundedHttp, "head_seconds", 0.3)
    lost, connection_lost = asyncio.Event(), BoundedHttp.connection_lost

    def noted(protocol: BoundedHttp, exc: Exception | None) -> None:
        connection_lost(protocol, exc)
        lost.set()

    monkeypatch.setattr(BoundedHttp, "connection_lost", noted)
    async with bridge.served() as address:
        with socket.create_connection(("127.0.0.1", address.port)) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)

            def is_closed() -> bool:  # a client with a full buffer may not see it
                with suppress(OSError):
                    client.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 10)
                return lost.is_set()

            await wait_until(is_closed, "the server closes the connection")


async def _lines_taken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: bytes) -> int:
    """Write until the other side closes."""
    for number in range(10_000):
        writer.write(line)
        try:
            await writer.drain()
        except ConnectionError:
            return number
        await asyncio.sleep(0)
        if reader.at_eof() or reader.exception() is not None:
            return number
    return 10_000


class Hasty(BoundedHttp):
    head_seconds = 0.3


@pytest.mark.parametrize(
    ("sent", "answers"),
    [
        (b"", 0),
        (b"GET /healthz HTT", 0),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n", 0),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 1),
    ],
    ids=["nothing", "a line", "a head", "a request"],
)
async def test_a_connection_is_closed_unless_its_head_ends_in_time(bridge: Bridge, sent: bytes, answers: int) -> None:
    app = build(None, lambda: UP, bridge.metrics)
    loop = asyncio.get_running_loop()
    config = uvicorn.Config(app, http=Hasty, lifespan="off", log_config=None)
    config.load()
    state = uvicorn.server.ServerState()
    server = await loop.create_server(lambda: Hasty(config, state, {}), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for part in (sent, sent[:20]) if answers else (sent,):  # after a response, the next head doesn't end either
            writer.write(part)
            await asyncio.sleep(0.1)
        async with asyncio.timeout(30):
            came = await reader.read()
        writer.close()

    assert came.count(b" 200 ") == answers


async def test_one_connection_serves_several_requests(bridge: Bridge) -> None:
    async with bridge.served() as address, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as http:
        for _ in range(5):
            async with http.post(f"{address.url}/slack/events", data=BODY, headers=headers()) as response:
                assert response.status == 200


async def test_a_running_request_is_answered_before_shutdown(bridge: Bridge, wait_until: WaitUntil) -> None:
    bridge.may_answer.clear()
    async with aiohttp.ClientSession() as http:
        async with bridge.served() as address:

            async def ask() -> int:
                async with http.post(f"{address.url}/slack/events", data=BODY, headers=headers()) as response:
                    return response.status

            asking = asyncio.create_task(ask())
            await wait_until(lambda: bridge.began == 1, "the request has started")
            asyncio.get_running_loop().call_later(0.2, bridge.may_answer.set)

        assert await asking == 200


async def test_a_port_in_use_is_a_configuration_error(bridge: Bridge) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ExceptionGroup) as caught:
            async with bridge.served(port):
                pass

    (error,) = caught.value.exceptions
    assert isinstance(error, ConfigurationError)
    assert str(error).startswith(f"BRIDGE_PORT: {port} on 127.0.0.1 can't be used")


async def test_an_unknown_host_is_a_configuration_error(bridge: Bridge) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        async with asyncio.TaskGroup() as group, serving(bridge.inside, "256.0.0.1", 0, group):
            pass

    (error,) = caught.value.exceptions
    assert str(error).startswith("BRIDGE_HOST")


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "http://0.0.0.0:3000"), ("::", "http://[::]:3000"), ("10.0.0.1", "http://10.0.0.1:3000")],
)
def test_an_address_has_a_url(host: str, url: str) -> None:
    assert Address(host, 3000).url == url
