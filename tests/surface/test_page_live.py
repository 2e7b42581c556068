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
    """The version in the next event, which has nothing else."""
    async with asyncio.timeout(30):
        async for line in lines:
            if line.startswith("data:"):
                (version,) = json.loads(line.removeprefix("data:")).items()
                assert version[0] == "version"
                return int(version[1])
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
