"""The project client against a misbehaving service on real sockets."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest

from bridge.errors import (
    BridgeError,
    CannotConnect,
    ConnectionLost,
    NotFound,
    NotSignedIn,
    NotUnderstood,
    ProjectError,
    ServiceRefused,
    TimedOut,
)
from bridge.project import ProjectClient, reading
from bridge.project.framing import Framing

KEY = "key-0123456789"
AGENT = {"id": 3, "name": "Support", "model": "m"}
REPLY = {"sessionId": 42, "message": "hello"}
SHORT = timedelta(seconds=0.3)

Behavior = Callable[[asyncio.StreamWriter, int], Awaitable[None]]


@dataclass
class Service:
    """A server that reads whole requests and answers each with *behave*(connection, count)."""

    behave: Behavior
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    open_connections: int = 0
    port: int = 0
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_connections += 1
        self.writers.append(writer)
        try:
            while not writer.is_closing():
                self.requests.append(await read_request(reader))
                await self.behave(writer, len(self.requests))
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            self.writers.remove(writer)  # a closed transport can't be aborted
            self.open_connections -= 1


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    return head + await reader.readexactly(length)


@asynccontextmanager
async def service(behave: Behavior) -> AsyncIterator[Service]:
    it = Service(behave)
    server = await asyncio.start_server(it.serve, "127.0.0.1", 0)
    it.port = server.sockets[0].getsockname()[1]
    try:
        yield it
    finally:
        server.close()
        for writer in it.writers:
            writer.transport.abort()
        await server.wait_closed()


def raw(data: bytes, *, close: bool = True) -> Behavior:
    async def behave(writer: asyncio.StreamWriter, number: int) -> None:
        del number
        writer.write(data)
        await writer.drain()
        if close:
            writer.close()

    return behave


def answer(body: Any, status: str = "200 OK", headers: str = "") -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n{headers}\r\n"
    return head.encode() + content


async def at_once(_seconds: float) -> None:
    await asyncio.sleep(0)


def client(url: str, *, connect: float = 2, patience: timedelta = SHORT) -> ProjectClient:
    return ProjectClient(
        url,
        KEY,
        sleep=at_once,
        read_timeout=patience,
        chat_timeout=patience,
        run_timeout=patience,
        connect_timeout=timedelta(seconds=connect),
    )


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - the service's state can only be polled
            await asyncio.sleep(0.005)


@pytest.fixture
def unused() -> Iterator[socket.socket]:
    """Return a port that nothing listens on."""
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        yield it


def url_of(port: socket.socket, scheme: str = "http") -> str:
    return f"{scheme}://127.0.0.1:{port.getsockname()[1]}"


# Nothing was sent


async def cannot_connect(url: str, connect: float = 2) -> None:
    async with client(url, connect=connect, patience=timedelta(seconds=5)) as project:
        with pytest.raises(CannotConnect) as caught:
            await project.send_message(3, "hi")
    assert not caught.value.may_have_happened


async def test_a_refused_connection_sent_nothing(unused: socket.socket) -> None:
    await cannot_connect(url_of(unused))


async def test_a_name_that_does_not_resolve_sent_nothing() -> None:
    await cannot_connect("http://nowhere.invalid", connect=1)


async def test_tls_to_a_plain_port_sent_nothing() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        await cannot_connect(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")


async def test_a_tls_handshake_that_hangs_sent_nothing(unused: socket.socket) -> None:
    unused.listen()  # the kernel accepts the connection, but nothing ever answers
    await cannot_connect(url_of(unused, "https"), connect=0.2)


async def test_a_missing_proxy_sent_nothing(unused: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", url_of(unused))
    monkeypatch.setenv("no_proxy", "")
    await cannot_connect("http://project.invalid")


async def test_a_proxy_that_refuses_the_tunnel_sent_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with service(raw(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "")
        await cannot_connect("https://project.invalid")
    assert all(KEY.encode() not in request for request in proxy.requests)


# May have arrived: chats and runs are not retried


async def reset(writer: asyncio.StreamWriter, _number: int) -> None:
    linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"  # on, for 0 s
    writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def drip(writer: asyncio.StreamWriter, _number: int) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    while not writer.is_closing():
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("behave", "kind"),
    [
        (raw(b""), ConnectionLost),
        (raw(b"HTTP/1.1 200 OK\r\ncontent-le"), ConnectionLost),
        (raw(answer(REPLY)[:-5]), ConnectionLost),
        (reset, ConnectionLost),
        (raw(b"", close=False), TimedOut),
        (raw(b"HTTP/1.1 200 OK\r\n", close=False), TimedOut),
        (raw(answer(REPLY)[:-5], close=False), TimedOut),
        (drip, TimedOut),
    ],
)
async def test_a_request_that_breaks_after_sending_is_not_repeated(behave: Behavior, kind: type[ProjectError]) -> None:
    async with service(behave) as it, client(it.url, connect=0.3) as project:
        with pytest.raises(kind) as caught:
            await project.send_message(3, "hi")
    assert caught.value.may_have_happened
    assert not isinstance(caught.value, TimedOut) or caught.value.after == SHORT
    assert len(it.requests) == 1


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 twohundred OK\r\n\r\n", "not HTTP"),
        (answer(b""), "an empty answer"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "an empty answer"),
        (answer(b"not gzip", headers="content-encoding: gzip\r\n"), "not JSON"),
        (answer({"more": "x" * (16 * 1024 * 1024), **REPLY}), "larger than 4 MB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_malformed_response_is_an_error_and_not_retried(data: bytes, problem: str) -> None:
    async with service(raw(data)) as it, client(it.url, patience=timedelta(seconds=20)) as project:
        with pytest.raises(NotUnderstood) as caught:
            await project.send_message(3, "hi")
        assert project.is_up
    assert caught.value.problem == problem
    assert caught.value.may_have_happened
    assert len(it.requests) == 1


@pytest.mark.parametrize("is_read_first", [False, True])
async def test_a_change_never_starts_on_a_connection_that_is_closing(*, is_read_first: bool) -> None:
    async def answer_once(writer: asyncio.StreamWriter, number: int) -> None:
        """Answer one request, offer to go on, and close as the next one arrives."""
        if writer in answered:
            writer.close()
            return
        answered.add(writer)
        body = [AGENT] if b"GET " in it.requests[number - 1] else REPLY
        await raw(answer(body, headers="connection: keep-alive\r\n"), close=False)(writer, number)

    answered: set[asyncio.StreamWriter] = set()
    async with service(answer_once) as it, client(it.url) as project:
        for _ in range(5):
            if is_read_first:
                await project.get_agents()
            assert (await project.send_message(3, "hi")).message == "hello"


# Large answers, odd transfers and malformed errors


def chunked(body: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%s\r\n" % (len(body), body) + end


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_of_fifteen_megabytes_the_beginning_and_the_size_are_read(*, is_chunked: bool) -> None:
    body = json.dumps({"runId": 1, "status": "completed", "output": "x" * 15_000_000}).encode()
    data = chunked(body) if is_chunked else answer(body)
    async with service(raw(data)) as it, client(it.url, patience=timedelta(seconds=20)) as project:
        result = await project.run_workflow(3, None)
    assert (result.runId, result.is_cut, result.size) == (1, True, len(body))
    assert 4_000_000 < len(result.output) < 4_200_000


async def test_of_a_gzip_bomb_only_the_beginning_is_decompressed() -> None:
    body = gzip.compress(b'{"sessionId": 42, "message": "' + b"x" * 50_000_000 + b'"}')
    data = answer(body, headers="content-encoding: gzip\r\n")
    async with service(raw(data)) as it, client(it.url, patience=timedelta(seconds=20)) as project:
        reply = await project.send_message(3, "hi")
    assert (reply.sessionId, reply.is_cut) == (42, True)
    assert len(reply.message) < 4_200_000


async def test_an_endless_answer_is_read_to_a_limit() -> None:
    async def endless(writer: asyncio.StreamWriter, _number: int) -> None:
        writer.write(b'HTTP/1.1 200 OK\r\n\r\n{"sessionId": 42, "message": "')
        while not writer.is_closing():
            writer.write(b"x" * 1_000_000)
            await writer.drain()

    async with service(endless) as it, client(it.url, patience=timedelta(seconds=60)) as project:
        reply = await project.send_message(3, "hi")
    assert (reply.is_cut, reply.size) == (True, 0)


@pytest.mark.parametrize(
    ("data", "is_off_loop"),
    [
        (answer({**REPLY, "more": "x" * 200_000}), False),
        (answer({**REPLY, "more": "x" * 300_000}), True),
        (answer(gzip.compress(json.dumps(REPLY).encode(), mtime=0), headers="content-encoding: gzip\r\n"), True),
    ],
    ids=["small", "large", "compressed"],
)
async def test_a_large_answer_is_read_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, data: bytes, *, is_off_loop: bool
) -> None:
    def read(*given: Any) -> Any:
        threads.append(threading.get_ident())
        return reading.read_answer(*given)

    threads: list[int] = []
    monkeypatch.setattr("bridge.project.client.read_answer", read)
    async with service(raw(data)) as it, client(it.url, patience=timedelta(seconds=20)) as project:
        assert (await project.send_message(3, "hi")).message == "hello"
    assert (threads != [threading.get_ident()]) is is_off_loop


@pytest.mark.parametrize(
    "data",
    [
        answer(REPLY, headers=f"x-policy: {'p' * 30_000}\r\n"),
        answer(REPLY, headers="".join(f"x-{number}: y\r\n" for number in range(300))),
        answer(REPLY).replace(b"content-length: 3", b"content-length: 9"),
        answer(REPLY).replace(b"content-length: ", b"x-length: "),
        answer(REPLY).replace(b"content-length: ", b"content-length: -"),
        chunked(json.dumps(REPLY).encode(), end=b""),
        answer(gzip.compress(json.dumps(REPLY).encode(), mtime=0), headers="content-encoding: x-gzip\r\n"),
        answer(REPLY, status="201 Created"),
        answer(REPLY, status="202 Accepted"),
        answer(REPLY, status="200 \xff"),
        answer(REPLY, headers="x-name: \xe9\r\n"),
    ],
)
async def test_a_whole_answer_counts_however_it_was_transferred(data: bytes) -> None:
    async with service(raw(data)) as it, client(it.url) as project:
        reply = await project.send_message(3, "hi")
    assert (reply.sessionId, reply.message) == (42, "hello")
    assert len(it.requests) == 1


LENGTH = f"content-length: {len(json.dumps(REPLY))}\r\n"
CHUNKED = chunked(json.dumps(REPLY).encode())
LATE_408 = b"HTTP/1.0 408 Request Timeout\r\nconnection: close\r\n\r\n<html>"

ODDLY_FRAMED = [
    CHUNKED.replace(b"\r\n", f"\r\n{LENGTH}".encode(), 1),
    CHUNKED.replace(b"\r\n", b"\r\ncontent-length: 3\r\n", 1),
    answer(REPLY, headers="transfer-encoding: chunked\r\n"),
    answer(REPLY, headers="transfer-encoding: identity\r\n"),
    answer(REPLY, headers=LENGTH),
    answer(REPLY, headers="content-length: 5\r\n"),
    answer(REPLY).replace(b"content-length: ", LENGTH.strip().encode() + b", "),
    answer(REPLY).replace(b"content-length: ", b"content-length: 5, "),
    answer(REPLY) + b"\r\n\r\n<!-- 3 ms -->",
    answer(REPLY, headers="connection: close\r\n") + b"\r\n",
    CHUNKED + b"junk",
    CHUNKED.replace(b"\r\n", b"\n"),
    CHUNKED.replace(b"}\r\n", b"}\n"),
    CHUNKED.replace(b"}\r\n", b"}"),
    CHUNKED.replace(b"\r\n{", b' ; x="\r\n{'),
    CHUNKED.replace(b"\r\n\r\n", b"\r\n\r\n0x", 1),
    CHUNKED.removesuffix(b"\r\n") + b"trailer\r\n\r\n",
    answer(REPLY, headers="no colon\r\n"),
    answer(REPLY, headers=": no name\r\n"),
    answer(REPLY, headers="a name: x\r\n"),
    answer(REPLY, headers="x: \x00\r\n"),
    answer(REPLY, headers=f"x: {'y' * 100_000}\r\n"),
    answer(REPLY).replace(b"content-type", b" folded\r\ncontent-type"),
    answer(REPLY).replace(b"HTTP/1.1 ", b"http/2  "),
    b"HTTP/1.1 103 Early Hints\r\nno colon\r\n\r\n" + answer(REPLY),
    answer(REPLY) + LATE_408,
    answer(REPLY, headers="connection: close\r\n") + LATE_408,
    CHUNKED + LATE_408,
]
"""Whole answers that parsers refuse."""


@pytest.mark.parametrize("is_kept_alive", [False, True])
@pytest.mark.parametrize("data", ODDLY_FRAMED, ids=range(len(ODDLY_FRAMED)))
async def test_a_whole_answer_counts_however_it_is_framed(data: bytes, *, is_kept_alive: bool) -> None:
    async with service(raw(data, close=not is_kept_alive)) as it, client(it.url) as project:
        reply = await project.send_message(3, "hi")
        assert (reply.sessionId, reply.message) == (42, "hello")
        reply = await project.send_message(3, "hi")
    assert (reply.sessionId, reply.message) == (42, "hello")
    assert len(it.requests) == 2


@pytest.mark.parametrize("data", ODDLY_FRAMED, ids=range(len(ODDLY_FRAMED)))
def test_framing_is_the_same_wherever_packets_begin(data: bytes) -> None:
    framing = Framing()
    size = 1 + len(data) // 1000
    framed = b"".join(framing.feed(data[at : at + size]) for at in range(0, len(data), size))
    connection: Any = SimpleNamespace(makefile=lambda _mode: BytesIO(framed))
    with http.client.HTTPResponse(connection) as response:
        response.begin()
        assert json.loads(response.read()) == REPLY


@pytest.mark.parametrize("odd", [b"\r\n\r\n<!-- 3 ms -->", LATE_408])
@pytest.mark.parametrize("is_late", [False, True])
async def test_a_connection_with_bytes_after_an_answer_is_not_used_again(odd: bytes, *, is_late: bool) -> None:
    async def behave(writer: asyncio.StreamWriter, _number: int) -> None:
        writer.write(answer([AGENT]))
        if is_late:
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(odd)
        await writer.drain()

    async with service(behave) as it, client(it.url) as project:
        for _ in range(3):
            assert [agent.name for agent in await project.get_agents()] == ["Support"]
            await wait_until(lambda: it.open_connections == 0)
    assert len(it.requests) == it.connections == 3


@pytest.mark.parametrize(
    "data",
    [
        CHUNKED[:-15],
        CHUNKED.replace(b"\r\n{", b"\r\n{\r\nzz\r\n"),
        answer(REPLY, headers=LENGTH)[:-3],
        answer(REPLY, headers="no colon\r\n")[:-3],
        CHUNKED.replace(b"\r\n", b"\n")[:-12],
    ],
    ids=range(5),
)
async def test_an_answer_that_is_not_whole_stays_unknown(data: bytes) -> None:
    async with service(raw(data)) as it, client(it.url) as project:
        with pytest.raises((ConnectionLost, NotUnderstood)) as caught:
            await project.send_message(3, "hi")
    assert caught.value.may_have_happened
    assert len(it.requests) == 1


async def test_an_error_whose_body_breaks_off_is_still_that_error() -> None:
    broken = answer({"error": "no such agent"}, "404 Not Found")[:-5]
    async with service(raw(broken)) as it, client(it.url) as project:
        with pytest.raises(NotFound) as caught:
            await project.send_message(3, "hi")
    assert not caught.value.may_have_happened


# Connections and the key


async def test_reads_share_a_kept_alive_connection_and_changes_do_not() -> None:
    async def behave(writer: asyncio.StreamWriter, number: int) -> None:
        body = [AGENT] if b"GET " in it.requests[number - 1] else REPLY
        await raw(answer(body), close=False)(writer, number)

    async with service(behave) as it, client(it.url) as project:
        for _ in range(3):
            await project.get_agents()
        assert it.connections == 1
        for _ in range(3):
            await project.send_message(3, "hi", session_id=42)
        assert it.connections == 4
        await wait_until(lambda: it.open_connections == 1)


async def test_hundreds_of_calls_are_in_flight_at_once() -> None:
    all_arrived = asyncio.Event()

    async def answer_when_all_are_here(writer: asyncio.StreamWriter, number: int) -> None:
        if number == 300:
            all_arrived.set()
        await all_arrived.wait()
        await raw(answer(REPLY))(writer, number)

    async with (
        service(answer_when_all_are_here) as it,
        client(it.url, connect=20, patience=timedelta(seconds=20)) as project,
    ):
        answers = await asyncio.gather(*(project.send_message(3, "hi") for _ in range(300)))
    assert len(answers) == 300


async def test_a_cancelled_call_closes_its_connection() -> None:
    async with service(raw(b"", close=False)) as it, client(it.url, patience=timedelta(seconds=20)) as project:
        task = asyncio.create_task(project.send_message(3, "hi"))
        await wait_until(lambda: len(it.requests) == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await wait_until(lambda: it.open_connections == 0)


async def test_a_revoked_key_is_reported_and_the_client_still_works() -> None:
    async def withdraw_for_a_moment(writer: asyncio.StreamWriter, number: int) -> None:
        is_refused = number in {2, 3, 4, 5}  # the agents, and what tells a rejected key from one refused list
        data = answer({"error": f"bad key {KEY}"}, "401 Unauthorized") if is_refused else answer([AGENT])
        await raw(data, close=False)(writer, number)

    async with service(withdraw_for_a_moment) as it, client(it.url) as project:
        await project.get_agents()
        with pytest.raises(NotSignedIn) as caught:
            await project.get_agents()
        await project.wait_until_up()
        await project.get_agents()
    assert caught.value.message == "bad key ***"


async def test_a_redirect_is_refused_and_the_key_stays_with_its_host() -> None:
    async with service(raw(answer([AGENT]))) as other:
        moved = answer({}, "307 Temporary Redirect", f"location: {other.url}/api/sdk/agents\r\n")
        async with service(raw(moved)) as it, client(it.url) as project:
            with pytest.raises(ServiceRefused) as caught:
                await project.get_agents()
    assert caught.value.status == 307
    assert other.requests == []


async def test_the_environments_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with service(raw(answer([AGENT]))) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "elsewhere.invalid")
        async with client("http://project.invalid") as project:
            await project.get_agents()
    assert proxy.requests[0].startswith(b"GET http://project.invalid/api/sdk/agents HTTP/1.1")


async def test_unusable_proxy_settings_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "fd00::/8,[")
    async with service(raw(answer([AGENT]))) as it, client(it.url) as project:
        await project.get_agents()
    assert len(it.requests) == 1


async def test_cookies_are_not_sent_back() -> None:
    data = answer([AGENT], headers="set-cookie: a=b; Path=/\r\n")
    async with service(raw(data, close=False)) as it, client(it.url) as project:
        await project.get_agents()
        await project.get_agents()
    assert b"cookie" not in it.requests[1].lower()


@pytest.mark.parametrize("data", [b"SSH-2.0\r\n\r\n", b"", answer({}, "401 Unauthorized"), answer(b"[")])
async def test_the_key_is_in_no_error_and_no_cause(data: bytes) -> None:
    async with service(raw(data)) as it, client(it.url) as project:
        with pytest.raises(BridgeError) as caught:
            await project.send_message(3, "hi")
        assert KEY not in repr(project)
    assert f"Bearer {KEY}".encode() in it.requests[0]
    link: BaseException | None = caught.value
    while link is not None:
        assert KEY not in f"{link!r} {link} {vars(link)}"
        link = link.__cause__ or link.__context__
