"""The door of the whole product, over HTTP. What it says to what is odd is in ``unit/test_guard``."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import AsyncIterator, Mapping

import httpx
import pytest

from bridge.playground.emulator.sample import ALICE, GENERAL
from support.world import SIGNING_SECRET, World, shared_world

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVENT = json.dumps({"type": "event_callback", "event": {"type": "message"}, "event_id": "Ev1"}).encode()
LARGEST = 4 * 1024 * 1024


opened, world = shared_world(BRIDGE_DEFAULT_AGENT="1")


def signed(body: bytes, *, age: float = 0, secret: str = SIGNING_SECRET) -> dict[str, str]:
    now = int(time.time() - age)
    signature = hmac.new(secret.encode(), b"v0:%d:%b" % (now, body), hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(now), "X-Slack-Signature": f"v0={signature}"}


async def posted(world: World, body: bytes, headers: Mapping[str, str] | list[tuple[str, str]]) -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.post(f"{world.bridges[0].url}/slack/events", content=body, headers=headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        signed(EVENT, secret="another secret"),
        [*signed(EVENT).items(), *signed(EVENT).items()],
        [*signed(EVENT).items(), ("X-Slack-Signature", "v0=00")],
    ],
)
async def test_a_bad_signature_gets_401(world: World, headers: dict[str, str] | list[tuple[str, str]]) -> None:
    assert (await posted(world, EVENT, headers)).status_code == 401


async def test_a_good_signature_gets_in(world: World) -> None:
    assert (await posted(world, EVENT, signed(EVENT))).status_code == 200
    assert (await posted(world, EVENT, signed(EVENT, age=200))).status_code == 200
    assert (await world.slack.people.verify_url()).status == 200


@pytest.mark.parametrize("body", [b"", b"[" * 200_000, b"hello=world"], ids=["empty", "deep", "form"])
async def test_a_malformed_body_gets_400(world: World, body: bytes) -> None:
    assert (await posted(world, body, signed(body))).status_code == 400


async def test_a_body_over_four_mebibytes_gets_413(world: World) -> None:
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


async def test_health_readiness_and_metrics_have_pages(world: World) -> None:
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
