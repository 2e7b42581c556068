"""Turns that wait: for the service, Slack, Redis or an agent choice."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.ends.notices import SEND_AGAIN
from bridge.features.buttons import run_value
from bridge.features.workflows.run_card import AGAIN
from bridge.inbound import InboundMessage
from bridge.playground.emulator.faults import DropBefore, Error, Slow
from bridge.playground.emulator.sample import BOB, BRIDGE, CAROL, OTHER_TEAM, RANDOM
from bridge.queue.records import Conversation
from support.harness import POST, REFUSED, SALES, SUPPORT, Harness, kill_task
from support.store import PREFIX, ROOT, THREAD, USER, message, ts
from support.waiting import wait_until


def down_until(harness: Harness, sleeps: int) -> None:
    """Make the service unavailable until *sleeps* pauses have passed."""
    harness.service.always = REFUSED

    async def count() -> None:
        if len(harness.slept) >= sleeps:
            harness.service.always = None

    harness.on_sleep = count


async def test_during_an_outage_a_thread_gets_one_notice_and_then_its_answer(harness: Harness) -> None:
    down_until(harness, 20)
    await harness.store.queue(message("first"), agent=7)
    await harness.store.queue(message("second", ts(1)))

    await harness.work()

    assert harness.service.messages == ["first", "second"]
    assert [one.tag.kind for one in harness.seen.messages] == ["bridge_notice", "bridge_turn", "bridge_turn"]
    assert "Your message is queued" in harness.seen.texts[0]
    assert harness.seen.texts[1:] == ["re: first", "re: second"]


@pytest.mark.parametrize("did_arrive", [False, True])
async def test_an_outage_brings_one_notice_despite_a_kill(harness: Harness, *, did_arrive: bool) -> None:
    harness.service.always = REFUSED
    await harness.store.queue(message("first"), agent=7)
    harness.hang(is_done=did_arrive)
    work = await harness.start_next()
    await wait_until(lambda: harness.seen.attempts == 1, "the notice is under way")
    await kill_task(work)

    down_until(harness, len(harness.slept) + 20)
    await harness.take_over()

    assert [one.tag.kind for one in harness.seen.messages] == ["bridge_notice", "bridge_turn"]


@pytest.mark.parametrize("status", [401, 403])
async def test_a_rejected_key_is_an_outage_until_the_service_accepts_it(harness: Harness, status: int) -> None:
    harness.service.always = httpx.Response(status)
    for text in ("first", "second"):
        await harness.say(f"<@{BRIDGE}> {text}", works=False)
    posted = [asyncio.create_task(harness.work(name)) for name in ("a", "b")]
    await wait_until(lambda: len(harness.seen.replies("bridge_notice")) == 2, "each thread is told")

    harness.service.always = None
    await asyncio.gather(*posted)

    assert sorted(harness.service.messages) == ["first", "second"]
    assert sorted(harness.seen.texts)[:2] == ["re: first", "re: second"]
    assert (len(harness.seen.messages), harness.seen.ephemerals) == (4, [])


@pytest.mark.parametrize("status", [401, 403])
async def test_an_agent_that_the_key_may_not_use_fails_only_its_turn(harness: Harness, status: int) -> None:
    harness.service.chats = [httpx.Response(status, json={"error": "not yours"})]
    await harness.say(f"<@{BRIDGE}> first")
    await harness.say(f"<@{BRIDGE}> second")

    assert harness.service.messages == ["first", "second"]
    assert harness.seen.texts[0] == "⚠️ The project service rejected your message: “not yours”. Ask your admin."
    assert harness.seen.texts[1] == "re: second"


async def test_every_outage_brings_a_new_notice(harness: Harness) -> None:
    for number, text in enumerate(("first", "second")):
        down_until(harness, len(harness.slept) + 20)
        await harness.store.queue(message(text, ROOT if number == 0 else ts(number)), agent=7)
        await harness.work()

    assert [one.tag.kind for one in harness.seen.messages] == ["bridge_notice", "bridge_turn"] * 2


async def test_a_message_outlasts_an_outage_of_any_length(harness: Harness) -> None:
    await harness.store.queue(message("patient"), agent=7)
    harness.service.chats = [REFUSED] * 60  # each probe succeeds, each request fails

    await harness.work()

    assert harness.service.messages == ["patient"]
    assert harness.seen.replies()[-1].words == "re: patient"


async def test_a_conversation_waits_while_the_list_of_agents_is_unavailable(harness: Harness) -> None:
    down_until(harness, 20)
    await harness.store.queue(message("first"))

    await harness.work()

    assert [one.tag.kind for one in harness.seen.messages] == ["bridge_notice", "bridge_turn"]
    assert harness.service.messages == ["first"]


async def test_a_busy_service_is_retried_at_its_time(harness: Harness) -> None:
    harness.service.chats = [httpx.Response(429, headers={"Retry-After": "30"})] * 12
    turn = await harness.store.queue(message("hello"), agent=7)

    await harness.work()

    assert 30 in harness.slept
    assert harness.seen.texts == ["re: hello"]
    assert len(harness.service.messages) == 13
    assert (await harness.store.did(turn)).count("took") == 1


async def test_a_service_that_asks_for_hours_is_tried_hourly(harness: Harness) -> None:
    times = {"Date": "Wed, 04 Mar 2026 12:00:00 GMT", "Retry-After": "Wed, 04 Mar 2026 17:00:00 GMT"}
    busy = httpx.Response(429, headers=times)
    harness.service.chats, harness.service.run_answers = [busy], [busy]
    await harness.type_command("/workflows run 3 hello")
    await harness.say(f"<@{BRIDGE}> hello")

    assert "Try again in 5 h" in str(harness.seen.messages[0].blocks)
    assert [seconds for seconds in harness.slept if seconds > 60] == [3600]
    assert harness.seen.texts[-1] == "re: hello"


async def test_a_message_waiting_for_the_service_can_be_edited_and_withdrawn(harness: Harness) -> None:
    harness.service.always = REFUSED
    await harness.store.queue(message("first"), agent=7)
    await harness.store.queue(message("second", ts(1)))
    task = await harness.start_next()
    await wait_until(lambda: harness.seen.messages, "the notice is posted")

    inbox = harness.store.process().inbox
    edited = await inbox.edit(message("better"))
    withdrawn = await inbox.withdraw(message("second", ts(1)).key)
    harness.service.always = None
    await task
    await harness.work()

    assert (edited, withdrawn) == ("edited", "withdrawn")
    assert harness.service.messages == ["better"]


async def test_a_turn_waiting_for_the_service_frees_its_slot(harness: Harness) -> None:
    harness.service.always = REFUSED
    harness.slots.free -= 1

    async def never() -> None:
        await asyncio.Event().wait()

    await harness.store.conversation()
    task = await harness.start_next()
    await wait_until(lambda: harness.seen.messages, "the notice is posted")
    harness.on_sleep = never
    await wait_until(lambda: harness.slots.free == 10, "the slot was released")
    await kill_task(task)

    assert harness.slots.free == 9


async def test_draining_during_an_outage_releases_the_lane_unsent(harness: Harness) -> None:
    harness.service.always = REFUSED
    turn = await harness.store.queue(message("hello"), agent=7)
    task = await harness.start_next("a")
    await wait_until(lambda: harness.seen.messages, "the notice is posted")

    harness.draining.set()
    await task

    assert await harness.store.entries() == 1
    assert await harness.store.field(turn, "step") == "queued"
    harness.draining.clear()
    harness.service.always = None
    harness.monotonic += 10
    await harness.work("b")
    assert harness.seen.replies()[0].words == "re: hello"
    assert len(harness.seen.replies("bridge_notice")) == 1


async def test_a_command_in_a_channel_does_not_bind_its_thread_while_the_service_is_down(harness: Harness) -> None:
    down_until(harness, 20)
    await harness.store.queue(message("!agents", is_mention=True), condition="none", in_order=False)

    await harness.work()

    assert await harness.store.sessions.thread(THREAD) is None
    assert len(harness.seen.ephemerals) == 1


async def menu_is_shown(harness: Harness, *more: InboundMessage) -> None:
    """Start a thread whose agent has to be chosen."""
    harness.service.agents = [SUPPORT, SALES]
    await harness.store.queue(message("first"))
    for one in more:
        await harness.store.queue(one)
    await harness.work()


async def test_all_messages_wait_until_someone_chooses_in_the_menu(harness: Harness) -> None:
    await menu_is_shown(harness, message("second", ts(1)), message("third", ts(2)))
    assert [one.tag.kind for one in harness.seen.messages] == ["bridge_menu"]
    assert harness.service.asked == []

    await harness.store.sessions.choose_agent(THREAD, 8)
    await harness.work("b")

    assert harness.service.messages == ["first", "second", "third"]
    assert {body["agent"] for body in harness.service.asked} == {8}
    assert [one.words for one in harness.seen.replies()] == ["re: first", "re: second", "re: third"]
    assert len(harness.seen.replies("bridge_menu")) == 1


async def test_a_choice_while_the_menu_is_posted_needs_no_parking(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    hang = harness.hang(is_done=True)
    await harness.store.queue(message("first"))
    task = await harness.start_next()
    await wait_until(lambda: harness.seen.messages, "the menu is posted")
    await harness.store.sessions.choose_agent(THREAD, 8)
    hang.set()
    await task

    assert harness.seen.texts[-1] == "re: first"


async def test_deleting_the_first_message_removes_the_menu_and_what_waits_for_it(harness: Harness) -> None:
    await menu_is_shown(harness, message("second", ts(1)))

    await harness.store.process().inbox.withdraw(message().key)
    await harness.work()

    assert (harness.service.messages, harness.seen.messages, await harness.store.box()) == ([], [], [])
    assert [one.text for one in harness.seen.ephemerals] == [
        "Your message wasn't sent to the agent because the thread's first message was deleted."
    ]


@pytest.mark.parametrize("did_arrive", [True, False])
async def test_a_menu_is_shown_once_despite_a_kill(harness: Harness, redis: Redis, *, did_arrive: bool) -> None:
    harness.service.agents = [SUPPORT, SALES]
    harness.hang(is_done=did_arrive)
    await harness.store.queue(message("first"))
    task = await harness.start_next("a")
    await wait_until(lambda: harness.seen.attempts, "the menu is under way")
    await kill_task(task)

    await harness.take_over("b")

    assert [one.tag.kind for one in harness.seen.messages] == ["bridge_menu"]
    assert await redis.hlen(f"{PREFIX}parked") == 1


async def test_an_answer_after_a_menu_is_found_by_a_successor(harness: Harness) -> None:
    await menu_is_shown(harness)
    await harness.store.sessions.choose_agent(THREAD, 8)
    harness.slack.faults.on(POST, DropBefore())

    await harness.work()

    assert [one.words for one in harness.seen.replies()] == ["re: first"]


async def test_an_outage_notice_does_not_count_as_the_answer(harness: Harness) -> None:
    down_until(harness, 20)
    await harness.store.queue(message("first"), agent=7)
    harness.slack.faults.on(POST, Slow(0))  # the notice
    harness.slack.faults.on(POST, DropBefore())  # the answer

    await harness.work()

    assert [one.words for one in harness.seen.replies()] == ["re: first"]
    assert harness.seen.reads == 3, "soon, and when Slack can no longer be at the answer"


async def test_a_menu_that_slack_refuses_is_a_dead_letter(harness: Harness, redis: Redis) -> None:
    harness.slack.faults.on(POST, Error("not_in_channel"))
    await menu_is_shown(harness)

    assert await redis.zcard(f"{PREFIX}dead") == 1
    assert await harness.store.box() == []


async def test_naming_an_agent_after_the_menu_wakes_the_thread(harness: Harness) -> None:
    await menu_is_shown(harness)

    assert await harness.store.process().inbox.edit(message("Sales: first")) == "edited"
    await harness.store.sessions.choose_agent(THREAD, 8)
    await harness.work()

    assert harness.service.asked == [{"message": "first", "agent": 8}]
    assert await harness.store.sessions.thread(THREAD) == Conversation(agent=8, session=42, heard=ROOT)


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({"BRIDGE_ALLOWED_USERS": CAROL}, "You don't have access"),
        ({"BRIDGE_ALLOWED_CHANNELS": RANDOM}, "The bridge isn't enabled in this channel"),
    ],
    ids=["user", "channel"],
)
@pytest.mark.parametrize("kind", ["message", "command", "click"])
async def test_an_input_accepted_before_a_restriction_is_refused_when_it_begins(
    harness: Harness, kind: str, rules: dict[str, str], why: str
) -> None:
    match kind:
        case "message":
            await harness.store.queue(message("hello"), agent=7)
        case "command":
            await harness.type_command("/workflows run 3 hello", works=False)
        case _:
            await harness.click(AGAIN, run_value(3, "hello"))

    harness.configure(**rules)
    await harness.work()

    assert (harness.service.asked, harness.service.runs, harness.seen.messages) == ([], [], [])
    assert why in harness.seen.ephemerals[-1].words


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ({"deleted": True}, "Alice Adler no longer has an active account"),
        ({"team": OTHER_TEAM, "is_stranger": True}, "Alice Adler is no longer in this workspace"),
    ],
)
async def test_a_message_that_waited_for_someone_who_left_is_not_sent(
    harness: Harness, flags: dict[str, Any], why: str
) -> None:
    await harness.store.queue(message("hello"), agent=7)
    people = harness.slack.workspace.people
    people.put(USER, replace(people[USER], **flags))
    harness.store.clock.time += timedelta(minutes=2)

    await harness.work()

    assert (harness.service.asked, harness.seen.ephemerals) == ([], [])
    (told,) = harness.seen.messages
    assert (told.text, told.message.thread_ts) == (f"{why}, so I didn't act on their message.", ROOT)


@pytest.mark.parametrize(
    ("rules", "why"),
    [({}, "no longer has an active account"), ({"BRIDGE_ALLOWED_USERS": BOB}, "no longer has access to the bridge")],
)
async def test_another_persons_message_is_not_sent_again_once_they_left(
    harness: Harness, rules: dict[str, str], why: str
) -> None:
    harness.service.chats = [httpx.Response(500)]
    await harness.store.queue(message("hello"), agent=7)
    await harness.work()
    people = harness.slack.workspace.people
    people.put(USER, replace(people[USER], deleted=not rules))
    harness.monotonic += 120
    harness.configure(**rules)

    await harness.press(SEND_AGAIN, user=BOB)

    assert f"Alice Adler {why}, so I didn't act on their message." in harness.seen.texts
    assert len(harness.service.asked) == 1
