"""A window hears of what changes, if its person may see it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from bridge.playground.emulator import EmulatedSlack, sample
from bridge.playground.emulator.entities import Message
from support.page import Stage, Window


async def heard(lines: AsyncIterator[str]) -> int:
    """The version of the next event."""
    async with asyncio.timeout(5):
        async for line in lines:
            if line.startswith("data:"):
                return int(json.loads(line.removeprefix("data:"))["version"])
    raise AssertionError("the stream has ended")


async def test_a_window_hears_of_what_its_person_may_see_and_of_nothing_else(
    alice: Window, http: httpx.AsyncClient, slack: EmulatedSlack, stage: Stage
) -> None:
    async with http.stream("GET", "/page/stream", params={"as": sample.ALICE}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.aiter_lines()
        first = await heard(lines)

        slack.workspace.messages.post(sample.CAROL, sample.HIDDEN, "unheard")
        secret = Message(sample.GENERAL, slack.workspace.new_ts(), sample.BRIDGE, "psst", sample.TEAM, to=sample.BOB)
        slack.workspace.messages.show_privately(secret)
        for number in range(20):
            slack.workspace.messages.post(sample.BOB, sample.GENERAL, f"m{number}")
        second = await heard(lines)
        await alice.does("fault", name="redis_stopped", is_on=True)
        third = await heard(lines)

    assert second >= first + 22, "those that come together are told as one"
    assert third == second, "what is no part of the workspace is no change of it, and yet is told"
    assert not stage.redis_is_up


async def test_what_one_may_not_see_is_no_news(http: httpx.AsyncClient, slack: EmulatedSlack) -> None:
    async with http.stream("GET", "/page/stream", params={"as": sample.BOB}) as answer:
        lines = answer.aiter_lines()
        first = await heard(lines)
        slack.workspace.messages.post(sample.CAROL, sample.HIDDEN, "unheard")
        secret = Message(sample.GENERAL, slack.workspace.new_ts(), sample.BRIDGE, "psst", sample.TEAM, to=sample.CAROL)
        slack.workspace.messages.show_privately(secret)

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await heard(lines)
    assert first == 0
