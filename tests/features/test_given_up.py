"""Whatever is given up says so, in the step that gives it up, and offers to repeat it where that's safe."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.cli.audit import result
from bridge.errors import LaneLost
from bridge.features.run_records import TriggeredRun
from bridge.features.schedules.schedule import StoredTask, read_report
from bridge.features.schedules.store import due_task
from bridge.inbound import Click, HomeOpened, Inbound, Notice, SlashCommand, Submission
from bridge.playground.emulator.faults import DropBefore, Error
from bridge.playground.emulator.sample import DM_ALICE
from bridge.queue.finished_turns import finished_turns_since
from bridge.queue.put import Queued
from bridge.slack.parts import Place
from support.dead_letters import letters
from support.harness import POST, READ, WHISPER, Harness
from support.store import CHANNEL, NAMESPACE, ROOT, START, TEAM, USER, message, ts

AGAIN, SHOW = "turn:again", "turn:show"
TYPED = {"team": TEAM, "channel": CHANNEL, "user": USER}


async def give_up(harness: Harness) -> None:
    """Have as many workers take the lanes without finishing them as may, and another one look at them."""
    await harness.store.process("a").hold()
    await harness.store.wear_out()
    await harness.take_over("b")


async def test_a_message_given_up_unsent_says_so_and_can_be_sent_again(harness: Harness) -> None:
    turn = await harness.store.queue(message("hello"), agent=7)
    await give_up(harness)

    await harness.work()

    (told,) = harness.seen.messages
    assert told.place == Place(CHANNEL, ROOT)
    assert "wasn't sent to the agent" in told.words
    assert await harness.store.field(turn, "step") == "dead"
    await harness.press(AGAIN)
    assert harness.service.messages == ["hello"]
    assert "re: hello" in harness.seen.texts
    assert await letters(harness.store).all() == []


async def test_a_notice_is_queued_in_the_very_step_that_gives_up(harness: Harness) -> None:
    await harness.store.queue(message("hello"), agent=7)

    await give_up(harness)  # and end: nothing else runs in this process

    assert await harness.store.entries() == 1
    await harness.work("c")
    assert "wasn't sent to the agent" in harness.seen.texts[0]


async def test_a_message_given_up_after_its_request_is_in_doubt(harness: Harness) -> None:
    await harness.store.queue(message("hello"), agent=7)
    process = harness.store.process()
    await process.journal.sent(await process.take())
    await harness.store.wear_out()
    await harness.take_over("b")

    await harness.work()

    (told,) = harness.seen.messages
    assert "can't tell whether the agent received" in told.words
    assert "may repeat the work" in str(told.blocks)
    audited = [result(entry) async for entry in finished_turns_since(harness.store.scripts, START - timedelta(days=1))]
    assert "couldn't be finished (started several times, never finished; outcome unknown)" in audited
    assert "bridge_unknown_outcomes_total 1.0" in harness.metrics.exposition().decode()
    await harness.press(AGAIN)
    assert harness.service.messages == ["hello"]


async def test_an_answer_given_up_can_be_shown(harness: Harness) -> None:
    harness.slack.faults.on(POST, DropBefore(), times=4)
    harness.slack.faults.on(READ, Error("missing_scope"), times=None)
    await harness.store.queue(message("first"), agent=7)

    await harness.work()

    (told,) = harness.seen.messages
    assert "may be missing here" in told.words
    await harness.press(SHOW)
    assert "re: first" in harness.seen.texts
    assert harness.service.messages == ["first"]


async def test_an_unreadable_message_is_named_in_its_thread(harness: Harness, redis: Redis) -> None:
    turn = await harness.store.queue(message("hello"), agent=7)
    await redis.hset(f"{{{NAMESPACE}}}:turn:{turn}", "body", "not JSON")

    await harness.work()

    (told,) = harness.seen.messages
    assert (told.place, AGAIN in str(told.blocks)) == (Place(CHANNEL, ROOT), False)
    assert "Another version of the bridge saved this message" in told.words


async def test_an_unreadable_click_is_told_to_its_person(harness: Harness, redis: Redis) -> None:
    put = await harness.store.process().inbox.put(Click(**TYPED, action_id="x"))
    assert isinstance(put, Queued)
    body = json.dumps({**TYPED, "kind": "of tomorrow", "team": TEAM})
    await redis.hset(f"{{{NAMESPACE}}}:turn:{put.turn}", "body", body)

    await harness.work()

    (told,) = harness.seen.ephemerals
    assert (told.user, "I can't read it, so nothing was done" in told.text) == (USER, True)


async def test_an_unreadable_outcome_is_given_up_at_once(harness: Harness) -> None:
    turn = await harness.store.queue(message("hello"), agent=7)
    process = harness.store.process()
    taken = await process.take()
    await process.journal.outcome(taken, "{}", what="answered")
    await harness.take_over("b")

    await harness.work()

    assert await harness.store.field(turn, "step") == "dead"
    (told,) = harness.seen.messages
    assert "another version of the bridge saved it" in told.words


@pytest.mark.parametrize(
    ("inbound", "words", "button"),
    [
        (SlashCommand(**TYPED, command="/workflows", text="list"), "couldn't handle /workflows", AGAIN),
        (Submission(**TYPED | {"channel": ""}, form="run"), "couldn't handle your last action", AGAIN),
        (TriggeredRun(**TYPED, workflow=3, message=message("alert")), "couldn't handle an app's message", AGAIN),
    ],
)
async def test_other_inputs_given_up_are_told_in_private(
    harness: Harness, inbound: Inbound, words: str, button: str
) -> None:
    await harness.store.process().inbox.put(inbound)
    await give_up(harness)

    await harness.work()

    (told,) = [*harness.seen.ephemerals, *harness.seen.messages]
    assert told.user == USER or told.place == Place(DM_ALICE)
    assert (words in told.text, button in str(told.blocks)) == (True, True)


async def test_a_command_given_up_is_run_with_its_button(harness: Harness) -> None:
    await harness.store.process().inbox.put(SlashCommand(**TYPED, command="/workflows", text="run 3 hello"))
    await give_up(harness)
    await harness.work()

    await harness.press(AGAIN)

    assert harness.service.runs == ["hello"]


async def test_a_report_given_up_is_told_to_its_owner(harness: Harness) -> None:
    store, spec = harness.report_store(), read_report("daily 09:00").model_copy(update={**TYPED, "owner": USER})
    await harness.store.process().inbox.write(*store.add(StoredTask("r1", spec, START), START))
    stored = await store.get("r1")
    assert stored is not None
    await harness.store.process().inbox.put(due_task(stored, START, asked_by=USER))
    await give_up(harness)

    await harness.work()

    (told,) = harness.seen.messages
    assert (told.place, "scheduled report" in told.words) == (Place(DM_ALICE), True)


async def test_an_opened_home_tab_given_up_leaves_no_notice(harness: Harness) -> None:
    await harness.store.process().inbox.put(HomeOpened(**TYPED))
    await give_up(harness)

    assert await harness.store.entries() == 0


async def test_a_notice_given_up_twice_ends(harness: Harness) -> None:
    await harness.store.process().inbox.put(Notice(**TYPED, what="thread_full"))
    await give_up(harness)
    assert await harness.store.entries() == 1, "the notice as a direct message"

    await give_up(harness)

    assert await harness.store.entries() == 0
    assert len(await letters(harness.store).all()) == 2


async def test_a_withdrawn_message_given_up_leaves_no_notice(harness: Harness) -> None:
    await harness.store.queue(message("hello"), agent=7)
    await harness.store.process().inbox.withdraw(message("hello").key)
    await give_up(harness)

    assert await harness.store.entries() == 0


async def test_a_refused_menu_says_that_nothing_was_sent(harness: Harness) -> None:
    harness.service.agents = [{"id": 7, "name": "A", "model": "m"}, {"id": 8, "name": "B", "model": "m"}]
    harness.slack.faults.on(POST, Error("is_archived"))
    await harness.store.queue(message("hello"))

    await harness.work()

    (told,) = harness.seen.messages
    assert told.place == Place(DM_ALICE)
    assert "the channel is archived, so your message wasn't sent to the agent" in told.words
    assert AGAIN in str(told.blocks)


@pytest.mark.parametrize("retries_first", [True, False])
async def test_a_dead_letter_is_repeated_by_its_button_or_an_operator(harness: Harness, *, retries_first: bool) -> None:
    turn = await harness.store.queue(message("hello"), agent=7)
    await give_up(harness)
    await harness.work()
    if retries_first:
        assert (await letters(harness.store).retry(turn)).end == "queued"

    await harness.press(AGAIN)

    assert (await letters(harness.store).retry(turn)).end == "unknown"
    await harness.work()
    assert harness.service.messages == ["hello"]


async def test_the_rest_of_its_thread_goes_on(harness: Harness) -> None:
    await harness.store.queue(message("first"), agent=7)
    await give_up_only_first(harness)

    await harness.work()

    assert harness.service.messages == ["second"]


async def give_up_only_first(harness: Harness) -> None:
    await harness.store.process("a").hold()
    await harness.store.queue(message("second", ts(1)))
    await harness.store.wear_out()
    await harness.take_over("b")


async def test_a_lost_lane_gives_nothing_up(harness: Harness) -> None:
    await harness.store.queue(message("hello"), agent=7)
    process: Any = harness.store.process("a")
    (held,) = await process.hold()
    await harness.store.wear_out()
    await harness.store.process("b").take_over()

    with pytest.raises(LaneLost):
        await harness.turns(process).work(harness.lease(process, held))

    assert await harness.store.entries() == 1
    assert await letters(harness.store).all() == []


async def test_a_private_notice_refused_in_its_channel_is_a_direct_message(harness: Harness) -> None:
    harness.slack.faults.on(WHISPER, Error("not_in_channel"))
    await harness.store.process().inbox.put(SlashCommand(**TYPED, command="/workflows"))
    await give_up(harness)

    await harness.work()

    (told,) = harness.seen.messages
    assert (told.place, "couldn't handle /workflows" in told.words) == (Place(DM_ALICE), True)
