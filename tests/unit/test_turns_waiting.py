"""Turns that wait: for the service, for Slack, for Redis, for somebody to choose an agent."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from redis.asyncio import Redis

from bridge.errors import SlackAmbiguous, SlackRefused
from bridge.inbound import InboundMessage
from bridge.queue.records import Conversation
from support.store import PREFIX, ROOT, THREAD, message, ts
from support.turns import REFUSED, SALES, SUPPORT, Bench, killed
from support.waiting import wait_until


def down_until(bench: Bench, sleeps: int) -> None:
    """Let the service be down, and back after so many pauses."""
    bench.service.always = REFUSED

    async def count() -> None:
        if len(bench.slept) >= sleeps:
            bench.service.always = None

    bench.on_sleep = count


async def test_while_the_service_is_down_a_thread_reads_it_once_and_is_answered_by_itself(bench: Bench) -> None:
    down_until(bench, 20)
    await bench.store.queue(message("first"), agent=7)
    await bench.store.queue(message("second", ts(1)))

    await bench.work()

    assert bench.service.messages == ["first", "second"]
    assert [one.tag.kind for one in bench.say.messages] == ["bridge_notice", "bridge_turn", "bridge_turn"]
    assert "Your message is kept" in bench.say.words[0]
    assert bench.say.words[1:] == ["re: first", "re: second"]


@pytest.mark.parametrize("did_arrive", [False, True])
async def test_an_outage_is_told_once_though_its_worker_is_killed(bench: Bench, *, did_arrive: bool) -> None:
    bench.service.always = REFUSED
    await bench.store.queue(message("first"), agent=7)
    (bench.say.after if did_arrive else bench.say.gate).clear()
    work = await bench.begin()
    await wait_until(lambda: bench.say.attempts == 1, "the notice is on its way")
    await killed(work)
    bench.say.after.set()
    bench.say.gate.set()

    down_until(bench, len(bench.slept) + 20)
    await bench.take_over()

    assert [one.tag.kind for one in bench.say.messages] == ["bridge_notice", "bridge_turn"]


async def test_every_outage_is_told_anew(bench: Bench) -> None:
    for number, text in enumerate(("first", "second")):
        down_until(bench, len(bench.slept) + 20)
        await bench.store.queue(message(text, ROOT if number == 0 else ts(number)), agent=7)
        await bench.work()

    assert [one.tag.kind for one in bench.say.messages] == ["bridge_notice", "bridge_turn"] * 2


async def test_a_message_outlasts_an_outage_of_any_length(bench: Bench) -> None:
    await bench.store.queue(message("patient"), agent=7)
    bench.service.chats = [REFUSED] * 60  # each time it seems to be back, and is not

    await bench.work()

    assert bench.service.messages == ["patient"]
    assert bench.say.replies()[-1].words == "re: patient"


async def test_an_agents_list_that_cannot_be_had_keeps_a_new_conversation_waiting(bench: Bench) -> None:
    down_until(bench, 20)
    await bench.store.queue(message("first"))

    await bench.work()

    assert [one.tag.kind for one in bench.say.messages] == ["bridge_notice", "bridge_turn"]
    assert bench.service.messages == ["first"]


async def test_a_service_that_is_busy_is_asked_again_when_it_says(bench: Bench) -> None:
    bench.service.chats = [httpx.Response(429, headers={"Retry-After": "30"})] * 12
    turn = await bench.store.queue(message("hello"), agent=7)

    await bench.work()

    assert 30 in bench.slept
    assert bench.say.words == ["re: hello"]
    assert len(bench.service.messages) == 13
    assert await bench.store.field(turn, "takes") == "1"


async def test_what_waits_for_the_service_can_be_edited_and_withdrawn(bench: Bench) -> None:
    bench.service.always = REFUSED
    await bench.store.queue(message("first"), agent=7)
    await bench.store.queue(message("second", ts(1)))
    task = await bench.begin()
    await wait_until(lambda: bench.say.messages, "the thread was told")

    inbox = bench.store.process().inbox
    edited = await inbox.edit(message("better"))
    withdrawn = await inbox.withdraw(message("second", ts(1)).key)
    bench.service.always = None
    await task
    await bench.work()

    assert (edited, withdrawn) == ("edited", "withdrawn")
    assert bench.service.messages == ["better"]


async def test_who_waits_for_the_service_lends_its_slot_to_others(bench: Bench) -> None:
    bench.service.always = REFUSED
    bench.slots.free -= 1

    async def never() -> None:
        await asyncio.Event().wait()

    await bench.store.conversation()
    task = await bench.begin()
    await wait_until(lambda: bench.say.messages, "the thread was told")
    bench.on_sleep = never
    await wait_until(lambda: bench.slots.free == 10, "the slot was lent")
    await killed(task)

    assert bench.slots.free == 9


async def test_draining_during_an_outage_gives_the_lane_back_unsent(bench: Bench) -> None:
    bench.service.always = REFUSED
    turn = await bench.store.queue(message("hello"), agent=7)
    task = await bench.begin("a")
    await wait_until(lambda: bench.say.messages, "the thread was told")

    bench.draining.set()
    await task

    assert await bench.store.entries() == 1
    assert await bench.store.field(turn, "step") == "queued"
    bench.draining.clear()
    bench.service.always = None
    bench.monotonic += 10
    await bench.work("b")
    assert bench.say.replies()[0].words == "re: hello"
    assert len(bench.say.replies("bridge_notice")) == 1


async def test_a_command_in_a_channel_does_not_bind_its_thread_while_the_service_is_down(bench: Bench) -> None:
    down_until(bench, 20)
    await bench.store.queue(message("!agents", is_mention=True), condition="none", in_order=False)

    await bench.work()

    assert await bench.store.sessions.thread(THREAD) is None
    assert len(bench.say.whispers) == 1


async def menu_is_shown(bench: Bench, *more: InboundMessage) -> None:
    """Let a thread begin whose agent has to be chosen."""
    bench.service.agents = [SUPPORT, SALES]
    await bench.store.queue(message("first"))
    for one in more:
        await bench.store.queue(one)
    await bench.work()


async def test_a_menu_keeps_all_messages_waiting_until_somebody_chooses(bench: Bench) -> None:
    await menu_is_shown(bench, message("second", ts(1)), message("third", ts(2)))
    assert [one.tag.kind for one in bench.say.messages] == ["bridge_menu"]
    assert bench.service.asked == []

    await bench.store.sessions.choose_agent(THREAD, 8)
    await bench.work("b")

    assert bench.service.messages == ["first", "second", "third"]
    assert {body["agent"] for body in bench.service.asked} == {8}
    assert [one.words for one in bench.say.replies()] == ["re: first", "re: second", "re: third"]
    assert len(bench.say.replies("bridge_menu")) == 1


async def test_a_choice_while_the_menu_is_posted_needs_no_parking(bench: Bench) -> None:
    bench.service.agents = [SUPPORT, SALES]
    bench.say.after.clear()
    await bench.store.queue(message("first"))
    task = await bench.begin()
    await wait_until(lambda: bench.say.messages, "the menu is there")
    await bench.store.sessions.choose_agent(THREAD, 8)
    bench.say.after.set()
    await task

    assert bench.say.words[-1] == "re: first"


async def test_a_withdrawn_message_takes_its_menu_with_it(bench: Bench) -> None:
    await menu_is_shown(bench, message("second", ts(1)))

    await bench.store.process().inbox.withdraw(message().key)
    await bench.work()
    await bench.store.sessions.choose_agent(THREAD, 7)
    await bench.work()

    assert bench.service.messages == ["second"]


@pytest.mark.parametrize("did_arrive", [True, False])
async def test_a_menu_is_shown_once_though_its_worker_is_killed(
    bench: Bench, redis: Redis, *, did_arrive: bool
) -> None:
    bench.service.agents = [SUPPORT, SALES]
    (bench.say.after if did_arrive else bench.say.gate).clear()
    await bench.store.queue(message("first"))
    task = await bench.begin("a")
    await wait_until(lambda: bench.say.attempts, "the menu is under way")
    await killed(task)
    bench.say.after.set()
    bench.say.gate.set()

    await bench.take_over("b")

    assert [one.tag.kind for one in bench.say.messages] == ["bridge_menu"]
    assert await redis.hlen(f"{PREFIX}parked") == 1


async def test_an_answer_after_a_menu_is_found_by_who_takes_over(bench: Bench) -> None:
    await menu_is_shown(bench)
    await bench.store.sessions.choose_agent(THREAD, 8)
    bench.say.troubles = [SlackAmbiguous("chat.postMessage")]

    await bench.work()

    assert [one.words for one in bench.say.replies()] == ["re: first"]


async def test_the_notice_of_an_outage_is_not_taken_for_the_answer(bench: Bench) -> None:
    down_until(bench, 20)
    bench.say.troubles = [None, SlackAmbiguous("chat.postMessage")]
    await bench.store.queue(message("first"), agent=7)

    await bench.work()

    assert [one.words for one in bench.say.replies()] == ["re: first"]
    assert bench.say.looks == 1


async def test_a_menu_that_slack_refuses_is_a_dead_letter(bench: Bench, redis: Redis) -> None:
    bench.say.troubles = [SlackRefused("chat.postMessage", "not_in_channel")]
    await menu_is_shown(bench)

    assert await redis.zcard(f"{PREFIX}dead") == 1
    assert await bench.store.box() == []


async def test_the_agent_that_is_named_after_the_menu_wakes_the_thread_with_its_own_words(bench: Bench) -> None:
    await menu_is_shown(bench)

    assert await bench.store.process().inbox.edit(message("Sales: first")) == "edited"
    await bench.store.sessions.choose_agent(THREAD, 8)
    await bench.work()

    assert bench.service.asked == [{"message": "first", "agent": 8}]
    assert await bench.store.sessions.thread(THREAD) == Conversation(agent=8, session=42, heard=ROOT)
