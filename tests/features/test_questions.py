"""Buttons that act once: only an effect that was sent uses them up, and a later press is told so."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from bridge.engine.results import Outcome
from bridge.features.channels.settings import AppRule
from bridge.features.run_records import TriggeredRun
from bridge.ids import MessageKey
from bridge.inbound import Click
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, BOB, CAROL, GENERAL
from bridge.slack.blockkit.reply import Audience, Reply
from support.harness import POST, REFUSED, WORKFLOW, Harness
from support.store import CHANNEL, ROOT, TEAM, USER, message

CONFIRM, AS_TEXT, AGAIN, SHOW = "run:confirm", "run:text", "turn:again", "turn:show"
APP = "A0ALERTS"
OLD = WORKFLOW | {"name": "Old one", "is_active": False}


async def public_question(harness: Harness) -> None:
    """Have an app's post ask in public whether to run an inactive workflow."""
    harness.service.workflows = [OLD]
    await harness.store.set_channel(apps={APP: AppRule(workflow=3, owner=ALICE)})
    harness.write(ROOT, "alert")
    alert = message("alert", app=APP)
    triggered = TriggeredRun(team=TEAM, channel=CHANNEL, user=ALICE, workflow=3, message=alert)
    await harness.store.process().inbox.put(triggered)
    await harness.work()
    assert "Run it anyway?" in harness.seen.texts[-1]


def told(harness: Harness, user: str) -> list[str]:
    return [one.text for one in harness.seen.ephemerals if one.user == user]


async def test_a_press_without_permission_leaves_a_public_question(harness: Harness) -> None:
    harness.configure(BRIDGE_RUNNERS=f"{ALICE},{CAROL}")
    await public_question(harness)

    for user in (BOB, ALICE):
        await harness.press(CONFIRM, user=user)

    assert "permission" in told(harness, BOB)[0]
    assert harness.service.runs == ["alert"]


async def test_a_press_without_access_leaves_a_public_question(harness: Harness) -> None:
    await public_question(harness)
    harness.configure(BRIDGE_ALLOWED_USERS=ALICE)

    for user in (BOB, ALICE):
        await harness.press(CONFIRM, user=user)

    assert harness.service.runs == ["alert"]


@pytest.mark.parametrize("trouble", [REFUSED, httpx.Response(400), httpx.Response(429)])
async def test_a_run_that_did_not_start_leaves_its_question(
    harness: Harness, trouble: httpx.Response | Exception
) -> None:
    await harness.type_command('/workflows run 3 {"day": }')
    harness.service.run_answers = [trouble, trouble, trouble]
    await harness.press(AS_TEXT)
    harness.service.run_answers.clear()
    count = len(harness.service.runs)

    await harness.press(AS_TEXT)

    assert harness.service.runs[count:] == ['{"day": }']
    assert harness.seen.replies("bridge_run")[-1].title.endswith("completed")


async def test_a_run_that_may_have_started_uses_up_its_question(harness: Harness) -> None:
    await public_question(harness)
    harness.service.run_answers = [httpx.Response(500)]
    await harness.press(CONFIRM, works=False)
    await harness.press(CONFIRM, user=BOB)

    assert harness.service.runs == ["alert"]
    assert told(harness, BOB) == ["Alice Adler already used this button, so nothing more was done."]


async def test_two_presses_at_once_start_one_run(harness: Harness) -> None:
    await public_question(harness)
    await harness.press(CONFIRM, user=BOB, works=False)
    await harness.press(CONFIRM, user=ALICE)

    assert harness.service.runs == ["alert"]
    assert told(harness, ALICE) == ["Bob Brandt already used this button, so nothing more was done."]


async def test_a_press_given_up_after_its_request_can_be_repeated(harness: Harness) -> None:
    await public_question(harness)
    key = harness.store.scripts.keys.answered(MessageKey(TEAM, CHANNEL, harness.seen.messages[-1].ts))
    await harness.press(CONFIRM, works=False)
    process = harness.store.process()
    taken = await process.take()
    await process.journal.sent(taken, note="no JSON", writes=[("field", key, 60_000, "turn", taken.record.id)])
    await harness.take_over("b")
    await harness.work()
    assert "can't tell whether this ran" in told(harness, ALICE)[-1]

    await harness.press(AGAIN)

    assert harness.service.runs == ["alert"]


async def test_a_slips_second_button_says_that_it_is_used(harness: Harness) -> None:
    await harness.store.queue(message("hello"), agent=7)
    await harness.work()
    await harness.receive(message("!stpo", f"{ROOT[:-3]}200"))
    await harness.work()

    await harness.press("slip:command", works=False)
    await harness.press("slip:text")

    assert harness.service.messages == ["hello"]
    assert "You already used this button, so nothing more was done." in told(harness, ALICE)


async def test_send_again_says_that_it_is_used(harness: Harness) -> None:
    harness.service.chats = [httpx.Response(500)]
    await harness.store.queue(message("hello"), agent=7)
    await harness.work()

    await harness.press(AGAIN, works=False)
    await harness.press(AGAIN, user=BOB)

    assert harness.service.messages == ["hello", "hello"]
    assert told(harness, BOB) == ["Someone already used this button, so nothing more was done."]


async def test_an_answer_that_a_press_could_not_show_is_shown_to_the_next(harness: Harness) -> None:
    turn = await harness.store.queue(message("hello"), agent=7)
    process = harness.store.process()
    taken = await process.take()
    outcome = Outcome(what="answered", reply=Reply(text="the answer", audience=Audience.THREAD))
    await process.journal.outcome(taken, outcome.model_dump_json(), what="answered")
    await process.journal.post_in_doubt(taken)
    await process.journal.done(taken, what="post in doubt")
    fields: dict[str, Any] = {"team": TEAM, "channel": GENERAL, "action_id": SHOW, "message_ts": ROOT, "value": turn}
    harness.slack.faults.on(POST, Error("is_archived"))
    await process.inbox.put(Click(**fields, user=USER), event="1")
    await harness.work()
    assert "the answer" not in harness.seen.texts

    await process.inbox.put(Click(**fields, user=BOB), event="2")
    await harness.work()

    assert "the answer" in harness.seen.texts
