"""Channel settings: the default agent, what it answers, and which apps' messages start a workflow."""

from __future__ import annotations

import asyncio

import pytest

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL
from bridge.playground.sample_project.answers import Hang
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
