"""A permanent refusal by Slack costs one turn: it becomes a dead letter, and the agent isn't asked twice."""

from __future__ import annotations

import pytest

from bridge.ends.notices import THREAD_FULL
from bridge.inbound import Notice
from bridge.playground.emulator.faults import DropBefore, Error
from bridge.playground.emulator.sample import DM_ALICE
from bridge.queue.put import Queued
from bridge.slack.parts import Place
from support.harness import POST, READ, WHISPER, Harness
from support.store import CHANNEL, USER, message, ts

REFUSALS = ("channel_not_found", "missing_scope")
WHY = {
    "restricted_action_read_only_channel": "read-only",
    "restricted_action_of_tomorrow": "not allowed to post",
    "not_in_channel": "not in the channel",
    "no_such_word_yet": "(no_such_word_yet)",
}


@pytest.mark.parametrize("error", REFUSALS)
async def test_a_refused_look_up_does_not_refuse_the_post(harness: Harness, error: str) -> None:
    harness.slack.faults.on(POST, DropBefore())
    harness.slack.faults.on(READ, Error(error), times=None)
    turn = await harness.store.queue(message("first"), agent=7)
    await harness.store.queue(message("second", ts(1)))

    await harness.work()

    assert await harness.store.field(turn, "step") == "done"
    assert "may be missing here" in harness.seen.texts[0]
    assert "re: first" in str(await harness.store.field(turn, "outcome")), "the answer is saved"
    assert harness.seen.texts[1:] == ["re: second"]
    assert harness.service.messages == ["first", "second"], "each once"


async def test_an_unpostable_notice_of_doubt_is_a_dead_letter(harness: Harness) -> None:
    harness.slack.faults.on(POST, DropBefore(), times=4)
    harness.slack.faults.on(READ, Error("missing_scope"), times=None)
    turn = await harness.store.queue(message("first"), agent=7)

    await harness.work()

    assert await harness.store.field(turn, "step") == "dead"
    assert "re: first" in str(await harness.store.field(turn, "outcome"))
    assert harness.seen.attempts == 5, "its own notice is a turn of its own"


@pytest.mark.parametrize("error", sorted({*REFUSALS, *WHY}))
async def test_a_refused_answer_becomes_a_dead_letter_and_the_next_is_posted(harness: Harness, error: str) -> None:
    harness.slack.faults.on(POST, Error(error))
    turn = await harness.store.queue(message("first"), agent=7)
    await harness.store.queue(message("second", ts(1)))

    await harness.work()

    assert harness.service.messages == ["first", "second"], "each once"
    assert (await harness.store.field(turn, "step"), await harness.store.field(turn, "what")) == (
        "dead",
        f"Slack: {error}",
    )
    assert "re: first" in str(await harness.store.field(turn, "outcome")), "the answer is saved"
    (notice,) = [said for said in harness.seen.messages if said.place == Place(DM_ALICE)]
    assert "couldn't post my answer" in notice.words
    assert WHY.get(error, "") in notice.words
    assert "your admin" in notice.words
    assert CHANNEL in str(notice.blocks)
    assert [words for words in harness.seen.texts if words != notice.words] == ["re: second"]
    assert await harness.store.entries() == 0, "nothing is queued"
    assert b"bridge_dead_letters_total 1.0" in harness.metrics.exposition()


def notice(**changes: object) -> Notice:
    said = message("hello")
    posted: dict[str, object] = {"team": said.team, "channel": said.channel, "user": said.user, "ts": said.ts}
    posted |= {"what": "thread_full", "reply": THREAD_FULL.stored()}
    return Notice.model_validate(posted | changes)


async def test_a_notice_that_slack_refuses_is_a_direct_message(harness: Harness) -> None:
    harness.slack.faults.on(WHISPER, Error("not_in_channel"))
    put = await harness.store.process().inbox.put(notice(), event="e1")

    await harness.work()

    (posted,) = harness.seen.messages
    assert (posted.place, "already waiting in this thread" in posted.words) == (Place(DM_ALICE), True)
    assert isinstance(put, Queued)
    assert await harness.store.field(put.turn, "what") == "notified in a direct message: not_in_channel"


async def test_a_direct_message_that_slack_refuses_is_dropped(harness: Harness) -> None:
    harness.slack.faults.on(POST, Error("not_in_channel"))
    put = await harness.store.process().inbox.put(notice(channel=USER), event="e1")

    await harness.work()

    assert harness.seen.messages == []
    assert isinstance(put, Queued)
    assert await harness.store.field(put.turn, "what") == "not shown: not_in_channel"
    assert harness.counted('bridge_turn_seconds_count{kind="notice",outcome="not shown"} 1.0')
