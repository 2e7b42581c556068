"""Runs, forms, clicks and threads started by commands: each at most once."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.ends.notices import SEND_AGAIN
from bridge.features.conversations.menu import CHOOSE
from bridge.features.workflows.run_card import NOTIFY
from bridge.features.workflows.runs import results_of
from bridge.playground.emulator.faults import DropAfter, DropBefore, Error, Fault, Hang, RateLimited, Slow
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, DM_ALICE, DM_BOB
from bridge.queue.records import Conversation
from bridge.slack.parts import Place
from support import real_redis
from support.harness import POST, SALES, SUPPORT, Harness, Posted, kill_task
from support.store import CHANNEL, PREFIX, ROOT, THREAD, key_of, message
from support.waiting import wait_until


async def test_a_run_is_started_once_and_its_result_is_posted(harness: Harness) -> None:
    await harness.type_command("/workflows run 3 my secret input")

    assert harness.service.runs == ["my secret input"]
    (card,) = harness.seen.replies("bridge_run")
    assert card.place == Place(CHANNEL)
    assert await results_of(harness.store.scripts, card.tag.turn) == ({"n": 1}, None)
    assert 6.9 < await harness.store.days_left(f"results:{card.tag.turn}") <= 7
    assert not await harness.store.contains_text("my secret input")


@pytest.mark.parametrize("answer", [httpx.Response(500), httpx.ReadTimeout("slow"), httpx.Response(400)])
async def test_a_failed_run_is_not_retried(harness: Harness, answer: httpx.Response | Exception) -> None:
    harness.service.run_answers = [answer]
    await harness.type_command("/workflows run 3 input")

    assert len(harness.service.runs) == 1
    assert len(harness.seen.replies("bridge_run")) == 1


async def test_a_taken_over_run_is_reported_as_unknown(harness: Harness) -> None:
    await harness.type_command("/workflows run 3 input", works=False)
    process = harness.store.process("a")
    taken = await process.take()
    await process.journal.sent(taken, note='{"workflow": 3, "name": "Import", "input": "input"}')

    await harness.take_over("b")

    assert harness.service.runs == []
    assert await harness.store.field(taken.record.id, "what") == "unknown"
    assert len(harness.seen.replies("bridge_run")) == 1


async def test_the_card_of_a_run_becomes_its_result_despite_a_kill(harness: Harness) -> None:
    await harness.type_command("/workflows run 3 input", works=False)
    process = harness.store.process("a")
    taken = await process.take()
    await process.journal.sent(taken, note='{"workflow": 3, "name": "Import", "input": "input"}')
    harness.write("1700000800.000100", "Running", user=BRIDGE)
    await process.journal.card(taken, key_of("1700000800.000100"))

    await harness.take_over("b")

    assert [update["ts"] for update in harness.seen.updates] == ["1700000800.000100"]
    assert len(harness.seen.messages) == 1


async def test_a_run_card_goes_by_response_url_outside_the_bots_channels(harness: Harness) -> None:
    harness.slack.faults.on(POST, Error("not_in_channel"))
    await harness.type_command("/workflows run 3 input")

    (response,) = harness.slack.responses
    assert (response.channel, response.content["response_type"]) == (CHANNEL, "in_channel")
    assert harness.seen.replies("bridge_run") == []


async def test_an_expired_trigger_brings_a_button(harness: Harness) -> None:
    await harness.type_command("/workflows run 3", works=False)
    await harness.store.process("a").take()

    await harness.take_over("b")

    assert harness.seen.forms == []
    assert len(harness.seen.ephemerals) == 1


async def test_a_chat_started_by_a_command_is_one_thread_with_one_question(harness: Harness) -> None:
    harness.slack.faults.on(POST, DropAfter())
    await harness.type_command("/agents chat Support how are you?")

    (root,) = harness.seen.replies("bridge_root")
    (answer,) = harness.seen.replies()
    assert (root.place.thread_ts, answer.place.thread_ts) == ("", root.ts)
    assert harness.service.asked == [{"message": "how are you?", "agent": 7}]


async def test_a_chat_started_by_a_command_is_asked_once_despite_a_kill(harness: Harness) -> None:
    harness.hang(is_done=True)
    await harness.type_command("/agents chat Support how are you?", works=False)
    task = await harness.start_next("a")
    await wait_until(lambda: harness.seen.messages, "the root is posted")
    await kill_task(task)

    await harness.take_over("b")
    await harness.work("b")

    assert len(harness.seen.replies("bridge_root")) == 1
    assert harness.service.messages == ["how are you?"]


async def test_a_choice_in_the_menu_sends_the_message(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    await harness.store.queue(message("first"))
    await harness.work()
    await harness.press(CHOOSE, "8")

    assert harness.service.asked == [{"message": "first", "agent": 8}]
    assert await harness.store.sessions.thread(THREAD) == Conversation(agent=8, session=42, heard=ROOT)


async def test_send_again_sends_once_however_often_pressed(harness: Harness) -> None:
    harness.service.chats = [httpx.Response(500)]
    await harness.store.queue(message("do it, please"))
    await harness.work()
    for _ in range(3):
        await harness.press(SEND_AGAIN, works=False)

    await harness.work()

    assert harness.service.messages == ["do it, please"] * 2
    assert harness.seen.texts[-1] == "re: do it, please"
    assert not await harness.store.contains_text("do it, please")


async def test_the_notice_of_a_queued_message_disappears_with_its_answer(harness: Harness) -> None:
    harness.service.chats = [httpx.Response(500)]
    await harness.store.queue(message("do it, please"))
    await harness.work()
    harness.service.gate.clear()
    await harness.press(SEND_AGAIN, works=False)
    work = [await harness.start_next()]
    await wait_until(lambda: any("Queued after" in text for text in harness.seen.texts), "the notice is shown")
    work.append(await harness.start_next())
    await wait_until(lambda: harness.service.in_flight == 1, "the agent is asked again")

    harness.service.gate.set()
    await asyncio.gather(*work)

    assert harness.seen.texts == ["re: do it, please"]


async def test_an_answer_before_its_notice_is_shown_removes_it_too(harness: Harness) -> None:
    harness.service.chats = [httpx.Response(500)]
    await harness.store.queue(message("do it, please"))
    await harness.work()
    shown = harness.hang("chat.update", is_done=True)
    await harness.press(SEND_AGAIN, works=False)
    work = [await harness.start_next(), await harness.start_next()]
    await wait_until(lambda: "re: do it, please" in harness.seen.texts, "it's answered")

    shown.set()
    await asyncio.gather(*work)

    assert harness.seen.texts == ["re: do it, please"]


@pytest.mark.parametrize("error", ["message_not_found", "edit_window_closed", "cant_update_message"])
async def test_a_run_whose_card_cant_be_edited_posts_its_end(harness: Harness, error: str) -> None:
    await harness.type_command("/workflows run 3 input", works=False)
    harness.service.run_gate.clear()
    work = await harness.start_next()
    await wait_until(lambda: harness.seen.replies("bridge_run"), "its card is shown")
    harness.slack.faults.on("chat.update", Error(error))

    harness.service.run_gate.set()
    await work
    await harness.work()

    (card,) = harness.seen.messages
    assert "completed" in card.text
    assert card.place == Place(CHANNEL)
    assert harness.service.runs == ["input"]


async def test_a_new_card_is_found_again_after_a_kill(harness: Harness) -> None:
    await harness.type_command("/workflows run 3 input", works=False)
    harness.service.run_gate.clear()
    work = await harness.start_next()
    await wait_until(lambda: harness.seen.replies("bridge_run"), "its card is shown")
    harness.slack.faults.on("chat.update", Error("edit_window_closed"))
    harness.slack.faults.on("chat.delete", Error("cant_delete_message"))
    harness.hang(is_done=True)
    harness.service.run_gate.set()
    await wait_until(lambda: len(harness.seen.messages) == 2, "its end is posted anew")
    await kill_task(work)

    harness.slack.faults.on("chat.update", Error("edit_window_closed"))
    await harness.take_over()

    assert ["completed" in one.text for one in harness.seen.messages] == [True]


async def test_a_run_goes_by_response_url_once_the_bot_is_gone(harness: Harness) -> None:
    await harness.type_command("/workflows run 3 input", works=False)
    harness.service.run_gate.clear()
    work = await harness.start_next()
    await wait_until(lambda: harness.seen.replies("bridge_run"), "its card is shown")
    for method in ("chat.update", "chat.delete", POST):
        harness.slack.faults.on(method, Error("not_in_channel"))

    harness.service.run_gate.set()
    await work

    (response,) = harness.slack.responses
    assert "completed" in response.content["text"]


async def test_an_expired_text_is_not_sent(harness: Harness, redis: Redis) -> None:
    harness.service.chats = [httpx.Response(500)]
    turn = await harness.store.queue(message("first"))
    await harness.work()
    await redis.delete(f"{PREFIX}turn:{turn}")
    await harness.press(SEND_AGAIN)

    assert harness.service.messages == ["first"]
    assert len(harness.seen.ephemerals) == 1


async def test_a_handler_waits_for_redis_however_long_it_is_down(harness: Harness, redis: Redis) -> None:
    await harness.type_command("/stats", works=False)
    language = harness.hang("users.info")
    work = await harness.start_next()
    await wait_until(lambda: harness.seen.called("users.info"), "the handler is running")

    with real_redis.refused_commands(redis):
        language.set()
        await wait_until(lambda: len(harness.slept) > 1100, "many retries have passed")
    await work

    assert "4,321 runs" in harness.seen.ephemerals[0].text


async def test_a_failed_handlers_staged_writes_are_dropped(harness: Harness) -> None:
    turn = await harness.turn(message("hello"), agent=7)
    turn.stage(("push", f"{PREFIX}staged", 86_400_000, "x", 10))

    await turn.restart()

    assert turn.staged == []


async def test_a_handler_has_one_effect_only(harness: Harness) -> None:
    async def effect() -> str:
        return "done"

    turn = await harness.turn(message("hello"), agent=7)
    assert await turn.once(effect) == "done"

    with pytest.raises(RuntimeError, match="one effect"):
        await turn.once(effect)

    await turn.restart()
    assert await turn.once(effect) == "done"


LINES = [f"{number:06d} of a long output" for number in range(40_000)]  # 1 MB


async def run_without_files(harness: Harness, *declined: str) -> None:
    """Decline files:write and other scopes, and type a command for a run with a long output."""
    harness.slack.scopes.difference_update({"files:write", *declined})
    harness.identity = (await harness.wires.web.hello()).identity
    harness.configure()
    result = {"runId": 5, "status": "completed", "output": "\n".join(LINES), "nodeResults": {}}
    harness.service.run_answers = [httpx.Response(200, json=result)]
    await harness.type_command("/workflows run 3 input", works=False)


def posted_once(harness: Harness) -> str:
    """Check that the card is in the channel and each part of its output once in its thread; return all text."""
    card, *output = harness.seen.messages
    assert card.place == Place(CHANNEL)
    assert {one.place for one in output} == {Place(CHANNEL, card.ts)}
    texts = [one.text for one in output]
    assert len(texts) == len(set(texts)) == 7
    return "\n".join(texts)


@pytest.mark.parametrize(
    ("fault", "number"),
    [
        (DropBefore(), 1), (DropAfter(), 2), (Error("team_added_to_org"), 5), (RateLimited(1), 8), (DropBefore(), 5),
        (DropAfter(), 8),
    ],
)  # fmt: skip
async def test_a_long_output_without_files_is_posted_once(harness: Harness, fault: Fault, number: int) -> None:
    await run_without_files(harness)
    harness.slack.faults.on(POST, fault, when=lambda _args: harness.seen.attempts == number)

    await harness.work()

    shown = posted_once(harness)
    assert LINES[0] in shown
    assert LINES[-1] in shown
    assert "characters left out here" in shown
    assert "the permission files:write" in shown


@pytest.mark.parametrize("number", [2, 5, 8])
async def test_a_successor_posts_the_rest_of_a_long_output(harness: Harness, number: int) -> None:
    await run_without_files(harness)
    harness.slack.faults.on(POST, fault := Hang(is_done=True), when=lambda _args: harness.seen.attempts == number)
    task = await harness.start_next()
    await wait_until(lambda: harness.seen.attempts == number and len(harness.seen.messages) == number, "it's posted")
    await kill_task(task)
    fault.until.set()

    await harness.take_over()

    posted_once(harness)


@pytest.mark.parametrize("number", [2, 5])
async def test_a_long_output_in_doubt_is_not_posted_twice(harness: Harness, number: int) -> None:
    await run_without_files(harness, "channels:history", "groups:history")
    harness.slack.faults.on(POST, DropAfter(), when=lambda _args: harness.seen.attempts == number)

    await harness.work()

    texts = [one.text for one in harness.seen.messages]
    assert len(texts) == len(set(texts)) == number + 1
    assert "Slack didn't confirm my last message" in texts[-1]


@asynccontextmanager
async def long_run(harness: Harness) -> AsyncIterator[Posted]:
    """Start a run that takes two minutes; yield its card once that offers to notify people."""
    harness.service.run_gate.clear()
    turns = harness.parts().turns
    quick = dataclasses.replace(turns, deps=dataclasses.replace(turns.deps, long_run=timedelta(seconds=0.6)))
    await harness.type_command("/workflows run 3 hello", works=False)
    process = harness.store.process()
    held = (await process.hold(most=1))[0]
    work = asyncio.create_task(quick.work(harness.lease(process, held)))
    await wait_until(lambda: NOTIFY in str(cards(harness)), "the card offers to notify")
    yield harness.seen.replies("bridge_run")[0]
    harness.store.clock.time += timedelta(minutes=2)
    harness.service.run_gate.set()
    await work
    await harness.work()


def cards(harness: Harness) -> list[Any]:
    return [one.blocks for one in harness.seen.replies("bridge_run")]


def notices(harness: Harness) -> list[Posted]:
    return [one for one in harness.seen.messages if one.place.channel in {DM_ALICE, DM_BOB}]


async def test_the_end_of_a_long_run_is_told_to_those_who_asked(harness: Harness) -> None:
    async with long_run(harness) as card:
        for user in (BOB, ALICE, BOB):
            await harness.press(NOTIFY, user=user, works=False)
        await harness.work("b")

    assert [one.place.channel for one in notices(harness)] == [DM_ALICE, DM_BOB]
    assert {one.words.partition(" ·")[0] for one in notices(harness)} == {"✅ Import"}
    assert "completed · 2 min" in notices(harness)[0].words
    assert f"/archives/{CHANNEL}/p{card.ts.replace('.', '')}" in str(notices(harness)[0].blocks)
    assert NOTIFY not in str(cards(harness)), "the finished card offers nothing to wait for"
    assert "@" not in "".join(one.words for one in notices(harness))


async def test_a_press_after_the_end_is_told_so(harness: Harness) -> None:
    async with long_run(harness):
        pass
    (card,) = harness.seen.replies("bridge_run")
    await harness.click(NOTIFY, card.tag.turn)

    await harness.work()

    assert harness.seen.ephemerals[-1].words == "This run has already ended."
    assert notices(harness) == []


async def test_the_end_of_a_run_is_not_told_to_someone_without_access(harness: Harness) -> None:
    async with long_run(harness):
        await harness.press(NOTIFY, user=BOB, works=False)
        await harness.work("b")
        people = harness.slack.workspace.people
        people.put(BOB, dataclasses.replace(people[BOB], deleted=True))
        harness.monotonic += 120

    assert notices(harness) == []


async def test_the_end_of_a_run_is_told_while_slack_does_not_say_who_has_access(harness: Harness) -> None:
    async with long_run(harness):
        await harness.press(NOTIFY, user=BOB, works=False)
        await harness.work("b")
        harness.slack.faults.on("users.info", RateLimited(30), times=None)
        harness.monotonic += 120

    assert [one.place.channel for one in notices(harness)] == [DM_BOB]


async def test_a_card_that_is_posted_late_offers_a_notice(harness: Harness) -> None:
    harness.slack.faults.on(POST, Slow(0.8))

    async with long_run(harness) as card:
        assert NOTIFY in str(card.blocks)


async def test_a_short_run_offers_no_notice(harness: Harness) -> None:
    await harness.type_command("/workflows run 3 hello")

    assert NOTIFY not in str(cards(harness))
