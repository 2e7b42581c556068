"""Fixtures: Slack at the wire, and the edge that talks to it. For the folders whose conftest.py imports them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bridge.metrics import Metrics
from bridge.slack.api import SlackWeb, opened
from bridge.slack.post import Say
from support.saying import NO_FILES, US
from support.wire_slack import WireSlack, wire_slack


@pytest.fixture
async def slack() -> AsyncIterator[WireSlack]:
    """A Slack that answers as a test tells it to."""
    async with wire_slack() as slack:
        yield slack


@pytest.fixture
async def web(slack: WireSlack) -> AsyncIterator[SlackWeb]:
    async with opened(slack.api, "xoxb-1", Metrics()) as web:
        yield web


async def _at_once(_: float) -> None:
    await asyncio.sleep(0)


@pytest.fixture
def say(web: SlackWeb) -> Say:
    return Say(web, US, sleep=_at_once)


@pytest.fixture
def say_without_files(web: SlackWeb) -> Say:
    return Say(web, NO_FILES, sleep=_at_once)
