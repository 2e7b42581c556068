"""kill -9 between two messages of one answer, and while the working status is shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridge.playground.emulator.faults import Slow
from bridge.playground.emulator.sample import ALICE, BOB, DM_BOB, GENERAL
from bridge.playground.sample_project.answers import Hang, PlannedAnswer
from support.lives import end_leases
from support.mortals import a_mortal
from support.waiting import wait_until
from support.world import World

CHAT = "/api/sdk/agents/1/chat"


async def test_the_rest_of_an_answer_is_posted_once_and_its_status_cleared(world: World) -> None:
    bridge = await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    long = "\n\n".join(f"Paragraph {number}: " + "word " * 100 for number in range(100))
    world.slack.faults.on("chat.postMessage", Slow(0))
    world.slack.faults.on("chat.postMessage", Slow(1.0))
    world.project.on("POST", CHAT, PlannedAnswer(200, {"sessionId": 1, "message": long}))
    world.project.on("POST", CHAT, Hang())
    root = await world.mention(ALICE, GENERAL, "tell me everything")
    await wait_until(lambda: len(world.called("chat.postMessage")) == 2, "the second part is being posted")
    silent = await world.mention(ALICE, GENERAL, "are you there?")
    await wait_until(lambda: world.slack.status(GENERAL, silent), "the agent is shown as working")

    await bridge.kill()
    await world.answered(GENERAL, root, 2)  # the post in flight arrives before the lease ends
    await end_leases(world)
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    said = await world.answered(GENERAL, silent)
    await wait_until(lambda: "Paragraph 99:" in "".join(world.said(GENERAL, root)), "the rest is posted", timeout=10)

    posted = "".join(world.said(GENERAL, root))
    assert len(world.answers(GENERAL, root)) == len(world.called("chat.postMessage")) - 1, (
        "and one for the other thread"
    )
    assert [posted.count(f"Paragraph {number}:") for number in range(100)] == [1] * 100
    assert "can't tell" in said[0]
    await wait_until(lambda: world.slack.status(GENERAL, silent) == "", "the working status is cleared")
    assert world.chats() == ["tell me everything", "are you there?"]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="bridges are forked, and their ends are told by Linux")
async def test_a_greeting_survives_a_kill_and_is_not_repeated(world: World, tmp_path: Path) -> None:
    mortal = a_mortal(world, tmp_path, "after slack assistant.threads.setSuggestedPrompts 1", BRIDGE_DEFAULT_AGENT="1")
    await (await mortal.start()).ready()
    world.slack.events_url = f"{mortal.url}/slack/events"
    await world.slack.people.open_messages(BOB)
    await wait_until(lambda: mortal.has_ended, "the bridge is killed before it sends the greeting")

    await end_leases(world)
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    await wait_until(lambda: world.slack.workspace.messages.top_level(DM_BOB), "the greeting is sent", timeout=5)
    prompted = len(world.called("assistant.threads.setSuggestedPrompts"))
    await world.slack.people.open_messages(BOB)
    await wait_until(
        lambda: len(world.called("assistant.threads.setSuggestedPrompts")) > prompted, "the prompts are set again"
    )

    assert len(world.slack.workspace.messages.top_level(DM_BOB)) == 1
