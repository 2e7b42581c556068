"""The browser is notified of changes; the event itself doesn't contain them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import httpx

from bridge.playground.emulator import EmulatedSlack, sample
from bridge.playground.emulator.entities import Message
from support.page_client import FakeSupervisor, Window


async def heard(lines: AsyncIterator[str]) -> int:
    """The version in the next event."""
    async with asyncio.timeout(30):
        async for line in lines:
            if line.startswith("data:"):
                return int(json.loads(line.removeprefix("data:"))["version"])
    raise AssertionError("the stream has ended")


async def test_a_browser_gets_its_persons_changes(
    alice: Window, http: httpx.AsyncClient, slack: EmulatedSlack, supervisor: FakeSupervisor
) -> None:
    async with http.stream("GET", "/page/stream") as answer:
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

    assert second >= first + 22, "simultaneous changes make one event"
    assert third == second, "a change outside the workspace doesn't change its version but is announced"
    assert not supervisor.redis_is_up


async def test_an_update_has_a_count_and_no_message_text(http: httpx.AsyncClient, slack: EmulatedSlack) -> None:
    async with http.stream("GET", "/page/stream") as answer:
        lines = answer.aiter_lines()
        await heard(lines)
        slack.workspace.messages.post(sample.CAROL, sample.HIDDEN, "unheard")
        async with asyncio.timeout(30):
            news = [line async for line in _until_data(lines)]

    assert [line.partition(":")[0] for line in news if line] == ["event", "data"]
    assert json.loads(news[-1].removeprefix("data:")).keys() == {"version"}


async def _until_data(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    async for line in lines:
        yield line
        if line.startswith("data:"):
            return
