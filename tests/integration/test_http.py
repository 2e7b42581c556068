"""The door: what is signed gets in, nothing else does any harm, and nothing is ever answered with 500."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import AsyncIterator, Mapping
from urllib.parse import urlencode

import httpx
import pytest
import pytest_asyncio

from bridge.playground.emulator.sample import ALICE, GENERAL, TEAM
from support.real_redis import RealRedis
from support.world import SIGNING_SECRET, World, a_shared_world

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVENT = json.dumps({"type": "event_callback", "event": {"type": "message"}, "event_id": "Ev1"}).encode()
LARGEST = 4 * 1024 * 1024


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(redis_server: RealRedis) -> AsyncIterator[World]:
    async with a_shared_world(redis_server.url, BRIDGE_DEFAULT_AGENT="1") as world:
        yield world


@pytest.fixture
def world(opened: World) -> World:
    opened.look_from_here()
    return opened


def signed(body: bytes, *, age: float = 0, secret: str = SIGNING_SECRET) -> dict[str, str]:
    now = int(time.time() - age)
    signature = hmac.new(secret.encode(), b"v0:%d:%b" % (now, body), hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(now), "X-Slack-Signature": f"v0={signature}"}


async def posted(world: World, body: bytes, headers: Mapping[str, str] | list[tuple[str, str]]) -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.post(f"{world.bridges[0].url}/slack/events", content=body, headers=headers)


def clicked(**payload: object) -> dict[str, str]:
    return {"payload": json.dumps(payload)}


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in signed(EVENT).items() if key != name}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        without("X-Slack-Signature"),
        without("X-Slack-Request-Timestamp"),
        signed(EVENT, secret="another secret"),
        signed(EVENT + b" "),
        signed(EVENT, age=301),
        signed(EVENT, age=-4000),
        signed(EVENT) | {"X-Slack-Request-Timestamp": "yesterday"},
        signed(EVENT) | {"X-Slack-Request-Timestamp": "-1"},
        signed(EVENT) | {"X-Slack-Signature": "v0="},
        [*signed(EVENT).items(), *signed(EVENT).items()],
        [*signed(EVENT).items(), ("X-Slack-Signature", "v0=00")],
    ],
)
async def test_what_is_not_signed_properly_is_turned_away(
    world: World, headers: dict[str, str] | list[tuple[str, str]]
) -> None:
    answer = await posted(world, EVENT, headers)

    assert answer.status_code == 401


async def test_what_is_signed_properly_gets_in(world: World) -> None:
    assert (await posted(world, EVENT, signed(EVENT))).status_code == 200
    assert (await posted(world, EVENT, signed(EVENT, age=200))).status_code == 200
    assert (await world.slack.people.verify_url()).status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"type": "event_callback"}',
        b'{"type": "event_callback", "event": []}',
        b'{"type": ["event_callback"], "event": {"type": {}}}',
        b"\xff\xfe",
        b"[" * 200_000,
        b'{"a":' + b"9" * 10_000 + b"}",
        b"payload=%7B",
        b"payload=[]",
        b"hello=world",
    ],
)
async def test_what_is_signed_and_malformed_is_turned_away(world: World, body: bytes) -> None:
    answer = await posted(world, body, signed(body))

    assert answer.status_code == 400


@pytest.mark.parametrize(
    "form",
    [
        {"command": "/workflows"},
        {"command": "/workflows", "text": "\x00" * 10, "user_id": "", "channel_id": ""},
        {"command": "/nothing", "text": "payload=1", "user_id": ALICE, "channel_id": GENERAL, "team_id": TEAM},
        clicked(type="block_actions", actions=[{"type": "button", "action_id": "old", "block_id": "b"}], message=7),
        clicked(type="view_submission", view={"type": "modal", "state": {"values": []}}),
        clicked(type="view_submission", view={"type": "modal", "callback_id": "run", "state": {"values": {"a": 1}}}),
        clicked(type="block_suggestion", action_id="workflow", value=7),
        clicked(type="something new"),
        clicked(type=7),
    ],
)
async def test_odd_commands_and_clicks_are_never_answered_with_an_error_of_the_server(
    world: World, form: dict[str, str]
) -> None:
    body = urlencode(form).encode()

    answer = await posted(world, body, signed(body) | {"Content-Type": "application/x-www-form-urlencoded"})

    assert answer.status_code < 500
    assert "broke inside" not in world.bridges[0].log.decode()


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message", "text": 7, "user": "U1", "channel": {}, "ts": None},
        {"type": "message", "text": "hi", "user": ALICE, "channel": GENERAL, "ts": "not a ts", "thread_ts": "neither"},
        {"type": "message", "subtype": {"a": 1}, "user": ALICE},
        {"type": "message", "subtype": "message_changed", "message": {"ts": 7}, "channel": GENERAL},
        {"type": "message", "subtype": "message_deleted", "deleted_ts": 7, "channel": None},
        {"type": "app_mention"},
        {"type": "something_new", "user": ALICE},
        {"type": "message", "text": "hi", "user": ["U1"], "channel": GENERAL},
        {"type": "message", "subtype": "message_changed", "message": 7, "channel": GENERAL},
    ],
)
async def test_odd_events_are_taken_and_left(world: World, event: dict[str, object]) -> None:
    body = json.dumps({"type": "event_callback", "event": event, "event_id": "Ev2"}).encode()

    answer = await posted(world, body, signed(body) | {"Content-Type": "application/json"})

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message", "text": "hi", "user": 7, "channel": GENERAL},
        {"type": "message", "text": "hi", "user": "U1", "channel": True},
    ],
)
async def test_an_event_that_bolt_would_break_over_is_a_bad_request(world: World, event: dict[str, object]) -> None:
    body = json.dumps({"type": "event_callback", "event": event, "event_id": "Ev3"}).encode()

    answer = await posted(world, body, signed(body) | {"Content-Type": "application/json"})

    assert answer.status_code == 400


async def test_a_body_over_four_mebibytes_is_refused_unread(world: World) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(65):
            yield b"x" * 65536

    async with httpx.AsyncClient() as client:
        url = f"{world.bridges[0].url}/slack/events"
        declared = await client.post(url, content=b"x" * (LARGEST + 1))
        chunked = await client.post(url, content=endless())
    largest = b'{"type": "url_verification", "challenge": "yes"' + b" " * (LARGEST - 48) + b"}"
    taken = await posted(world, largest, signed(largest))

    assert (declared.status_code, chunked.status_code) == (413, 413)
    assert (len(largest), taken.status_code, taken.text) == (LARGEST, 200, "yes")


async def test_the_pages_for_machines_say_how_it_is(world: World) -> None:
    root = await world.mention(ALICE, GENERAL, "hello there")
    await world.answered(GENERAL, root)
    async with httpx.AsyncClient(base_url=world.bridges[0].url) as client:
        health, ready, metrics = [await client.get(path) for path in ("/healthz", "/readyz", "/metrics")]
        nowhere, wrong = await client.get("/"), await client.get("/slack/events")

    assert health.status_code == 200
    assert ready.json() == {"ready": True, "slack": "up", "redis": "up", "project": "up", "draining": False}
    assert re.search(r'bridge_events_total{kind="(app_mention|message)",outcome="queued"}', metrics.text)
    assert "bridge_turn_seconds" in metrics.text
    assert (nowhere.status_code, wrong.status_code) == (404, 405)
