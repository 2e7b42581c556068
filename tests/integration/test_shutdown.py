"""SIGTERM: turns in flight finish, queued messages stay queued, and the next process handles them."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Iterator

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, GENERAL
from bridge.playground.sample_project.answers import Hang, Proper
from support.waiting import wait_until
from support.world import BridgeProcess, World

CHAT = "/api/sdk/agents/1/chat"


@pytest.fixture
def folder() -> Iterator[str]:
    """A folder for an embedded server's data."""
    with tempfile.TemporaryDirectory(prefix="br-") as path:
        yield path


async def ended(bridge: BridgeProcess) -> tuple[int, float]:
    """The exit code, and how many seconds shutdown took."""
    began = time.monotonic()
    return await bridge.wait(), time.monotonic() - began


async def test_draining_finishes_running_turns_and_queues_new_events(world: World) -> None:
    first = await world.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_DRAIN_SECONDS="10")
    world.project.on("POST", CHAT, Proper(delay=2.0))
    root = await world.mention(ALICE, GENERAL, "my name is Alice")
    await wait_until(world.chats, "the agent is asked")

    first.send_signal(signal.SIGTERM)

    async def has_heard() -> bool:
        return bool((await first.state())[1].get("draining"))

    await wait_until(has_heard, "the bridge received the signal")
    await world.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root)
    other = await world.mention(BOB, GENERAL, "and I am Bob")
    status, _ = await first.state()
    code, took = await ended(first)

    assert {one.status for one in world.slack.deliveries} == {200}
    assert status == 503
    assert (code, took < 5) == (0, True)
    assert len(world.answers(GENERAL, root)) == 1
    assert world.answers(GENERAL, other) == []
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    said = await world.answered(GENERAL, root, 2, timeout=5)
    await world.answered(GENERAL, other, timeout=5)
    assert "Alice" in said[1]
    assert sorted(world.chats()) == ["and I am Bob", "my name is Alice", "what is my name?"]


async def test_an_agent_that_hangs_does_not_keep_it_longer_than_it_may_take(world: World) -> None:
    bridge = await world.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_DRAIN_SECONDS="1")
    world.project.on("POST", CHAT, Hang())
    await world.mention(ALICE, GENERAL, "hello there")
    await wait_until(world.chats, "the agent is asked")

    bridge.send_signal(signal.SIGTERM)
    code, took = await ended(bridge)

    assert code == 0
    assert took < 4


async def test_draining_does_not_wait_for_a_service_that_is_down(
    world: World,
) -> None:
    first = await world.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_DRAIN_SECONDS="10")
    await world.project.stop()
    root = await world.mention(ALICE, GENERAL, "hello there")
    await world.answered(GENERAL, root)

    first.send_signal(signal.SIGTERM)
    code, took = await ended(first)
    await world.project.start()
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    await world.answered(GENERAL, root, 2, timeout=5)

    assert (code, took < 3) == (0, True)
    assert world.chats() == ["hello there"]
    assert len(world.answers(GENERAL, root)) == 2


async def test_a_conversation_outlives_kills_and_restarts_with_the_embedded_server(world: World, folder: str) -> None:
    environ = {"BRIDGE_DEFAULT_AGENT": "1", "REDIS_URL": "", "BRIDGE_DATA_DIR": folder}
    first = await world.start_bridge("--embedded-redis", **environ)
    root = await world.mention(ALICE, GENERAL, "my name is Alice")
    await world.answered(GENERAL, root)

    await first.kill()
    second = await world.start_bridge("--embedded-redis", **environ)
    said = await world.replied(ALICE, GENERAL, root, "what is my name?")
    second.send_signal(signal.SIGTERM)
    assert await second.wait() == 0
    third = await world.start_bridge("--embedded-redis", **environ)
    said = await world.replied(ALICE, GENERAL, root, "who am I?")
    await third.end()

    assert ["Alice" in words for words in said] == [True, True, True]
    assert len({body["sessionId"] for body in world.bodies()[1:]}) == 1
    assert b"one machine only" in first.log
    assert await world.keys() == []
