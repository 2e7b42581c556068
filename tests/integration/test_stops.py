"""Stopping a turn by Slack's own button, a command or a ❌ reaction; and the Messages tab."""

from __future__ import annotations

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, DM_ALICE, GENERAL
from bridge.playground.sample_project.answers import Proper
from bridge.playground.sample_project.conversation import scripted
from bridge.playground.sample_project.sample import SampleAgent
from support.system import System, shared_system
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def started(system: System) -> None:
    system.project.operations.agents = [
        SampleAgent(1, "Memory", None, "m", scripted("re: {message}"), welcome_message="Hello, I am Memory."),
        SampleAgent(2, "Sloth", None, "m", scripted("re: {message}"), seconds=30),
    ]


opened, system = shared_system(started, BRIDGE_DEFAULT_AGENT="Memory")


async def start_slow_turn(system: System, channel: str, words: str) -> str:
    """Start an agent that runs longer than any test waits, so only a stop ends it."""
    mention = "" if channel.startswith("D") else f"<@{BRIDGE}> "
    root = await system.slack.people.say(ALICE, channel, f"{mention}Sloth: {words}")
    await wait_until(lambda: words in system.chats(), "the agent is asked")
    await wait_until(lambda: status_of(system, channel, root) == "processing", "the agent is shown as working")
    return root


def status_of(system: System, channel: str, root: str) -> str:
    return system.slack.workspace.session(channel, root).lifecycle


async def ended(system: System, channel: str, root: str) -> str:
    answers = await system.answered(channel, root)
    await wait_until(lambda: status_of(system, channel, root) == "active", "the working status is cleared")
    return answers[-1]


async def test_slacks_stop_button_ends_the_call_and_holds_waiting_messages(system: System) -> None:
    root = await start_slow_turn(system, DM_ALICE, "stop-native")
    await system.slack.people.say(ALICE, DM_ALICE, "behind-native", thread_ts=root)

    await system.slack.people.press_stop(ALICE, DM_ALICE, root)

    assert "I won't post its answer" in await ended(system, DM_ALICE, root)
    await system.slack.ui.click(ALICE, DM_ALICE, system.answers(DM_ALICE, root)[0].ts, "held:drop")
    await wait_until(lambda: "1 message discarded" in system.said(DM_ALICE, root)[0], "the message is discarded")
    assert system.chats() == ["stop-native"]


async def test_an_answer_that_waits_for_slack_is_not_posted_after_a_stop(system: System) -> None:
    system.project.on("POST", "/api/sdk/agents/1/chat", Proper(delay=0.3))
    root = await system.mention(ALICE, GENERAL, "stop-waiting")
    await wait_until(lambda: "stop-waiting" in system.chats(), "the agent is asked")
    await system.slack.stop()
    await waits_for_slack(system)

    await system.slack.people.press_stop(ALICE, GENERAL, root)
    await system.slack.start()

    assert "The agent had already answered" in await ended(system, GENERAL, root)
    await wait_until(system.is_at_rest, "nothing is queued")
    assert len(system.answers(GENERAL, root)) == 1
    await system.slack.ui.click(BOB, GENERAL, system.answers(GENERAL, root)[0].ts, "stopped:show")
    await system.slack.ui.click(ALICE, GENERAL, system.answers(GENERAL, root)[0].ts, "stopped:show")
    await system.ephemeral_text(ALICE)
    assert ["re: stop-waiting" in words for words in system.said(GENERAL, root)] == [False, True]
    assert system.chats() == ["stop-waiting"]


async def waits_for_slack(system: System) -> None:
    (bridge,) = system.bridges
    beginning = len(bridge.log)
    await wait_until(lambda: b"Slack hasn't accepted an answer yet" in bridge.log[beginning:], "the answer is queued")
