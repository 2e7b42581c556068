"""The emulated Slack's WebSockets, frame by frame: tickets, pings, silence, limits."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import ClientWebSocketResponse, WSMsgType, WSServerHandshakeError
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack, sample
from support.ports import free_port
from support.slack_app import SECRET, TOKEN, refusal
from support.socket_app import APP_TOKEN, connected, envelopes
from support.waiting import wait_until

SOON = 5.0
SILENCE = 0.4  # several ping intervals (see below)


@pytest.fixture
async def slack() -> AsyncIterator[EmulatedSlack]:
    async with EmulatedSlack(
        signing_secret=SECRET,
        bot_token=TOKEN,
        app_token=APP_TOKEN,
        retry_delays=(0.0,),
        ack_seconds=0.3,
        ping_seconds=0.1,
    ) as slack:
        slack.use_sockets = True
        yield slack


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as http:
        yield http


async def a_url(api_url: str) -> str:
    return str((await AsyncWebClient(base_url=api_url).apps_connections_open(app_token=APP_TOKEN))["url"])


async def a_socket(slack: EmulatedSlack, http: aiohttp.ClientSession) -> ClientWebSocketResponse:
    """A connection that has received hello and doesn't answer pings."""
    before = len(slack.sockets)
    socket = await http.ws_connect(await a_url(slack.api_url), autoping=False)
    assert (await the_next(socket))["type"] == "hello"
    await wait_until(lambda: len(slack.sockets) > before, "the connection is counted")
    return socket


async def the_next(socket: ClientWebSocketResponse) -> dict[str, Any]:
    """The next message other than a ping."""
    async with asyncio.timeout(SOON):
        while (message := await socket.receive()).type is WSMsgType.PING:
            pass
    assert message.type is WSMsgType.TEXT
    return dict(json.loads(message.data))


async def ended(socket: ClientWebSocketResponse) -> bool:
    async with asyncio.timeout(SOON):
        while (message := await socket.receive()).type is WSMsgType.PING:
            pass
    return message.type in {WSMsgType.CLOSE, WSMsgType.CLOSED, WSMsgType.CLOSING}


async def test_a_socket_url_works_once(slack: EmulatedSlack, http: aiohttp.ClientSession) -> None:
    url = await a_url(slack.api_url)
    connection = await http.ws_connect(url)

    with pytest.raises(WSServerHandshakeError):
        await http.ws_connect(url)
    with pytest.raises(WSServerHandshakeError):
        await http.ws_connect(url.partition("?")[0])
    assert not connection.closed


async def test_slack_sends_and_answers_pings(slack: EmulatedSlack, http: aiohttp.ClientSession) -> None:
    socket = await a_socket(slack, http)
    await socket.ping(b"are you there")

    heard = [await socket.receive(timeout=SOON) for _ in range(2)]

    assert {one.type for one in heard} == {WSMsgType.PING, WSMsgType.PONG}


async def test_a_muted_connection_stays_open_and_silent(slack: EmulatedSlack, http: aiohttp.ClientSession) -> None:
    socket = await a_socket(slack, http)
    slack.socket_mode.mute()
    await socket.ping(b"are you there")

    command = await slack.ui.command(sample.ALICE, sample.GENERAL, "/stats")
    with pytest.raises(TimeoutError):
        await socket.receive(timeout=SILENCE)

    assert command.error == "timeout"
    assert [(one.is_open, one.is_muted) for one in slack.sockets] == [(True, True)]
    slack.socket_mode.cut()
    assert await ended(socket)


async def test_an_event_lost_on_a_muted_connection_arrives_on_a_later_one(
    slack: EmulatedSlack, http: aiohttp.ClientSession
) -> None:
    silent = await a_socket(slack, http)
    slack.socket_mode.mute()
    async with connected(slack) as (app,):
        for number in range(2):
            await slack.people.say(sample.ALICE, sample.GENERAL, str(number))
        await slack.settled()

        assert sorted(app.texts) == ["0", "1"]
        assert [one.retry_attempt for one in app.envelopes] == [1, 1]  # the silent connection came first each time
        assert envelopes(slack.sockets[0]) == []
        slack.sockets[0].cut()
        assert await ended(silent)


async def test_an_app_that_closes_a_muted_connection_is_noticed(
    slack: EmulatedSlack, http: aiohttp.ClientSession
) -> None:
    socket = await a_socket(slack, http)
    slack.socket_mode.mute()
    leaving = asyncio.create_task(socket.close())  # it sends a close frame and waits a long time for the answer

    await http.close()

    await wait_until(lambda: not slack.sockets, "the connection is closed")
    await leaving


