"""Channel settings: the default agent, what it answers, and which apps' messages start a workflow."""

from __future__ import annotations

import asyncio

import pytest

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, GENERAL, RANDOM
from bridge.playground.sample_project.answers import Hang, Proper
from support.lives import end_leases
from support.waiting import wait_until
from support.world import TAKEOVER_SECONDS, World, words_of

APP = "A0OTHERBOT"
RUN = "/api/sdk/workflows/3/run"
ALERT = {"color": "danger", "title": "Disk full", "text": "db-1 is at 93 %", "fallback": "Disk full"}


def told(world: World, channel: str, words: str) -> list[Message]:
    """The bot's top-level messages in *channel* that contain these *words*."""
    return [one for one in world.slack.messages(channel) if one.user == BRIDGE and words in words_of(one)]


async def change(world: World, text: str, channel: str = GENERAL, user: str = ALICE) -> None:
    """Change a setting of *channel* and wait for the notice."""
    before = len(told(world, channel, "Changed by"))
    await world.slack.ui.command(user, channel, "/agents", text)
    await wait_until(lambda: len(told(world, channel, "Changed by")) > before, "the channel is notified")


async def alert(world: World, text: str = "", channel: str = GENERAL) -> str:
    """Post an alert by incoming webhook, as monitors do, with its text in an attachment."""
    attachments = [] if text else [ALERT]
    return await world.slack.people.app_posts(channel, text, attachments=attachments, webhook="Alertmanager")


async def test_a_changed_setting_reaches_every_process(world: World) -> None:
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    await world.start_bridge_on_a_socket(BRIDGE_DEFAULT_AGENT="1")
    await change(world, "channel answers all")

    roots = [await world.slack.people.say(ALICE, GENERAL, f"question {number}") for number in range(6)]
    for root in roots:
        await world.answered(GENERAL, root)

    assert sorted(world.chats()) == [f"question {number}" for number in range(6)]


@pytest.mark.parametrize("dies", ["before the run", "in the run"])
async def test_an_alert_runs_its_workflow_once_whatever_is_repeated_or_killed(world: World, dies: str) -> None:
    bridge = await world.start_bridge()
    await change(world, f"channel run 3 {APP}")
    if dies == "before the run":
        await bridge.kill()
        await end_leases(world)
    if dies == "in the run":
        world.project.on("POST", RUN, Hang())
    ts = await alert(world)
    if dies == "before the run":
        await world.start_bridge()
    if dies == "in the run":
        await wait_until(lambda: world.project.calls_to(RUN), "the workflow is started")
        await bridge.kill()
        await end_leases(world)
        await world.start_bridge()
    await wait_until(lambda: world.answers(GENERAL, ts), "the run card is posted", TAKEOVER_SECONDS + 20)
    await wait_until(lambda: "⏳" not in world.said(GENERAL, ts)[0], "the run has ended")
    await asyncio.sleep(1.0)  # Slack's retries have arrived by then

    (run,) = world.project.calls_to(RUN)
    assert "Disk full" in run.body["input"]
    assert "db-1 is at 93 %" in run.body["input"]
    (card,) = world.said(GENERAL, ts)
    assert ("can't tell" in card) is (dies == "in the run")
    assert "Started by Alertmanager, set up by " in card
    assert told(world, GENERAL, "Started by") == []  # only in the alert's thread


async def test_an_agent_answers_an_alert_in_its_thread_and_people_continue(world: World) -> None:
    await world.start_bridge()
    await change(world, f"channel ask Memory {APP}")

    ts = await alert(world, "my name is Db-1, and my disk is full")
    await world.answered(GENERAL, ts)
    said = await world.replied(ALICE, GENERAL, ts, "what is my name?")
    await world.slack.people.app_posts(GENERAL, "resolved", thread_ts=ts, webhook="Alertmanager")
    await change(world, f"channel ignore {APP}")
    ignored = await alert(world, "disk full again")

    assert len(world.chats()) == 2
    assert len(world.answers(GENERAL, ts)) == 2
    assert said
    assert world.answers(GENERAL, ignored) == []


async def test_two_bots_that_answer_each_other_are_stopped(world: World) -> None:
    """The other bot posts at the top level whenever ours does."""
    await world.start_bridge(BRIDGE_APP_TURNS_PER_MINUTE="4")
    await change(world, f"channel ask Memory {APP}", RANDOM)
    world.project.on("POST", "/api/sdk/agents/1/chat", Proper(delay=0.02), times=None)
    heard: set[str] = set()

    async def answer_everything() -> None:
        while True:
            posted = [one for one in world.slack.messages(RANDOM) if one.user == BRIDGE]
            posted += [reply for one in world.slack.messages(RANDOM) for reply in world.answers(RANDOM, one.ts)]
            for one in posted:
                if one.ts not in heard:
                    heard.add(one.ts)
                    await world.slack.people.app_posts(RANDOM, "and you?", webhook="Echo")
            await asyncio.sleep(0.05)

    other = asyncio.create_task(answer_everything())
    await wait_until(lambda: told(world, RANDOM, "is posting too fast"), "the channel is notified")
    await asyncio.sleep(2.0)
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)

    assert len(world.chats()) == 4
    assert len(told(world, RANDOM, "is posting too fast")) == 1


async def test_the_form_shows_the_apps_that_have_posted_and_sets_everything(world: World) -> None:
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    await alert(world)
    await world.slack.ui.command(ALICE, GENERAL, "/agents", "default")
    await wait_until(lambda: world.slack.views(ALICE), "the form is open")
    view = world.slack.views(ALICE)[-1]
    fields = [block["block_id"] for block in view.blocks if block["type"] == "input"]
    assert f"app:{APP}" in fields

    run = {"text": {"type": "plain_text", "text": "Runs Greet"}, "value": "workflow:3"}
    every = {"text": {"type": "plain_text", "text": "Every top-level message"}, "value": "all"}
    await world.slack.ui.submit(view.id, {"answers": every, f"app:{APP}": run}, ALICE)
    await wait_until(lambda: told(world, GENERAL, "Changed by"), "the channel is notified")
    root = await world.slack.people.say(BOB, GENERAL, "anybody?")
    await world.answered(GENERAL, root)
    ts = await alert(world)
    await world.answered(GENERAL, ts)

    assert world.chats() == ["anybody?"]
    assert len(world.runs()) == 1
