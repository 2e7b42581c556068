"""Dead letters: what a retry sends and posts, and what people see of it."""

from __future__ import annotations

from datetime import timedelta

import httpx

from bridge.cli.trace import steps_of
from bridge.ends import notices
from bridge.engine.results import Outcome
from bridge.ids import TurnId
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import DM_ALICE
from bridge.queue.put import NotQueued, Queued
from bridge.queue.records import Step
from bridge.queue.trace import trace_of
from bridge.slack.parts import Place
from support.dead_letters import bury, letters
from support.harness import POST, Harness, kill_task
from support.store import ROOT, START, key_of, message
from support.waiting import wait_until

REFUSED = Error("not_in_channel")


async def undelivered_answer(harness: Harness) -> TurnId:
    harness.slack.faults.on(POST, REFUSED)
    turn = await harness.store.queue(message("what is it?"))
    await harness.work()
    (notice,) = harness.seen.messages
    assert notice.place == Place(DM_ALICE), "only the author is notified"
    harness.slack.workspace.messages.delete(notice.message)
    return turn


async def test_a_retry_posts_a_recorded_answer_without_asking(harness: Harness) -> None:
    turn = await undelivered_answer(harness)
    assert await letters(harness.store).retry(turn) == Queued(turn, 0, how="showing")

    await harness.work("b")

    assert harness.service.messages == ["what is it?"]
    assert harness.seen.texts == ["re: what is it?"]
    assert await harness.store.field(turn, "step") == "done"
    assert await letters(harness.store).all() == []
    assert not await harness.store.contains_text("what is it?")
    assert 6.9 < await harness.store.days_left(f"turn:{turn}") <= 7


async def test_a_retry_does_not_repeat_a_posted_answer(harness: Harness) -> None:
    turn = await harness.store.queue(message("what is it?"))
    harness.hang(is_done=True)  # the post arrives, but its response doesn't
    task = await harness.start_next("a")
    await wait_until(lambda: harness.seen.messages, "the answer is posted")
    await kill_task(task)
    other = harness.store.process("b")
    await other.journal.bury((await other.take_over())[0], turn, reason="begun again and again")

    await letters(harness.store).retry(turn)
    await harness.work("b")

    assert harness.seen.texts == ["re: what is it?"]
    assert (harness.seen.attempts, harness.seen.reads) == (1, 1)


async def test_a_dead_letter_is_queued_once_however_often_asked(harness: Harness) -> None:
    turn = await undelivered_answer(harness)
    answers = [await letters(harness.store).retry(turn) for _ in range(3)]
    assert await harness.store.box() == [turn]
    assert await harness.store.entries() == 1

    await harness.work()

    assert answers == [Queued(turn, 0, how="showing"), NotQueued("unknown"), NotQueued("unknown")]
    assert len(harness.seen.texts) == 1


async def test_a_retried_letter_that_fails_again_can_be_retried(harness: Harness) -> None:
    turn = await undelivered_answer(harness)
    harness.slack.faults.on(POST, REFUSED)
    await letters(harness.store).retry(turn)
    await harness.work()
    (notice,) = harness.seen.messages
    harness.slack.workspace.messages.delete(notice.message)

    await letters(harness.store).retry(turn)
    await harness.work()

    assert harness.seen.texts == ["re: what is it?"]
    assert harness.service.messages == ["what is it?"]


async def test_a_resent_message_is_answered_after_its_notice(harness: Harness) -> None:
    turn = await harness.store.queue(message("what is it?"))
    harness.service.chats = [httpx.Response(500)]
    harness.hang(is_done=True)  # the notice arrives, but the response doesn't
    task = await harness.start_next("a")
    await wait_until(lambda: harness.seen.messages, "the notice is posted")
    await kill_task(task)
    other = harness.store.process("b")
    await other.journal.bury((await other.take_over())[0], turn, reason="begun again and again")
    await letters(harness.store).retry(turn)
    task = await harness.start_next("b")  # this answer arrives too, and this worker is killed too
    await wait_until(lambda: len(harness.seen.messages) > 1, "the answer is posted")
    await kill_task(task)

    await harness.take_over("c")

    assert harness.service.messages == ["what is it?", "what is it?"]
    assert "can't tell" in harness.seen.texts[0]
    assert harness.seen.texts[1:] == ["re: what is it?"]
    assert len((await trace_of(harness.store.scripts, key_of(ROOT))).turns) == 2


async def test_a_message_resent_by_a_button_is_not_retried(harness: Harness) -> None:
    turn = await harness.store.queue(message("what is it?"), agent=7)
    process = harness.store.process()
    taken = await process.take()
    await process.journal.sent(taken)
    outcome = Outcome(what="unknown", reply=notices.outcome_unknown(turn), keeps_text=True)
    await process.journal.outcome(taken, outcome.model_dump_json(), what=outcome.what)
    await process.inbox.drafts.put(turn, by=TurnId("click"))
    await process.journal.bury(taken.held, turn, reason="begun again and again")

    assert await letters(harness.store).retry(turn) == NotQueued("gone")
    await harness.work()

    assert harness.service.messages == ["what is it?"]


async def test_an_old_dead_letter_is_still_sent(harness: Harness) -> None:
    await harness.store.queue(message("what is it?"))
    turn = await bury(harness.store, Step.QUEUED)
    harness.store.clock.time = START + timedelta(days=20)
    await letters(harness.store).retry(turn)

    await harness.work()

    assert harness.service.messages == ["what is it?"]


async def test_a_trace_shows_each_failure_retry_and_drop(harness: Harness) -> None:
    turn = await undelivered_answer(harness)
    harness.store.clock.time += timedelta(seconds=1)
    await letters(harness.store).retry(turn)
    harness.slack.faults.on(POST, REFUSED)
    await harness.work()
    harness.store.clock.time += timedelta(seconds=1)
    before = steps_of(await trace_of(harness.store.scripts, key_of(ROOT)))
    await letters(harness.store).drop(turn)

    after = steps_of(await trace_of(harness.store.scripts, key_of(ROOT)))

    assert [(step.what, step.detail) for step in before[5:]] == [
        ("dead", "Slack: not_in_channel"),
        ("queued", f"ID {turn} again, with bridge dead retry"),
        ("dead", "Slack: not_in_channel; see bridge dead list"),
    ]
    assert [(step.what, step.detail) for step in after[7:]] == [
        ("dead", "Slack: not_in_channel"),
        ("done", "discarded with bridge dead drop"),
    ]
