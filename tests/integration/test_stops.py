"""Stopping a turn by Slack's own button, a command or a ❌ reaction; and the Messages tab."""

from __future__ import annotations

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, DM_ALICE, GENERAL
from bridge.playground.sample_project.answers import Proper
from bridge.playground.sample_project.conversation import scripted
from bridge.playground.sample_project.sample import SampleAgent
from support.waiting import wait_until
from support.world import World, shared_world

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def begun(world: World) -> None:
    world.project.operations.agents = [
        SampleAgent(1, "Memory", None, "m", scripted("re: {message}"), welcome_message="Hello, I am Memory."),
        SampleAgent(2, "Sloth", None, "m", scripted("re: {message}"), seconds=30),
    ]


opened, world = shared_world(begun, BRIDGE_DEFAULT_AGENT="Memory")


async def begin_slowly(world: World, channel: str, words: str) -> str:
    """Start an agent that runs longer than any test waits, so only a stop ends it."""
    mention = "" if channel.startswith("D") else f"<@{BRIDGE}> "
    root = await world.slack.people.say(ALICE, channel, f"{mention}Sloth: {words}")
    await wait_until(lambda: words in world.chats(), "the agent is asked")
    await wait_until(lambda: shown(world, channel, root) == "processing", "the agent is shown as working")
    return root


def shown(world: World, channel: str, root: str) -> str:
    return world.slack.workspace.session(channel, root).lifecycle


async def ended(world: World, channel: str, root: str) -> str:
    said = await world.answered(channel, root, 1, timeout=4.0)
    await wait_until(lambda: shown(world, channel, root) == "active", "the working status is cleared")
    return said[-1]


async def test_slacks_stop_button_ends_the_call_and_holds_waiting_messages(world: World) -> None:
    root = await begin_slowly(world, DM_ALICE, "stop-native")
    await world.slack.people.say(ALICE, DM_ALICE, "behind-native", thread_ts=root)

    await world.slack.people.press_stop(ALICE, DM_ALICE, root)

    assert "its answer won't be shown" in await ended(world, DM_ALICE, root)
    await world.slack.ui.click(ALICE, DM_ALICE, world.answers(DM_ALICE, root)[0].ts, "held:drop")
    await wait_until(lambda: "1 message discarded" in world.said(DM_ALICE, root)[0], "the message is discarded")
    assert world.chats() == ["stop-native"]


async def test_a_cross_of_the_asker_stops_and_one_of_anybody_else_does_not(world: World) -> None:
    root = await begin_slowly(world, GENERAL, "stop-crossed")

    await world.slack.people.react(BOB, GENERAL, root, "x")
    await world.slack.people.react(ALICE, GENERAL, root, "eyes")
    assert shown(world, GENERAL, root) == "processing"
    await world.slack.people.react(ALICE, GENERAL, root, "x")

    assert "Stopped" in await ended(world, GENERAL, root)


async def test_a_written_stop_that_comes_as_two_events_stops_once(world: World) -> None:
    root = await begin_slowly(world, GENERAL, "stop-written")

    ts = await world.mention(ALICE, GENERAL, "!stop", thread_ts=root)

    assert "Stopped" in await ended(world, GENERAL, root)
    await wait_until(world.is_at_rest, "nothing is queued")
    events = [one.payload["event"] for one in world.slack.deliveries if one.kind == "event"]
    assert sorted(one["type"] for one in events if one.get("ts") == ts) == ["app_mention", "message"]
    assert len(world.answers(GENERAL, root)) == 1
    assert world.whispers(ALICE) == [], "nobody is told that nothing was running"


async def test_an_answer_that_waits_for_slack_is_not_posted_after_a_stop(world: World) -> None:
    world.project.on("POST", "/api/sdk/agents/1/chat", Proper(delay=0.3))
    root = await world.mention(ALICE, GENERAL, "stop-waiting")
    await wait_until(lambda: "stop-waiting" in world.chats(), "the agent is asked")
    await world.slack.stop()
    await waits_for_slack(world)

    await world.slack.people.press_stop(ALICE, GENERAL, root)
    await world.slack.start()

    assert "The agent had already answered" in await ended(world, GENERAL, root)
    await wait_until(world.is_at_rest, "nothing is queued")
    assert len(world.answers(GENERAL, root)) == 1
    await world.slack.ui.click(BOB, GENERAL, world.answers(GENERAL, root)[0].ts, "stopped:show")
    await world.slack.ui.click(ALICE, GENERAL, world.answers(GENERAL, root)[0].ts, "stopped:show")
    await world.whispered(ALICE)
    assert ["re: stop-waiting" in words for words in world.said(GENERAL, root)] == [False, True]
    assert world.chats() == ["stop-waiting"]


async def waits_for_slack(world: World) -> None:
    (bridge,) = world.bridges
    beginning = len(bridge.log)
    await wait_until(lambda: b"Slack hasn't accepted an answer yet" in bridge.log[beginning:], "the answer is queued")