async def test_an_eleventh_connection_is_closed_with_a_reason(
    slack: EmulatedSlack, http: aiohttp.ClientSession
) -> None:
    connection = [await a_socket(slack, http) for _ in range(10)]

    eleventh = await http.ws_connect(await a_url(slack.api_url))

    said = await the_next(eleventh)
    assert (said["type"], said["reason"]) == ("disconnect", "too_many_websockets")
    assert await ended(eleventh)
    assert len(slack.sockets) == 10
    await connection[0].close()
    await wait_until(lambda: len(slack.sockets) == 9, "a connection is free again")
    await a_socket(slack, http)


async def test_an_ack_counts_only_on_its_envelopes_connection(
    slack: EmulatedSlack, http: aiohttp.ClientSession
) -> None:
    first, second = [await a_socket(slack, http) for _ in range(2)]
    await slack.people.say(sample.ALICE, sample.GENERAL, "hello", wait=False)
    envelope = await the_next(first)

    await second.send_json({"envelope_id": envelope["envelope_id"]})
    again = await the_next(second)
    await second.send_json({"envelope_id": again["envelope_id"]})
    await slack.settled()

    assert [one.error for one in slack.deliveries] == ["timeout", ""]
    assert again["payload"] == envelope["payload"]
    assert [ack["envelope_id"] for ack in slack.sockets[1].acked] == [envelope["envelope_id"], again["envelope_id"]]


async def test_malformed_frames_from_the_app_are_ignored(slack: EmulatedSlack, http: aiohttp.ClientSession) -> None:
    socket = await a_socket(slack, http)
    for nonsense in ("", "no JSON", "[]", "{}"):
        await socket.send_str(nonsense)
    await socket.send_bytes(b"\x00")
    await socket.send_json({"envelope_id": ["not", "an", "id"]})

    await slack.people.say(sample.ALICE, sample.GENERAL, "hello", wait=False)
    envelope = await the_next(socket)
    await socket.send_json({"envelope_id": envelope["envelope_id"]})
    await slack.settled()

    assert [one.is_acked for one in slack.deliveries] == [True]


async def test_disabling_socket_mode_closes_sockets_and_opens_none(
    slack: EmulatedSlack, http: aiohttp.ClientSession
) -> None:
    socket = await a_socket(slack, http)
    slack.socket_mode.refuse("internal_error")

    await slack.socket_mode.disconnect("link_disabled", closes_after=0)

    assert (await the_next(socket))["reason"] == "link_disabled"
    assert await ended(socket)
    client = AsyncWebClient(base_url=slack.api_url)
    assert (await refusal(client.apps_connections_open(app_token=APP_TOKEN)))["error"] == "internal_error"
    slack.socket_mode.refuse("")
    await a_socket(slack, http)


async def test_a_warned_connection_works_until_it_is_closed(slack: EmulatedSlack, http: aiohttp.ClientSession) -> None:
    socket = await a_socket(slack, http)
    (connection,) = slack.sockets

    await slack.socket_mode.disconnect("warning", closes_after=0.2)
    await slack.people.say(sample.ALICE, sample.GENERAL, "hello", wait=False)

    assert (await the_next(socket))["reason"] == "warning"
    await socket.send_json({"envelope_id": (await the_next(socket))["envelope_id"]})
    await slack.settled()
    assert [one.is_acked for one in slack.deliveries] == [True]
    assert len(envelopes(connection)) == 1
    assert await ended(socket)


@pytest.mark.parametrize("module", ["emulator", "sample_project"])
async def test_an_unusable_port_is_a_one_line_error(module: str) -> None:
    async with EmulatedSlack(signing_secret=SECRET, bot_token=TOKEN) as slack:
        port = str(urlsplit(slack.api_url).port)
        said = [await asyncio.to_thread(_error_of, module, typed) for typed in (port, "x")]

    assert said == [
        f"argument --port: {port} can't be used (Address already in use): choose another, such as 0",
        "argument --port: “x” isn't a port: use a number from 0 to 65535, such as 8090",
    ]


def _error_of(module: str, port: str) -> str:
    command = [sys.executable, "-m", f"bridge.playground.{module}", "--port", port]
    output = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, timeout=30).stderr  # noqa: S603
    return output.strip().splitlines()[-1].partition(" error: ")[2]


async def test_with_an_app_token_the_emulator_uses_sockets(http: aiohttp.ClientSession) -> None:
    port = free_port()
    command = [sys.executable, "-m", "bridge.playground.emulator", "--port", str(port), "--app-token", APP_TOKEN]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        lines = [(await process.stdout.readline()).decode().strip() for _ in range(3)]
        assert f"SLACK_APP_TOKEN={APP_TOKEN}" in lines
        socket = await http.ws_connect(await a_url(f"http://127.0.0.1:{port}/api/"))
        assert (await the_next(socket))["type"] == "hello"

        process.stdin.write(f"say {sample.ALICE} {sample.GENERAL} hello there\n".encode())

        envelope = await the_next(socket)
        assert envelope["payload"]["event"]["text"] == "hello there"
        await socket.close()
    finally:
        process.terminate()
        await process.communicate()
