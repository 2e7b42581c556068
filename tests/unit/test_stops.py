"""A stop ends the turn that it was meant for, wherever that is, and nothing else; what waits behind is asked about."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from bridge.errors import SlackUnreachable, StoreUnavailable
from bridge.features.conversations.stopping import Stopping
from bridge.features.conversations.stops import DROP, GO_ON, SHOW
from bridge.features.notices import SEND_AGAIN
from bridge.inbound import Click, StopRequest
from bridge.queue.inbox import Queued
from support.store import CHANNEL, LANE, ROOT, TEAM, USER, message, ts
from support.turns import REFUSED, SALES, SUPPORT, Bench, killed
from support.waiting import wait_until

LATER = "1700000900.000000"
EARLIER = "1600000000.000000"


def a_click(action: str, **changes: Any) -> Click:
    fields = {"team": TEAM, "channel": CHANNEL, "user": USER, "action_id": action, "thread_ts": ROOT}
    return Click.model_validate(fields | changes)


def a_request(**changes: Any) -> StopRequest:
    fields = {"team": TEAM, "channel": CHANNEL, "user": USER, "given": LATER, "thread_ts": ROOT}
    return StopRequest.model_validate(fields | changes)


async def press_stop(bench: Bench, *, event: str = "EvStop", name: str = "a", **changes: Any) -> str:
    stopping = Stopping(bench.store.process(name).inbox, bench.access())
    return await stopping.stop(a_request(**changes), event=event)


async def say_in_thread(bench: Bench, text: str, number: int) -> str:
    return (await bench.receiver().receive(message(text, ts(number)))).decision


async def press(bench: Bench, action: str, value: str = "held") -> None:
    click = a_click(action, value=value, message_ts="1700001000.000000", trigger_id=action)
    await bench.store.process().inbox.put(click, event=f"press {action}")
    await bench.work("c")


def last(bench: Bench) -> str:
    return bench.say.messages[-1].reply.text


def buttons(bench: Bench) -> dict[str, str]:
    blocks = bench.say.messages[-1].reply.blocks
    found = [element for block in blocks if block["type"] == "actions" for element in block["elements"]]
    return {element["action_id"]: element["value"] for element in found}


async def listening(bench: Bench) -> asyncio.Task[None]:
    stops = bench.store.process().inbox.stops
    task = asyncio.create_task(bench.watches.listen(stops))
    channel = "{test}:stops"
    await wait_until(lambda: _has_listeners(bench, channel), "it listens")
    return task


async def _has_listeners(bench: Bench, channel: str) -> bool:
    return dict(await bench.store.redis.pubsub_numsub(channel)).get(channel, 0) > 0


async def test_a_call_that_is_under_way_is_closed_and_its_answer_is_not_shown(bench: Bench) -> None:
    bench.service.gate.clear()
    await bench.store.conversation(agent=7)
    ear, work = await listening(bench), await bench.begin()
    await wait_until(lambda: bench.service.at_once == 1, "the agent is asked")

    await press_stop(bench, name="b")

    await wait_until(lambda: bench.service.at_once == 0, "the call is closed")
    await work
    await bench.work("c")
    assert "Stopped" in last(bench)
    assert "no answer" in last(bench)
    assert len(bench.say.replies()) == 1
    assert bench.say.signs[-1] == "idle"
    await killed(ear)


async def test_an_answer_that_comes_all_the_same_is_recorded_and_not_shown(bench: Bench) -> None:
    bench.service.gate.clear()
    turn = await bench.store.conversation(agent=7)
    work = await bench.begin()
    await wait_until(lambda: bench.service.at_once == 1, "the agent is asked")

    await press_stop(bench, name="b")  # and nobody hears of it
    bench.service.gate.set()
    await work

    assert bench.say.words == []
    assert "re: hello" in str(await bench.store.field(turn, "outcome"))
    assert await bench.store.field(turn, "what") == "stopped"
    conversation = await bench.store.sessions.thread(message().thread)
    assert conversation is not None
    assert conversation.session == 42  # what the agent knows, it goes on from


async def test_a_message_that_has_not_gone_out_is_never_sent(bench: Bench) -> None:
    await bench.store.conversation(agent=7)

    await press_stop(bench)
    await bench.work()

    assert bench.service.messages == []
    assert "was not sent" in last(bench)


async def test_a_turn_whose_owner_died_ends_without_a_word_about_an_unknown_outcome(bench: Bench) -> None:
    bench.service.gate.clear()
    await bench.store.conversation(agent=7)
    work = await bench.begin()
    await wait_until(lambda: bench.service.at_once == 1, "the agent is asked")
    await killed(work)

    await press_stop(bench, name="b")
    await bench.take_over()
    await bench.work("c")

    assert len(bench.say.words) == 1
    assert "Stopped" in last(bench)
    assert bench.service.messages == ["hello there"]


async def left_waiting_for_slack(bench: Bench) -> None:
    """Let a worker die while the answer that it has recorded waits for Slack."""
    waits = asyncio.Event()

    async def wait() -> None:
        waits.set()
        await asyncio.Event().wait()

    bench.on_sleep = wait
    bench.say.troubles = [SlackUnreachable("chat.postMessage")]
    work = await bench.begin()
    await waits.wait()
    await killed(work)
    bench.on_sleep = None


async def test_an_answer_whose_worker_died_while_it_waited_for_slack_is_not_posted_after_a_stop(bench: Bench) -> None:
    turn = await bench.store.conversation(agent=7)
    await bench.store.queue(message("two", ts(1)))
    await left_waiting_for_slack(bench)

    await press_stop(bench, name="b")
    await bench.take_over()
    await bench.work("c")

    assert "had already answered" in last(bench)
    assert buttons(bench)[SHOW] == turn
    assert {GO_ON, DROP} < buttons(bench).keys()
    assert bench.service.messages == ["hello there"]
    assert len(bench.say.words) == 1
    assert await bench.store.field(turn, "body") is None  # it can't be sent again: the agent has answered
    conversation = await bench.store.sessions.thread(message().thread)
    assert conversation is not None
    assert conversation.session == 42

    await press(bench, SHOW, turn)
    await press(bench, SHOW, turn)
    assert bench.say.words[1:] == ["re: hello there"]
    assert bench.say.replies()[-1].tag.session == 42
    assert await bench.store.field(turn, "outcome") is None  # what was shown is not kept


async def test_an_answer_that_waited_for_slack_and_goes_out_now_can_not_be_stopped(bench: Bench) -> None:
    await bench.store.conversation(agent=7)
    await left_waiting_for_slack(bench)
    bench.say.gate.clear()
    successor = asyncio.create_task(bench.take_over())
    await wait_until(lambda: bench.say.attempts == 2, "it is on its way")

    await press_stop(bench, name="c")
    stop = asyncio.create_task(bench.work("c"))
    await wait_until(lambda: bench.say.whispers, "they are told")
    bench.say.gate.set()
    await asyncio.gather(successor, stop)

    assert "is being posted" in bench.say.whispers[-1][1].text
    assert bench.say.words == ["re: hello there"]


async def test_a_message_that_waits_for_the_service_is_stopped_too(bench: Bench) -> None:
    bench.service.always = REFUSED
    turn = await bench.store.conversation(agent=7)

    async def stop_meanwhile() -> None:
        if await bench.store.field(turn, "unsent") and await bench.store.field(turn, "step") == "queued":
            bench.on_sleep, bench.service.always = None, None
            await press_stop(bench, name="b")

    bench.on_sleep = stop_meanwhile
    await bench.work()

    assert bench.on_sleep is None
    assert bench.service.messages == []
    assert "was not sent" in last(bench)


async def test_a_menu_is_stopped_too(bench: Bench) -> None:
    bench.service.agents = [SUPPORT, SALES]
    await bench.store.queue()
    await bench.work()
    assert len(bench.say.replies("bridge_menu")) == 1

    await press_stop(bench)
    await bench.work()

    assert await bench.store.box() == []
    assert bench.service.messages == []


async def test_a_stop_leaves_a_turn_alone_that_was_begun_after_it(bench: Bench) -> None:
    await bench.store.conversation(agent=7)

    await press_stop(bench, given=EARLIER)
    await bench.work()

    assert bench.service.messages == ["hello there"]
    assert [words.text for _, words in bench.say.whispers] == ["Nothing is in work here, so there was nothing to stop."]


async def test_a_stop_that_comes_again_touches_no_other_turn(bench: Bench) -> None:
    await bench.store.conversation(agent=7)
    await bench.store.queue(message("and then", ts(1)))

    decisions = [await press_stop(bench) for _ in range(2)]
    await bench.work()
    await press(bench, GO_ON)
    await press_stop(bench)
    await bench.work()

    assert decisions == ["queued", "duplicate"]
    assert bench.service.messages == ["and then"]


async def test_a_stop_that_was_kept_but_not_given_is_given_by_its_own_turn(bench: Bench) -> None:
    await bench.store.conversation(agent=7)
    put = await bench.store.process().inbox.put(a_request(), event="EvStop")  # and then the process ended
    assert isinstance(put, Queued)
    held = await bench.store.process().hold()
    stop = next(one for one in held if one.lane != LANE)
    turn = next(one for one in held if one.lane == LANE)

    await bench.turns(bench.store.process()).work(bench.lease(bench.store.process(), stop))
    await bench.turns(bench.store.process()).work(bench.lease(bench.store.process(), turn))

    assert bench.service.messages == []
    assert "was not sent" in last(bench)


@pytest.mark.parametrize(("action", "sent"), [(GO_ON, ["two", "three"]), (DROP, [])])
async def test_what_waits_behind_is_held_until_somebody_decides(bench: Bench, action: str, sent: list[str]) -> None:
    await bench.store.conversation(agent=7)
    for number, text in enumerate(["two", "three"], 1):
        await bench.store.queue(message(text, ts(number)))
    await press_stop(bench)
    await bench.work()
    assert bench.service.messages == []
    assert {GO_ON, DROP, SEND_AGAIN} == buttons(bench).keys()

    await press(bench, action)

    assert bench.service.messages == sent
    assert await bench.store.box() == []
    assert "2 messages" in bench.say.updates[-1][1].text


async def test_a_decision_that_is_carried_out_again_after_a_kill_says_what_it_did(bench: Bench) -> None:
    await bench.store.conversation(agent=7)
    await bench.store.queue(message("two", ts(1)))
    await press_stop(bench)
    await bench.work()
    click = a_click(GO_ON, value="held", message_ts="1700001000.000000")
    put = await bench.store.process().inbox.put(click, event="press")
    assert isinstance(put, Queued)

    await bench.store.process("dead").inbox.stops.resume(LANE, by=put.turn, drop=False)  # and then it was killed
    await bench.work()

    assert bench.service.messages == ["two"]
    assert "1 message" in bench.say.updates[-1][1].text


async def test_who_decides_before_the_stopped_turn_has_ended_is_heard(bench: Bench) -> None:
    bench.service.gate.clear()
    await bench.store.conversation(agent=7)
    await bench.store.queue(message("two", ts(1)))
    work = await bench.begin()
    await wait_until(lambda: bench.service.at_once == 1, "the agent is asked")
    await press_stop(bench, name="b")

    await press(bench, GO_ON)
    bench.service.gate.set()
    await work
    await bench.work()

    assert bench.service.messages == ["hello there", "two"]


async def test_who_writes_on_wants_to_go_on(bench: Bench) -> None:
    await bench.store.conversation(agent=7)
    await bench.store.queue(message("two", ts(1)))
    await press_stop(bench, given=ts(5))
    await bench.work()

    await bench.store.queue(message("late", ts(3)), is_limited=True)
    await bench.work()
    assert bench.service.messages == []  # it was written before the stop
    await bench.store.queue(message("three", ts(7)), is_limited=True)
    await bench.work()

    assert bench.service.messages == ["two", "late", "three"]


async def test_a_held_message_that_is_deleted_does_not_let_the_others_go_on(bench: Bench) -> None:
    await bench.store.conversation(agent=7)
    for number, text in enumerate(["two", "three"], 1):
        await bench.store.queue(message(text, ts(number)))
    await press_stop(bench)
    await bench.work()

    await bench.store.process().inbox.withdraw(message("two", ts(1)).key)
    await bench.work()

    assert bench.service.messages == []
    assert len(await bench.store.box()) == 1
    await press(bench, DROP)


async def test_what_was_stopped_can_be_sent_after_all(bench: Bench) -> None:
    await bench.store.conversation(agent=7)
    await press_stop(bench)
    await bench.work()

    await press(bench, SEND_AGAIN, buttons(bench)[SEND_AGAIN])

    assert bench.service.messages == ["hello there"]


async def test_stop_can_be_written_and_does_not_wait_behind_what_it_stops(bench: Bench) -> None:
    bench.service.gate.clear()
    await bench.store.conversation(agent=7)
    ear, work = await listening(bench), await bench.begin()
    await wait_until(lambda: bench.service.at_once == 1, "the agent is asked")

    decision = await say_in_thread(bench, "!stop", 5)

    await work
    assert decision == "queued"
    await bench.work("c")
    assert "Stopped" in last(bench)
    assert bench.service.messages == ["hello there"]
    await killed(ear)


async def cross_out(bench: Bench, root: str, **changes: Any) -> str:
    request = a_request(message_ts=root, thread_ts="", **changes)
    return await Stopping(bench.store.process().inbox, bench.access()).stop(request, event="EvX")


async def test_a_cross_on_ones_own_message_stops_its_turn_in_its_thread(bench: Bench) -> None:
    await bench.store.conversation(agent=7)

    assert await cross_out(bench, ROOT) == "queued"
    await bench.work()

    assert bench.service.messages == []
    assert bench.say.messages[-1].place.thread_ts == ROOT


async def test_a_cross_on_a_message_that_waits_takes_back_that_one_alone(bench: Bench) -> None:
    await bench.store.conversation(agent=7)
    for number, text in enumerate(["two", "three"], 1):
        await bench.store.queue(message(text, ts(number)))

    await cross_out(bench, ts(1))
    await bench.work()

    assert bench.service.messages == ["hello there", "three"]
    assert "taken back" in bench.say.whispers[-1][1].text


async def test_a_cross_on_any_other_message_says_nothing(bench: Bench) -> None:
    await bench.store.conversation(agent=7)
    await bench.work()

    assert [await cross_out(bench, ROOT), await cross_out(bench, ts(9))] == ["ignored", "ignored"]


async def test_who_may_not_talk_to_the_bot_may_not_stop_it(bench: Bench) -> None:
    await bench.store.conversation(agent=7)
    only_others = bench.access(allowed_users=frozenset({"UOTHER"}))
    stopping = Stopping(bench.store.process().inbox, only_others)

    decisions = [
        await stopping.stop(a_request(), event="EvStop"),
        await stopping.stop(a_request(message_ts=ROOT, thread_ts=""), event="EvX"),
    ]
    await bench.work()

    assert decisions == ["refused", "ignored"]
    assert bench.service.messages == ["hello there"]
    assert len(bench.say.whispers) == 1


async def test_marks_are_looked_at_when_the_ear_opens(bench: Bench) -> None:
    bench.service.gate.clear()
    await bench.store.conversation(agent=7)
    work = await bench.begin()
    await wait_until(lambda: bench.service.at_once == 1, "the agent is asked")
    await press_stop(bench, name="b")

    ear = await listening(bench)

    await work
    assert bench.service.at_once == 0
    await killed(ear)
    with suppress(StoreUnavailable):
        await bench.work("c")
