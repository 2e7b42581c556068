"""A newcomer's first steps are ticked off when they were taken, however that was done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from bridge.playground.emulator import EmulatedSlack, sample
from bridge.playground.page.first_steps import FirstSteps
from bridge.playground.page.supervisor import PartStatus
from support.page_client import Window, calls

ANSWER = {"event_type": "bridge_turn", "event_payload": {"turn": "t", "agent": 1}}
NOTICE = {"event_type": "bridge_turn", "event_payload": {"turn": "t"}}
CARD = {"event_type": "bridge_run", "event_payload": {"turn": "t"}}


@pytest.mark.parametrize(
    ("method", "args", "steps"),
    [
        ("chat.postMessage", {"text": "hello", "metadata": ANSWER}, ["talk"]),
        ("chat.postMessage", {"text": "which agent?", "metadata": NOTICE}, []),
        ("chat.postMessage", {"text": "Echo: running", "metadata": CARD}, ["run"]),
        ("chat.postEphemeral", {"text": "Scheduled: every Monday.", "user": sample.ALICE}, ["report"]),
        ("chat.postEphemeral", {"text": "Alert set up: workflow 10 fails.", "user": sample.ALICE}, ["alert"]),
        ("chat.postEphemeral", {"text": "Scheduled reports: 3", "user": sample.ALICE}, []),
    ],
)
async def test_a_step_is_taken_once_the_app_shows_its_result(
    alice: Window, http: httpx.AsyncClient, method: str, args: dict[str, Any], steps: list[str]
) -> None:
    await calls(http, method, channel=sample.GENERAL, **args)

    assert (await alice.sees())["steps"] == steps


@pytest.mark.parametrize("how", [
    "button", "!stop", "! stop", "!Stop…", "please !stop", "<@U0BRIDGE> stop", "<@U0BRIDGE>, stop.", "reaction",
    "stop talking",
])  # fmt: skip
async def test_any_stop_takes_its_step(alice: Window, slack: EmulatedSlack, how: str) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "think")
    match how:
        case "button":
            slack.workspace.set_lifecycle(sample.GENERAL, root, "processing")
            await slack.people.press_stop(sample.ALICE, sample.GENERAL, root)
        case "reaction":
            await slack.people.react(sample.ALICE, sample.GENERAL, root, "x")
        case typed:
            await slack.people.say(sample.ALICE, sample.GENERAL, typed, thread_ts=root)

    assert (await alice.sees())["steps"] == ([] if how == "stop talking" else ["stop"])


@pytest.mark.parametrize(("path", "step"), [("agents/1/chat", "talk"), ("workflows/1/run", "run")])
async def test_a_call_of_the_sample_project_takes_a_step(
    alice: Window, service: httpx.AsyncClient, path: str, step: str
) -> None:
    await service.post(f"/api/sdk/{path}", json={"message": "hello", "input": "hello"})

    assert (await alice.sees())["steps"] == [step]


async def test_steps_outlive_the_playgrounds_process(slack: EmulatedSlack, tmp_path: Path) -> None:
    await slack.people.say(sample.ALICE, sample.GENERAL, "!stop")

    assert FirstSteps(slack, None, tmp_path).taken([]) == ["stop"]
    async with EmulatedSlack(signing_secret="s", bot_token="xoxb-2") as restarted:
        assert FirstSteps(restarted, None, tmp_path).taken([]) == ["stop"]


def test_another_process_means_that_the_bridge_was_killed(slack: EmulatedSlack) -> None:
    steps = FirstSteps(slack, None)

    def bridge(detail: str) -> list[PartStatus]:
        return [PartStatus("Bridge", is_stand_in=False, is_up=True, detail=detail)]

    seen = [steps.taken(bridge(detail)) for detail in ("process 1, not ready", "process 1", "restarting", "process 2")]

    assert seen == [[], [], [], ["kill"]]
