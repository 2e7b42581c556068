"""Fixtures with the emulated Slack on a real socket, and the bridge's client for it; each conftest.py imports them.

Use `answers` for responses that no documentation mentions, which the emulated Slack never sends.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bridge.metrics import Metrics
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.faults import Fault, Http
from bridge.slack.api import SlackWeb, opened
from support.secrecy import APP_TOKEN, BOT_TOKEN, SIGNING_SECRET

Json = dict[str, Any]
Answer = Json | Fault


@pytest.fixture
async def emulated() -> AsyncIterator[EmulatedSlack]:
    """The playground's Slack, with its sample workspace."""
    async with EmulatedSlack(
        signing_secret=SIGNING_SECRET, bot_token=BOT_TOKEN, app_token=APP_TOKEN, retry_delays=()
    ) as slack:
        yield slack


@pytest.fixture
async def slack_web(emulated: EmulatedSlack) -> AsyncIterator[SlackWeb]:
    async with opened(emulated.api_url, BOT_TOKEN, Metrics()) as client:
        yield client


async def at_once(_: float) -> None:
    """Replace sleeping with just enough of a pause for other tasks to run."""
    await asyncio.sleep(0)


def refused(error: str, **more: Any) -> Json:
    return {"ok": False, "error": error, **more}


def answers(slack: EmulatedSlack, method: str, *given: Answer) -> None:
    """Queue responses for the next calls of *method*; the last one repeats.

    Replaces any earlier ones.
    """
    slack.faults.clear(method)
    for number, one in enumerate(given, start=1):
        fault = Http(200, json.dumps(one)) if isinstance(one, dict) else one
        slack.faults.on(method, fault, times=None if number == len(given) else 1)


def limited(seconds: int | str) -> Http:
    return Http(429, '{"ok": false, "error": "ratelimited"}', {"Retry-After": str(seconds)})


def methods(slack: EmulatedSlack) -> list[str]:
    """The methods called, in order."""
    return [call.method for call in slack.calls]


def asked(slack: EmulatedSlack, method: str) -> list[Json]:
    """The arguments of each call of *method*."""
    return [call.args for call in slack.calls_of(method)]
