"""`bridge dead`: failed turns are listed, and retried or discarded exactly once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx
import pytest
from redis.asyncio import Redis

from bridge.cli.dead import for_programs, table
from bridge.cli.names import DisplayNames
from bridge.cli.trace import steps_of
from bridge.features import notices
from bridge.features.results import Outcome
from bridge.ids import MessageKey, TurnId, own_lane
from bridge.inbound import SlashCommand
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import DM_ALICE
from bridge.queue.dead import DeadLetter, DeadLetters, Retried
from bridge.queue.records import Step
from bridge.queue.trace import Owner, trace_of
from bridge.slack.parts import Place
from support.harness import POST, Harness, kill_task, open_harness
from support.store import CHANNEL, LANE, PREFIX, ROOT, START, TEAM, USER, Store, key_of, message, ts
from support.waiting import wait_until

REFUSED = Error("not_in_channel")
OWNER = Owner(TEAM, "https://acme.slack.com/")


def letters(store: Store) -> DeadLetters:
    return DeadLetters(store.scripts, store.clock)


async def bury(store: Store, step: Step, what: str = "answered") -> TurnId:
    """Make the next turn a dead letter at *step*."""
    process = store.process()
    taken = await process.take()
    if step is not Step.QUEUED:
        await process.journal.sent(taken)
    if step is Step.POSTING:
        await process.journal.outcome(taken, "{}", what=what)
    await process.journal.bury(taken.held, taken.record.id, reason="Slack: not_in_channel")
    return taken.record.id


@asynccontextmanager
async def undelivered_answer(redis: Redis) -> AsyncIterator[tuple[Harness, TurnId]]:
    async with open_harness(redis) as harness:
        harness.slack.faults.on(POST, REFUSED)
        turn = await harness.store.queue(message("what is it?"))
        await harness.work()
        (notice,) = harness.seen.messages
        assert notice.place == Place(DM_ALICE), "only the author is notified"
        harness.slack.workspace.messages.delete(notice.message)
        yield harness, turn


async def test_a_dead_letter_shows_person_channel_time_and_reason(store: Store) -> None:
    await store.conversation()
    await store.queue(message("my secret words", ts(1)))
    first = await bury(store, Step.POSTING)
    store.clock.time = START + timedelta(minutes=5)
    second = await bury(store, Step.QUEUED)

    found = await letters(store).all()

    assert found == [
        DeadLetter(
            id=first, died_at=START, reason="Slack: not_in_channel", step="posting", what="answered", kind="message",
            channel=CHANNEL, ts=ROOT, user=USER, has_text=True,
        ),
        DeadLetter(
            id=second, died_at=store.clock(), reason="Slack: not_in_channel", step="queued", kind="message",
            channel=CHANNEL, thread_ts=ROOT, ts=ts(1), user=USER, has_text=True,
        ),
    ]  # fmt: skip
    shown = table(found, OWNER, DisplayNames(slack={USER: "Ada"}))
    assert f"who    Ada ({USER})\n  what   a message\n" in shown
    assert f"https://acme.slack.com/archives/{CHANNEL}/p{ROOT.replace('.', '')}" in shown
    assert "secret" not in shown + for_programs(found, OWNER)
    assert json.loads(for_programs(found, OWNER))["dead"][1]["permalink"].endswith(f"?thread_ts={ROOT}&cid={CHANNEL}")
    assert f"{CHANNEL} {ROOT}" in table(found, None, DisplayNames())
    assert f"#ops ({CHANNEL}) {ROOT}" in table(found, None, DisplayNames(slack={CHANNEL: "ops"}))


async def test_a_retry_posts_a_recorded_answer_without_asking(redis: Redis) -> None:
    async with undelivered_answer(redis) as (harness, turn):
        assert await letters(harness.store).retry(turn) == (Retried.SHOWING, 0)

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


async def test_a_dead_letter_is_queued_once_however_often_asked(redis: Redis) -> None:
    async with undelivered_answer(redis) as (harness, turn):
        answers = [await letters(harness.store).retry(turn) for _ in range(3)]
        assert await harness.store.box() == [turn]
        assert await harness.store.entries() == 1

        await harness.work()

        assert answers == [(Retried.SHOWING, 0), (Retried.UNKNOWN, 0), (Retried.UNKNOWN, 0)]
        assert len(harness.seen.texts) == 1


async def test_a_retried_letter_that_fails_again_can_be_retried(redis: Redis) -> None:
    async with undelivered_answer(redis) as (harness, turn):
        harness.slack.faults.on(POST, REFUSED)
        await letters(harness.store).retry(turn)
        await harness.work()
        assert harness.seen.texts == []

        await letters(harness.store).retry(turn)
        await harness.work()

        assert harness.seen.texts == ["re: what is it?"]
        assert harness.service.messages == ["what is it?"]


@pytest.mark.parametrize(
    ("step", "what", "asks_again"),
    [
        (Step.QUEUED, "", False),
        (Step.SENT, "", True),
        (Step.POSTING, "unknown", True),
        (Step.POSTING, "answered", False),
    ],
)
async def test_only_a_retry_sends_a_doubtful_message_again(
    store: Store, step: Step, what: str, *, asks_again: bool
) -> None:
    await store.queue(message(), agent=7)
    turn = await bury(store, step, what)

    [letter] = await letters(store).all()
    assert letter.asks_again is asks_again
    assert ("AGAIN" in table([letter], None, DisplayNames())) is asks_again
    assert await store.process().hold() == []

    await letters(store).retry(turn)

    taken = await store.process().take()
    assert taken.record.step is (Step.POSTING if what == "answered" else Step.QUEUED)
    assert (taken.record.outcome == "") is (what != "answered")
    assert (taken.record.id != turn) is asks_again
    assert await letters(store).retry(turn) == (Retried.UNKNOWN, 0)


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
    await process.inbox.again(turn)
    await process.journal.bury(taken.held, turn, reason="begun again and again")

    assert await letters(harness.store).retry(turn) == (Retried.GONE, 0)
    await harness.work()

    assert harness.service.messages == ["what is it?"]


async def test_a_retried_turn_goes_to_the_end_of_its_lane(store: Store) -> None:
    await store.conversation()
    waiting = await store.queue(message("second", ts(1)))
    turn = await bury(store, Step.QUEUED)

    assert await letters(store).retry(turn) == (Retried.QUEUED, 1)

    assert await store.box() == [waiting, turn]
    assert await store.entries() == 1


async def test_an_old_dead_letter_is_still_sent(harness: Harness) -> None:
    await harness.store.queue(message("what is it?"))
    turn = await bury(harness.store, Step.QUEUED)
    harness.store.clock.time = START + timedelta(days=20)
    await letters(harness.store).retry(turn)

    await harness.work()

    assert harness.service.messages == ["what is it?"]


async def test_a_command_is_retried_in_its_own_lane(store: Store) -> None:
    command = SlashCommand(team=TEAM, channel=CHANNEL, user=USER, command="/stats")
    await store.process().inbox.put(command, event="trigger:1")
    turn = await bury(store, Step.QUEUED)

    assert await letters(store).retry(turn) == (Retried.QUEUED, 0)

    assert await store.box(own_lane(turn)) == [turn]
    assert (await store.process().take()).record.body == command


async def test_a_full_lane_refuses_a_retry(store: Store) -> None:
    await store.conversation()
    turn = await bury(store, Step.QUEUED)
    for number in range(50):
        await store.queue(message("x", ts(number + 1)))

    assert await letters(store).retry(turn) == (Retried.FULL, 0)

    assert [letter.id for letter in await letters(store).all()] == [turn]
    assert 29.9 < await store.days_left(f"turn:{turn}") <= 30


@pytest.mark.parametrize("lost", ["texts", "record"])
async def test_an_expired_letter_is_not_queued(store: Store, redis: Redis, lost: str) -> None:
    await store.conversation()
    turn = await bury(store, Step.QUEUED)
    key = f"{PREFIX}turn:{turn}"
    await (redis.hdel(key, "body") if lost == "texts" else redis.delete(key))
    assert "its text has expired" in table(await letters(store).all(), None, DisplayNames())

    assert await letters(store).retry(turn) == (Retried.GONE, 0)

    assert await store.box() == []
    assert await store.entries() == 0
    assert await letters(store).all() == []


async def test_a_dropped_letter_loses_its_texts(store: Store) -> None:
    await store.queue(message("my secret words"))
    turn = await bury(store, Step.POSTING)

    assert await letters(store).drop(turn)

    assert not await store.contains_text("secret words")
    assert 6.9 < await store.days_left(f"turn:{turn}") <= 7
    assert (await letters(store).drop(turn), await letters(store).retry(turn)) == (False, (Retried.UNKNOWN, 0))
    assert await store.box(LANE) == []


async def test_dropping_an_expired_letter_makes_no_record(store: Store, redis: Redis) -> None:
    await store.conversation()
    turn = await bury(store, Step.QUEUED)
    await redis.delete(f"{PREFIX}turn:{turn}")

    assert await letters(store).drop(turn)

    assert not await redis.exists(f"{PREFIX}turn:{turn}")


async def test_only_dead_letters_can_be_retried(store: Store) -> None:
    turn = await store.conversation()
    before = await store.dump()

    said = [await letters(store).retry(TurnId(name)) for name in (turn, "nothing")]

    assert said == [(Retried.UNKNOWN, 0)] * 2
    assert await store.dump() == before


async def test_a_retried_message_may_be_edited_and_withdrawn(store: Store) -> None:
    await store.conversation()
    await letters(store).retry(await bury(store, Step.QUEUED))

    assert await store.process().inbox.edit(message("better words")) == "edited"
    assert await store.process().inbox.withdraw(MessageKey(TEAM, CHANNEL, ROOT)) == "withdrawn"


async def test_a_trace_shows_each_failure_retry_and_drop(redis: Redis) -> None:
    async with undelivered_answer(redis) as (harness, turn):
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
            ("queued", f"turn {turn} again, with bridge dead retry"),
            ("dead", "Slack: not_in_channel; see bridge dead list"),
        ]
        assert [(step.what, step.detail) for step in after[7:]] == [
            ("dead", "Slack: not_in_channel"),
            ("done", "discarded with bridge dead drop"),
        ]
