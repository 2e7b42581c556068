"""kill -9 between two messages of one answer, and while the working status is shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridge.playground.emulator.faults import Slow
from bridge.playground.emulator.sample import ALICE, BOB, DM_BOB, GENERAL
from bridge.playground.sample_project.answers import Hang, PlannedAnswer
from support.kill_runs import end_leases
from support.killable_bridge import killable_bridge
from support.system import System
from support.waiting import wait_until

CHAT = "/api/sdk/agents/1/chat"


async def test_the_rest_of_an_answer_is_posted_once_and_its_status_cleared(system: System) -> None:
    bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    long = "\n\n".join(f"Paragraph {number}: " + "word " * 100 for number in range(100))
    system.slack.faults.on("chat.postMessage", Slow(0))
    system.slack.faults.on("chat.postMessage", Slow(1.0))
    system.project.on("POST", CHAT, PlannedAnswer(200, {"sessionId": 1, "message": long}))
    system.project.on("POST", CHAT, Hang())
    root = await system.mention(ALICE, GENERAL, "tell me everything")
    await wait_until(lambda: len(system.called("chat.postMessage")) == 2, "the second part is being posted")
    silent = await system.mention(ALICE, GENERAL, "are you there?")
    await wait_until(lambda: system.slack.status(GENERAL, silent), "the agent is shown as working")

    await bridge.kill()
    await system.answered(GENERAL, root, 2)  # the post in flight arrives before the lease ends
    await end_leases(system)
    await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    answers = await system.answered(GENERAL, silent)
    await wait_until(lambda: "Paragraph 99:" in "".join(system.said(GENERAL, root)), "the rest is posted", timeout=10)

    posted = "".join(system.said(GENERAL, root))
    assert len(system.answers(GENERAL, root)) == len(system.called("chat.postMessage")) - 1, (
        "and one for the other thread"
    )
    assert [posted.count(f"Paragraph {number}:") for number in range(100)] == [1] * 100
    assert "can't tell" in answers[0]
    await wait_until(lambda: system.slack.status(GENERAL, silent) == "", "the working status is cleared")
    assert system.chats() == ["tell me everything", "are you there?"]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="bridges are forked, and only Linux reports their end")
async def test_a_greeting_survives_a_kill_and_is_not_repeated(system: System, tmp_path: Path) -> None:
    killable = killable_bridge(
        system, tmp_path, "after slack assistant.threads.setSuggestedPrompts 1", BRIDGE_DEFAULT_AGENT="1"
    )
    await (await killable.start()).ready()
    system.slack.events_url = f"{killable.url}/slack/events"
    await system.slack.people.open_messages(BOB)
    await wait_until(lambda: killable.has_ended, "the bridge is killed before it sends the greeting")

    await end_leases(system)
    await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    await wait_until(lambda: system.slack.workspace.messages.top_level(DM_BOB), "the greeting is sent", timeout=5)
    prompted = len(system.called("assistant.threads.setSuggestedPrompts"))
    await system.slack.people.open_messages(BOB)
    await wait_until(
        lambda: len(system.called("assistant.threads.setSuggestedPrompts")) > prompted, "the prompts are set again"
    )

    assert len(system.slack.workspace.messages.top_level(DM_BOB)) == 1
