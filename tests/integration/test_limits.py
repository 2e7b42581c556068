"""Maximum age of a message, and maximum number of turns in flight per process."""

from __future__ import annotations

from itertools import pairwise

from bridge.playground.emulator.sample import ALICE, BOB, GENERAL
from bridge.playground.sample_project.answers import Proper
from support.system import System
from support.waiting import wait_until

CHAT = "/api/sdk/agents/1/chat"


async def test_a_message_that_waited_too_long_is_offered_and_not_sent(system: System) -> None:
    await system.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_MAX_AGE="1")
    system.project.on("POST", CHAT, Proper(delay=1.5))
    root = await system.mention(ALICE, GENERAL, "the first")
    await wait_until(system.chats, "the agent is asked")
    await system.slack.people.say(ALICE, GENERAL, "please hurry", thread_ts=root)
    answers = await system.answered(GENERAL, root, 2)
    assert system.chats() == ["the first"]

    offer = system.answers(GENERAL, root)[1]
    await system.slack.ui.click(BOB, GENERAL, offer.ts, "turn:again")
    await system.answered(GENERAL, root, 3)

    assert "waited for" in answers[1]
    assert system.chats() == ["the first", "please hurry"]


async def test_one_turn_at_a_time_serves_many_threads(system: System) -> None:
    await system.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_MAX_TURNS="1")
    system.project.on("POST", CHAT, Proper(delay=0.1), times=None)

    roots = [await system.mention(ALICE, GENERAL, f"thread {number}") for number in range(8)]
    for root in roots:
        await system.answered(GENERAL, root)

    calls = system.project.calls_to(CHAT)
    assert sorted(system.chats()) == [f"thread {number}" for number in range(8)]
    assert all(one.at + one.seconds <= other.at + 0.01 for one, other in pairwise(calls))
