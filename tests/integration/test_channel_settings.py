"""Channel settings: the default agent, what it answers, and which apps' messages start a workflow."""

from __future__ import annotations

import asyncio

import pytest

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, GENERAL, RANDOM
from bridge.playground.sample_project.answers import Hang, Proper
from support.kill_runs import end_leases
from support.system import TAKEOVER_SECONDS, System, text_of
from support.waiting import wait_until

APP = "A0OTHERBOT"
RUN = "/api/sdk/workflows/3/run"
ALERT = {"color": "danger", "title": "Disk full", "text": "db-1 is at 93 %", "fallback": "Disk full"}


def notices(system: System, channel: str, words: str) -> list[Message]:
    """The bot's top-level messages in *channel* that contain these *words*."""
    return [one for one in system.slack.messages(channel) if one.user == BRIDGE and words in text_of(one)]


async def change(system: System, text: str, channel: str = GENERAL, user: str = ALICE) -> None:
    """Change a setting of *channel* and wait for the notice."""
    before = len(notices(system, channel, "Changed by"))
    await system.slack.ui.command(user, channel, "/agents", text)
    await wait_until(lambda: len(notices(system, channel, "Changed by")) > before, "the channel is notified")


async def alert(system: System, text: str = "", channel: str = GENERAL) -> str:
    """Post an alert by incoming webhook, as monitors do, with its text in an attachment."""
    attachments = [] if text else [ALERT]
    return await system.slack.people.app_posts(channel, text, attachments=attachments, webhook="Alertmanager")


async def test_a_changed_setting_reaches_every_process(system: System) -> None:
    await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    await system.start_bridge_on_a_socket(BRIDGE_DEFAULT_AGENT="1")
    await change(system, "channel answers all")

    roots = [await system.slack.people.say(ALICE, GENERAL, f"question {number}") for number in range(6)]
    for root in roots:
        await system.answered(GENERAL, root)

    assert sorted(system.chats()) == [f"question {number}" for number in range(6)]


@pytest.mark.parametrize("dies", ["before the run", "in the run"])
async def test_an_alert_runs_its_workflow_once_despite_retries_and_kills(system: System, dies: str) -> None:
    bridge = await system.start_bridge()
    await change(system, f"channel run 3 {APP}")
    if dies == "before the run":
        await bridge.kill()
        await end_leases(system)
    if dies == "in the run":
        system.project.on("POST", RUN, Hang())
    ts = await alert(system)
    if dies == "before the run":
        await system.start_bridge()
    if dies == "in the run":
        await wait_until(lambda: system.project.calls_to(RUN), "the workflow is started")
        await bridge.kill()
        await end_leases(system)
        await system.start_bridge()
    await wait_until(lambda: system.answers(GENERAL, ts), "the run card is posted", TAKEOVER_SECONDS + 20)
    await wait_until(lambda: "⏳" not in system.said(GENERAL, ts)[0], "the run has ended")
    await asyncio.sleep(1.0)  # Slack's retries have arrived by then

    (run,) = system.project.calls_to(RUN)
    assert "Disk full" in run.body["input"]
    assert "db-1 is at 93 %" in run.body["input"]
    (card,) = system.said(GENERAL, ts)
    assert ("can't tell" in card) is (dies == "in the run")
    assert "Started by Alertmanager, set up by " in card
    assert notices(system, GENERAL, "Started by") == []  # only in the alert's thread


async def test_an_agent_answers_an_alert_in_its_thread_and_people_continue(system: System) -> None:
    await system.start_bridge()
    await change(system, f"channel ask Memory {APP}")
    await change(system, "channel replies all")

    ts = await alert(system, "my name is Db-1, and my disk is full")
    await system.answered(GENERAL, ts)
    answers = await system.replied(ALICE, GENERAL, ts, "what is my name?")
    await system.slack.people.app_posts(GENERAL, "resolved", thread_ts=ts, webhook="Alertmanager")
    await change(system, f"channel ignore {APP}")
    ignored = await alert(system, "disk full again")

    assert len(system.chats()) == 2
    assert len(system.answers(GENERAL, ts)) == 2
    assert answers
    assert system.answers(GENERAL, ignored) == []


async def test_two_bots_that_answer_each_other_are_stopped(system: System) -> None:
    """The other bot posts at the top level whenever ours does."""
    await system.start_bridge(BRIDGE_APP_TURNS_PER_MINUTE="4")
    await change(system, f"channel ask Memory {APP}", RANDOM)
    system.project.on("POST", "/api/sdk/agents/1/chat", Proper(delay=0.02), times=None)
    heard: set[str] = set()

    async def answer_everything() -> None:
        while True:
            posted = [one for one in system.slack.messages(RANDOM) if one.user == BRIDGE]
            posted += [reply for one in system.slack.messages(RANDOM) for reply in system.answers(RANDOM, one.ts)]
            for one in posted:
                if one.ts not in heard:
                    heard.add(one.ts)
                    await system.slack.people.app_posts(RANDOM, "and you?", webhook="Echo")
            await asyncio.sleep(0.05)

    other = asyncio.create_task(answer_everything())
    await wait_until(lambda: notices(system, RANDOM, "is posting too fast"), "the channel is notified")
    await asyncio.sleep(2.0)
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)

    assert len(system.chats()) == 4
    assert len(notices(system, RANDOM, "is posting too fast")) == 1


async def test_the_form_shows_the_apps_that_have_posted_and_sets_everything(system: System) -> None:
    await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    await alert(system)
    await system.slack.ui.command(ALICE, GENERAL, "/agents", "default")
    await wait_until(lambda: system.slack.views(ALICE), "the form is open")
    view = system.slack.views(ALICE)[-1]
    fields = [block["block_id"] for block in view.blocks if block["type"] == "input"]
    assert f"app:{APP}" in fields

    run = {"text": {"type": "plain_text", "text": "Runs Greet"}, "value": "workflow:3"}
    every = {"text": {"type": "plain_text", "text": "Every top-level message"}, "value": "all"}
    await system.slack.ui.submit(view.id, {"answers": every, f"app:{APP}": run}, ALICE)
    await wait_until(lambda: notices(system, GENERAL, "Changed by"), "the channel is notified")
    root = await system.slack.people.say(BOB, GENERAL, "anybody?")
    await system.answered(GENERAL, root)
    ts = await alert(system)
    await system.answered(GENERAL, ts)

    assert system.chats() == ["anybody?"]
    assert len(system.runs()) == 1
