"""Maximum age of a message, and maximum number of turns in flight per process."""

from __future__ import annotations

from itertools import pairwise

from bridge.playground.emulator.sample import ALICE, BOB, GENERAL
from bridge.playground.sample_project.answers import Proper
from support.waiting import wait_until
from support.world import World

CHAT = "/api/sdk/agents/1/chat"


async def test_a_message_that_waited_too_long_is_offered_and_not_sent(world: World) -> None:
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_MAX_AGE="1")
    world.project.on("POST", CHAT, Proper(delay=1.5))
    root = await world.mention(ALICE, GENERAL, "the first")
    await wait_until(world.chats, "the agent is asked")
    await world.slack.people.say(ALICE, GENERAL, "please hurry", thread_ts=root)
    said = await world.answered(GENERAL, root, 2)
    assert world.chats() == ["the first"]

    offer = world.answers(GENERAL, root)[1]
    await world.slack.ui.click(BOB, GENERAL, offer.ts, "turn:again")
    await world.answered(GENERAL, root, 3)

    assert "waited for" in said[1]
    assert world.chats() == ["the first", "please hurry"]


async def test_one_turn_at_a_time_serves_many_threads(world: World) -> None:
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_MAX_TURNS="1")
    world.project.on("POST", CHAT, Proper(delay=0.1), times=None)

    roots = [await world.mention(ALICE, GENERAL, f"thread {number}") for number in range(8)]
    for root in roots:
        await world.answered(GENERAL, root)

    calls = world.project.calls_to(CHAT)
    assert sorted(world.chats()) == [f"thread {number}" for number in range(8)]
    assert all(one.at + one.seconds <= other.at + 0.01 for one, other in pairwise(calls))
