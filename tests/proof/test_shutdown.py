"""SIGTERM: turns in flight finish, queued messages stay queued, and the next process handles them."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Iterator

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, GENERAL
from bridge.playground.sample_project.answers import Hang, Proper
from support.system import BridgeProcess, System
from support.waiting import wait_until

CHAT = "/api/sdk/agents/1/chat"


@pytest.fixture
def folder() -> Iterator[str]:
    """A folder for an embedded server's data."""
    with tempfile.TemporaryDirectory(prefix="br-") as path:
        yield path


async def _is_draining(bridge: BridgeProcess) -> bool:
    return bool((await bridge.state())[1].get("draining"))


async def ended(bridge: BridgeProcess) -> tuple[int, float]:
    """The exit code, and how many seconds shutdown took."""
    began = time.monotonic()
    return await bridge.wait(), time.monotonic() - began


async def test_draining_finishes_running_turns_and_queues_new_events(system: System) -> None:
    first = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_DRAIN_SECONDS="60")
    system.project.on("POST", CHAT, Proper(delay=2.0))
    root = await system.mention(ALICE, GENERAL, "my name is Alice")
    await wait_until(system.chats, "the agent is asked")

    first.send_signal(signal.SIGTERM)
    await wait_until(lambda: _is_draining(first), "the bridge received the signal")
    await system.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root)
    other = await system.mention(BOB, GENERAL, "and I am Bob")
    status, _ = await first.state()
    code, took = await ended(first)

    assert {one.status for one in system.slack.deliveries} == {200}
    assert status == 503
    assert (code, took < 30) == (0, True)
    assert len(system.answers(GENERAL, root)) == 1
    assert system.answers(GENERAL, other) == []
    await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    answers = await system.answered(GENERAL, root, 2)
    await system.answered(GENERAL, other)
    assert "Alice" in answers[1]
    assert sorted(system.chats()) == ["and I am Bob", "my name is Alice", "what is my name?"]


async def test_a_hanging_agent_does_not_extend_the_drain_timeout(system: System) -> None:
    bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_DRAIN_SECONDS="1")
    system.project.on("POST", CHAT, Hang())
    await system.mention(ALICE, GENERAL, "hello there")
    await wait_until(system.chats, "the agent is asked")

    bridge.send_signal(signal.SIGTERM)
    code, took = await ended(bridge)

    assert code == 0
    assert took < 30


async def test_a_second_ctrl_c_ends_it_at_once(system: System) -> None:
    bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_DRAIN_SECONDS="")
    system.project.on("POST", CHAT, Hang())
    await system.mention(ALICE, GENERAL, "hello there")
    await wait_until(system.chats, "the agent is asked")

    bridge.send_signal(signal.SIGINT)
    await wait_until(lambda: _is_draining(bridge), "the bridge received the signal")
    bridge.send_signal(signal.SIGINT)
    code, took = await ended(bridge)

    assert (code, took < 30) == (0, True)  # by default, it would wait for 130 s
    assert b"stopped at once" in bridge.log


async def test_work_that_is_cut_off_names_the_setting(system: System) -> None:
    bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_DRAIN_SECONDS="0")
    system.project.on("POST", CHAT, Hang())
    await system.mention(ALICE, GENERAL, "hello there")
    await wait_until(system.chats, "the agent is asked")

    await bridge.end()

    assert b"BRIDGE_DRAIN_SECONDS" in bridge.log


async def test_draining_does_not_wait_for_a_service_that_is_down(
    system: System,
) -> None:
    first = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_DRAIN_SECONDS="60")
    await system.project.stop()
    root = await system.mention(ALICE, GENERAL, "hello there")
    await system.answered(GENERAL, root)

    first.send_signal(signal.SIGTERM)
    code, took = await ended(first)
    await system.project.start()
    await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    await system.answered(GENERAL, root, 2)

    assert (code, took < 30) == (0, True)
    assert system.chats() == ["hello there"]
    assert len(system.answers(GENERAL, root)) == 2


async def test_a_conversation_survives_kills_and_restarts_with_the_embedded_server(system: System, folder: str) -> None:
    environ = {"BRIDGE_DEFAULT_AGENT": "1", "REDIS_URL": "", "BRIDGE_DATA_DIR": folder}
    first = await system.start_bridge("--embedded-redis", **environ)
    root = await system.mention(ALICE, GENERAL, "my name is Alice")
    await system.answered(GENERAL, root)
    await wait_until(lambda: b"turn done" in first.log, "its lease is released")

    await first.kill()
    second = await system.start_bridge("--embedded-redis", **environ)
    answers = await system.replied(ALICE, GENERAL, root, "what is my name?")
    second.send_signal(signal.SIGTERM)
    assert await second.wait() == 0
    third = await system.start_bridge("--embedded-redis", **environ)
    answers = await system.replied(ALICE, GENERAL, root, "who am I?")
    await third.end()

    assert ["Alice" in words for words in answers] == [True, True, True]
    assert len({body["sessionId"] for body in system.bodies()[1:]}) == 1
    assert b"one machine only" in first.log
    assert await system.keys() == []
