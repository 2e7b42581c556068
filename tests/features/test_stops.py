"""A stop ends exactly the turn it was meant for, in any process, and asks about the waiting messages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

from bridge.ends.notices import SEND_AGAIN
from bridge.errors import StoreUnavailable
from bridge.features.conversations.stops import DISCARD, SEND_WAITING, SHOW
from bridge.inbound import Click, StopRequest
from bridge.playground.emulator.sample import BOB
from bridge.queue.put import Queued
from bridge.queue.status import status_of
from bridge.slack.blockkit.reply import Block
from support.harness import NOT_NOW, POST, REFUSED, SALES, SUPPORT, Harness, kill_task
from support.store import BOT, CHANNEL, LANE, ROOT, TEAM, USER, message, ts
from support.waiting import wait_until

LATER = "1700000900.000000"
EARLIER = "1600000000.000000"


def a_click(action: str, **changes: Any) -> Click:
    fields = {"team": TEAM, "channel": CHANNEL, "user": USER, "action_id": action, "thread_ts": ROOT}
    return Click.model_validate(fields | changes)


def a_request(**changes: Any) -> StopRequest:
    fields = {"team": TEAM, "channel": CHANNEL, "user": USER, "given": LATER, "thread_ts": ROOT}
    return StopRequest.model_validate(fields | changes)


async def press_stop(harness: Harness, *, event: str = "EvStop", name: str = "a", **changes: Any) -> str:
    return await harness.parts(name).stopping.stop(a_request(**changes), event=event)


async def say_in_thread(harness: Harness, text: str, number: int) -> str:
    return (await harness.receive(message(text, ts(number), is_mention=BOT in text))).decision


async def press(harness: Harness, action: str, value: str = "held") -> None:
    click = a_click(action, value=value, message_ts=harness.seen.messages[-1].ts, trigger_id=action)
    await harness.store.process().inbox.put(click, event=f"press {action}")
    await harness.work("c")


def last(harness: Harness) -> str:
    return harness.seen.messages[-1].text


def buttons(harness: Harness) -> dict[str, str]:
    return buttons_in(harness.seen.messages[-1].blocks)


def buttons_in(blocks: Sequence[Block]) -> dict[str, str]:
    found = [element for block in blocks if block["type"] == "actions" for element in block["elements"]]
    return {element["action_id"]: element["value"] for element in found}


async def listening(harness: Harness) -> asyncio.Task[None]:
    stops = harness.store.process().inbox.stops
    task = asyncio.create_task(harness.turns(harness.store.process()).watches.listen(stops))
    channel = "{test}:stops"
    await wait_until(lambda: _has_listeners(harness, channel), "it listens")
    return task


async def _has_listeners(harness: Harness, channel: str) -> bool:
    return dict(await harness.store.redis.pubsub_numsub(channel)).get(channel, 0) > 0


async def test_a_running_call_is_closed_and_its_answer_is_not_shown(harness: Harness) -> None:
    harness.service.gate.clear()
    await harness.store.conversation(agent=7)
    listener, work = await listening(harness), await harness.start_next()
    await wait_until(lambda: harness.service.in_flight == 1, "the agent is asked")

    await press_stop(harness, name="b")

    await wait_until(lambda: harness.service.in_flight == 0, "the call is closed")
    await work
    await harness.work("c")
    assert "Stopped" in last(harness)
    assert "won't post its answer" in last(harness)
    assert len(harness.seen.replies()) == 1
    assert harness.seen.statuses[-1] == ""
    await kill_task(listener)


async def test_an_answer_after_a_stop_is_recorded_and_not_shown(harness: Harness) -> None:
    harness.service.gate.clear()
    turn = await harness.store.conversation(agent=7)
    work = await harness.start_next()
    await wait_until(lambda: harness.service.in_flight == 1, "the agent is asked")

    await press_stop(harness, name="b")  # but no process receives it
    harness.service.gate.set()
    await work

    assert harness.seen.texts == []
    assert "re: hello" in str(await harness.store.field(turn, "outcome"))
    assert await harness.store.field(turn, "what") == "stopped"
    conversation = await harness.store.sessions.thread(message().thread)
    assert conversation is not None
    assert conversation.session == 42  # the agent's session is resumed


async def test_a_stopped_message_that_was_not_sent_is_never_sent(harness: Harness) -> None:
    await harness.store.conversation(agent=7)

    await press_stop(harness)
    await harness.work()

    assert harness.service.messages == []
    assert "wasn't sent" in last(harness)


async def test_a_stopped_turn_of_a_dead_worker_ends_without_a_notice(harness: Harness) -> None:
    harness.service.gate.clear()
    await harness.store.conversation(agent=7)
    work = await harness.start_next()
    await wait_until(lambda: harness.service.in_flight == 1, "the agent is asked")
    await kill_task(work)

    await press_stop(harness, name="b")
    await harness.take_over()
    await harness.work("c")

    assert len(harness.seen.texts) == 1
    assert "Stopped" in last(harness)
    assert harness.service.messages == ["hello there"]


async def left_waiting_for_slack(harness: Harness) -> None:
    """Kill a worker while its recorded answer waits for Slack."""
    waits = asyncio.Event()

    async def wait() -> None:
        waits.set()
        await asyncio.Event().wait()

    harness.on_sleep = wait
    harness.slack.faults.on(POST, NOT_NOW)
    work = await harness.start_next()
    await waits.wait()
    await kill_task(work)
    harness.on_sleep = None


async def test_a_stop_prevents_a_dead_workers_waiting_post(harness: Harness) -> None:
    turn = await harness.store.conversation(agent=7)
    await harness.store.queue(message("two", ts(1)))
    await left_waiting_for_slack(harness)

    await press_stop(harness, name="b")
    await harness.take_over()
    await harness.work("c")

    assert "had already answered" in last(harness)
    assert buttons(harness)[SHOW] == turn
    assert {SEND_WAITING, DISCARD} < buttons(harness).keys()
    assert harness.service.messages == ["hello there"]
    assert len(harness.seen.texts) == 1
    assert await harness.store.field(turn, "body") is None  # no retry: the agent has answered
    conversation = await harness.store.sessions.thread(message().thread)
    assert conversation is not None
    assert conversation.session == 42

    await press(harness, SHOW, turn)
    await press(harness, SHOW, turn)
    assert harness.seen.texts[1:] == ["re: hello there"]
    assert harness.seen.replies()[-1].tag.session == 42
    assert await harness.store.field(turn, "outcome") is None  # deleted once posted


async def test_an_answer_being_posted_cannot_be_stopped(harness: Harness) -> None:
    await harness.store.conversation(agent=7)
    await left_waiting_for_slack(harness)
    hang = harness.hang()
    successor = asyncio.create_task(harness.take_over())
    await wait_until(lambda: harness.seen.attempts == 2, "the post is under way")

    await press_stop(harness, name="c")
    stop = asyncio.create_task(harness.work("c"))
    await wait_until(lambda: harness.seen.ephemerals, "the notice is posted")
    hang.set()
    await asyncio.gather(successor, stop)

    assert "is being posted" in harness.seen.ephemerals[-1].text
    assert harness.seen.texts == ["re: hello there"]


async def test_a_message_waiting_for_the_service_is_stopped(harness: Harness) -> None:
    harness.service.always = REFUSED
    turn = await harness.store.conversation(agent=7)

    async def stop_meanwhile() -> None:
        if await harness.store.field(turn, "unsent") and await harness.store.field(turn, "step") == "queued":
            harness.on_sleep, harness.service.always = None, None
            await press_stop(harness, name="b")

    harness.on_sleep = stop_meanwhile
    await harness.work()

    assert harness.on_sleep is None
    assert harness.service.messages == []
    assert "wasn't sent" in last(harness)


async def test_a_menu_is_stopped(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    await harness.store.queue()
    await harness.work()
    assert len(harness.seen.replies("bridge_menu")) == 1

    await press_stop(harness)
    await harness.work()

    assert await harness.store.box() == []
    assert harness.service.messages == []


async def test_a_stop_does_not_affect_a_later_turn(harness: Harness) -> None:
    await harness.store.conversation(agent=7)

    await press_stop(harness, given=EARLIER)
    await harness.work()

    assert harness.service.messages == ["hello there"]
    assert [one.text for one in harness.seen.ephemerals] == ["The agent isn't working on anything here."]


async def test_a_repeated_stop_affects_no_other_turn(harness: Harness) -> None:
    await harness.store.conversation(agent=7)
    await harness.store.queue(message("and then", ts(1)))

    decisions = [await press_stop(harness) for _ in range(2)]
    await harness.work()
    await press(harness, SEND_WAITING)
    await press_stop(harness)
    await harness.work()

    assert decisions == ["queued", "duplicate"]
    assert harness.service.messages == ["and then"]


async def test_a_stop_missed_on_arrival_is_applied_by_its_turn(harness: Harness) -> None:
    await harness.store.conversation(agent=7)
    put = await harness.store.process().inbox.put(a_request(), event="EvStop")  # then the process is killed
    assert isinstance(put, Queued)
    held = await harness.store.process().hold()
    stop = next(one for one in held if one.lane != LANE)
    turn = next(one for one in held if one.lane == LANE)

    await harness.turns(harness.store.process()).work(harness.lease(harness.store.process(), stop))
    await harness.turns(harness.store.process()).work(harness.lease(harness.store.process(), turn))

    assert harness.service.messages == []
    assert "wasn't sent" in last(harness)


@pytest.mark.parametrize(("action", "sent"), [(SEND_WAITING, ["two", "three"]), (DISCARD, [])])
async def test_messages_after_a_stopped_one_are_held_for_a_decision(
    harness: Harness, action: str, sent: list[str]
) -> None:
    await harness.store.conversation(agent=7)
    for number, text in enumerate(["two", "three"], 1):
        await harness.store.queue(message(text, ts(number)))
    await press_stop(harness)
    await harness.work()
    assert harness.service.messages == []
    assert {SEND_WAITING, DISCARD, SEND_AGAIN} == buttons(harness).keys()

    await press(harness, action)

    assert harness.service.messages == sent
    assert await harness.store.box() == []
    assert "2 messages" in harness.seen.updates[-1]["text"]


async def test_a_stop_delivered_after_newer_messages_holds_nothing(harness: Harness) -> None:
    await harness.store.conversation(agent=7)
    for number, text in ((1, "two"), (3, "three")):
        await harness.store.queue(message(text, ts(number)))
    await press_stop(harness, given=ts(2))
    await press_stop(harness, given=ts(2))  # Slack repeats it

    await harness.work()

    assert harness.service.messages == ["two", "three"]
    assert await harness.store.box() == []
    assert DISCARD not in str([one.blocks for one in harness.seen.messages])


async def test_a_held_thread_is_not_waiting_for_an_agent(harness: Harness) -> None:
    await harness.store.conversation(agent=7)
    await harness.store.queue(message("two", ts(1)))
    await press_stop(harness)
    before = await status_of(harness.store.scripts)
    await harness.work()

    after = await status_of(harness.store.scripts)

    assert (before.parked, before.held) == (0, 0)  # the stopped turn is still being finished
    assert (after.parked, after.held) == (0, 1)


@pytest.mark.parametrize("action", [SEND_WAITING, DISCARD])
async def test_the_stopped_message_can_be_retried_after_the_decision(harness: Harness, action: str) -> None:
    await harness.store.conversation(agent=7)
    await harness.store.queue(message("two", ts(1)))
    await press_stop(harness)
    await harness.work()
    asked = buttons(harness)

    await press(harness, action, asked[action])

    assert buttons_in(harness.seen.updates[-1]["blocks"]) == {SEND_AGAIN: asked[SEND_AGAIN]}


async def test_a_decision_repeated_after_a_kill_reports_its_result(harness: Harness) -> None:
    await harness.store.conversation(agent=7)
    await harness.store.queue(message("two", ts(1)))
    await press_stop(harness)
    await harness.work()
    click = a_click(SEND_WAITING, value="held", message_ts=harness.seen.messages[-1].ts)
    put = await harness.store.process().inbox.put(click, event="press")
    assert isinstance(put, Queued)

    await harness.store.process("dead").inbox.stops.resume(LANE, by=put.turn, drop=False)  # then the process is killed
    await harness.work()

    assert harness.service.messages == ["two"]
    assert "1 message" in harness.seen.updates[-1]["text"]


async def test_a_decision_before_the_stopped_turn_ends_counts(harness: Harness) -> None:
    harness.service.gate.clear()
    await harness.store.conversation(agent=7)
    await harness.store.queue(message("two", ts(1)))
    work = await harness.start_next()
    await wait_until(lambda: harness.service.in_flight == 1, "the agent is asked")
    await press_stop(harness, name="b")
    harness.write(ts(9), "Stopped.", user=BOT, thread_ts=ROOT)

    await press(harness, SEND_WAITING)
    harness.service.gate.set()
    await work
    await harness.work()

    assert harness.service.messages == ["hello there", "two"]


async def test_a_new_message_releases_the_held_ones(harness: Harness) -> None:
    await harness.store.conversation(agent=7)
    await harness.store.queue(message("two", ts(1)))
    await press_stop(harness, given=ts(5))
    await harness.work()

    await harness.store.queue(message("late", ts(3)), is_limited=True)
    await harness.work()
    assert harness.service.messages == []  # written before the stop
    await harness.store.queue(message("three", ts(7)), is_limited=True)
    await harness.work()

    assert harness.service.messages == ["two", "late", "three"]


async def test_a_deleted_held_message_does_not_release_the_others(harness: Harness) -> None:
    await harness.store.conversation(agent=7)
    for number, text in enumerate(["two", "three"], 1):
        await harness.store.queue(message(text, ts(number)))
    await press_stop(harness)
    await harness.work()

    await harness.store.process().inbox.withdraw(message("two", ts(1)).key)
    await harness.work()

    assert harness.service.messages == []
    assert len(await harness.store.box()) == 1
    await press(harness, DISCARD)


async def test_a_stopped_message_can_be_resent(harness: Harness) -> None:
    await harness.store.conversation(agent=7)
    await press_stop(harness)
    await harness.work()

    await press(harness, SEND_AGAIN, buttons(harness)[SEND_AGAIN])

    assert harness.service.messages == ["hello there"]


@pytest.mark.parametrize(
    "text",
    [
        *("!stop", "\uff01\uff33top\u200b", "`!stop`", "*!Stop* ", f"<@{BOT}>: !stop"),
        *(
            "!stop.",
            "! stop",
            "!Stop\u2026",
            "please !stop",
            "!stop, please!",
            "`!stop`.",
            "!!!STOP!!!",
            "ok !stop it now",
        ),
        *(f"<@{BOT}> please ! stop.", f"!stop. <@{BOT}>", f"Please <@{BOT}> !stop", f"<@{BOT}> stop please"),
    ],
)
async def test_a_typed_stop_does_not_wait_in_the_queue(harness: Harness, text: str) -> None:
    harness.service.gate.clear()
    await harness.store.conversation(agent=7)
    listener, work = await listening(harness), await harness.start_next()
    await wait_until(lambda: harness.service.in_flight == 1, "the agent is asked")

    decision = await say_in_thread(harness, text, 5)

    await work
    assert decision == "queued"
    await harness.work("c")
    assert "Stopped" in last(harness)
    assert harness.service.messages == ["hello there"]
    await kill_task(listener)


async def react_with_cross(harness: Harness, root: str, **changes: Any) -> str:
    request = a_request(message_ts=root, thread_ts="", **changes)
    return await harness.parts().stopping.stop(request, event="EvX")


async def test_a_cross_on_an_own_message_stops_its_turn(harness: Harness) -> None:
    await harness.store.conversation(agent=7)

    assert await react_with_cross(harness, ROOT) == "queued"
    await harness.work()

    assert harness.service.messages == []
    assert harness.seen.messages[-1].place.thread_ts == ROOT


async def test_a_cross_on_a_waiting_message_withdraws_only_that_one(harness: Harness) -> None:
    await harness.store.conversation(agent=7)
    for number, text in enumerate(["two", "three"], 1):
        await harness.store.queue(message(text, ts(number)))

    await react_with_cross(harness, ts(1))
    await harness.work()

    assert harness.service.messages == ["hello there", "three"]
    assert "won't be sent" in harness.seen.ephemerals[-1].text


async def test_a_cross_on_any_other_message_is_ignored(harness: Harness) -> None:
    await harness.store.conversation(agent=7)
    await harness.work()

    assert [await react_with_cross(harness, ROOT), await react_with_cross(harness, ts(9))] == ["ignored", "ignored"]


async def test_a_person_without_access_cannot_stop_a_turn(harness: Harness) -> None:
    await harness.store.queue(message(user=BOB), agent=7)
    harness.configure(BRIDGE_ALLOWED_USERS=BOB)
    stopping = harness.parts().stopping

    decisions = [
        await stopping.stop(a_request(), event="EvStop"),
        await stopping.stop(a_request(message_ts=ROOT, thread_ts=""), event="EvX"),
    ]
    await harness.work()

    assert decisions == ["refused", "ignored"]
    assert harness.service.messages == ["hello there"]
    assert len(harness.seen.ephemerals) == 1


async def test_stop_marks_are_checked_when_the_subscription_opens(harness: Harness) -> None:
    harness.service.gate.clear()
    await harness.store.conversation(agent=7)
    work = await harness.start_next()
    await wait_until(lambda: harness.service.in_flight == 1, "the agent is asked")
    await press_stop(harness, name="b")

    listener = await listening(harness)

    await work
    assert harness.service.in_flight == 0
    await kill_task(listener)
    with suppress(StoreUnavailable):
        await harness.work("c")
