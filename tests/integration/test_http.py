"""The whole product over HTTP; malformed requests are in ``unit/test_guard``."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import AsyncIterator

import httpx
import pytest

from bridge.playground.emulator.sample import ALICE, GENERAL
from support.system import SIGNING_SECRET, System, shared_system

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVENT = json.dumps({"type": "event_callback", "event": {"type": "message"}, "event_id": "Ev1"}).encode()


opened, system = shared_system(BRIDGE_DEFAULT_AGENT="1")


def signed(body: bytes, secret: str = SIGNING_SECRET) -> dict[str, str]:
    now = int(time.time())
    signature = hmac.new(secret.encode(), b"v0:%d:%b" % (now, body), hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(now), "X-Slack-Signature": f"v0={signature}"}


async def endless() -> AsyncIterator[bytes]:
    for _ in range(65):
        yield b"x" * 65536


async def test_signed_requests_are_accepted_and_others_refused_with_reasons(system: System) -> None:
    async with httpx.AsyncClient(base_url=system.bridges[0].url) as client:
        answers = [
            await client.post("/slack/events", content=body, headers=headers)
            for body, headers in (
                (EVENT, signed(EVENT)),
                (EVENT, signed(EVENT, "another secret")),
                (b"[", signed(b"[")),
                (endless(), {}),
            )
        ]

    assert [answer.status_code for answer in answers] == [200, 401, 400, 413]
    assert (await system.slack.people.verify_url()).status == 200


async def test_health_readiness_and_metrics_have_pages(system: System) -> None:
    root = await system.mention(ALICE, GENERAL, "hello there")
    await system.answered(GENERAL, root)
    async with httpx.AsyncClient(base_url=system.bridges[0].url) as client:
        health, ready, metrics = [await client.get(path) for path in ("/healthz", "/readyz", "/metrics")]
        nowhere, wrong = await client.get("/"), await client.get("/slack/events")

    assert health.status_code == 200
    assert ready.json() == {"ready": True, "slack": "up", "redis": "up", "project": "up", "draining": False}
    assert re.search(r'bridge_events_total{kind="(app_mention|message)",outcome="queued"}', metrics.text)
    assert "bridge_turn_seconds" in metrics.text
    assert (nowhere.status_code, wrong.status_code) == (404, 405)
