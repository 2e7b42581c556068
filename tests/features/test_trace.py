"""`bridge trace`: each thing that happens to a message is in its trace; message text never is."""

from __future__ import annotations

import re
from datetime import timedelta

import httpx
import pytest
from redis.asyncio import Redis

from bridge.cli.audit import result
from bridge.cli.trace import for_programs, steps_of, summary_of
from bridge.ids import MessageKey, TurnId
from bridge.inbound import Click, Notice
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, DM_ALICE
from bridge.queue.erasure import erase_person
from bridge.queue.finished_turns import finished_turns_since
from bridge.queue.records import Step
from bridge.queue.trace import trace_of
from support.dead_letters import bury
from support.harness import POST, Harness
from support.store import CHANNEL, LANE, PREFIX, ROOT, SESSION_LIFETIME, START, TEAM, USER, key_of, message, ts
from support.traces import detail, trace_steps, words


async def test_a_trace_leads_from_delivery_to_answer(harness: Harness) -> None:
    store = harness.store
    turn = await store.queue(message(event_id="Ev1", retry=1), why="it mentions the bot")
    store.clock.time = START + timedelta(milliseconds=250)
    await store.put(message(event_id="Ev2"))
    store.clock.time = START + timedelta(seconds=1)

    await harness.work("b")

    steps = await trace_steps(store)
    assert [(step.what, (step.at - START) / timedelta(milliseconds=1), step.process) for step in steps] == [
        ("received", 0, "a"), ("decided", 0, "a"), ("queued", 0, "a"), ("duplicate", 250, "a"),
        ("sent", 1000, "b"), ("answered", 1000, "b"), ("posted", 1000, "b"), ("done", 1000, "b"),
    ]  # fmt: skip
    assert [step.detail for step in steps] == [
        "event Ev1, resent by Slack (retry 1)", "it mentions the bot", f"ID {turn}, first in line",
        f"event Ev2: already received as ID {turn}", "to the project service", "the agent answered",
        f"Slack ts {harness.seen.messages[0].ts}", "",
    ]  # fmt: skip


async def test_a_message_found_again_and_again_has_one_step_for_that(harness: Harness) -> None:
    store = harness.store
    turn = await store.queue(message(event_id="Ev1"))

    for second in range(1, 4):
        store.clock.time = START + timedelta(seconds=second)
        await store.put(message(event_id="", retry=1, was_found=True))

    [(at, said)] = [(step.at, step.detail) for step in await trace_steps(store) if step.what == "duplicate"]
    last = (START + timedelta(seconds=3)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert at == START + timedelta(seconds=1)
    assert said == f"found in Slack's history, 3 times until {last}: already received as ID {turn}"


async def test_an_answer_leads_to_its_messages_trace(harness: Harness) -> None:
    await harness.store.queue()
    await harness.work()

    answer = key_of(harness.seen.messages[0].ts)

    assert await trace_steps(harness.store, answer) == await trace_steps(harness.store)
    assert 6.9 < await harness.store.days_left(f"shown:{answer}") <= 7


async def test_a_trace_never_shows_texts(harness: Harness) -> None:
    await harness.store.queue(message("my secret words"))
    known = await trace_of(harness.store.scripts, key_of(ROOT))
    assert "secret" not in for_programs(CHANNEL, ROOT, known)
    await harness.work()

    known = await trace_of(harness.store.scripts, key_of(ROOT))

    assert "secret" not in for_programs(CHANNEL, ROOT, known)
    assert not await harness.store.contains_text("secret words")


async def test_a_message_that_waits_for_a_choice_says_so(harness: Harness) -> None:
    harness.service.agents = [{"id": 7, "name": "A", "model": "m"}, {"id": 8, "name": "B", "model": "m"}]
    await harness.store.queue()
    await harness.work()

    steps = await trace_steps(harness.store)

    assert detail(steps, "queued").endswith("waiting for someone to pick an agent")
    menu = key_of(harness.seen.replies("bridge_menu")[0].ts)
    assert await trace_steps(harness.store, menu) == steps


async def test_a_takeover_shows_in_the_processes(harness: Harness) -> None:
    await harness.store.conversation()
    taken = await harness.store.process("a").take()
    await harness.store.process("a").journal.sent(taken)
    harness.store.clock.time = START + timedelta(seconds=20)

    await harness.take_over("b")

    steps = await trace_steps(harness.store)
    assert [(step.what, step.process) for step in steps if step.what in {"sent", "unknown", "done"}] == [
        ("sent", "a"), ("unknown", "b"), ("done", "b"),
    ]  # fmt: skip
    assert "answered" not in words(steps)
    assert detail(steps, "unknown") == (
        "the outcome is unknown; a button offers to send it again (agent 1: the bridge ended before an answer came)"
    )
    assert "bridge_unknown_outcomes_total 1.0" in harness.metrics.exposition().decode()


async def test_a_resent_message_continues_in_its_new_turn(harness: Harness) -> None:
    harness.service.chats = [httpx.Response(500)]
    old = await harness.store.queue()
    await harness.work()
    await harness.store.process().inbox.drafts.put(old, by=TurnId("click"))
    harness.store.clock.time = START + timedelta(seconds=5)
    await harness.work()

    known = await trace_of(harness.store.scripts, key_of(ROOT))

    assert len(known.turns) == 2
    assert detail(steps_of(known), "done") == f"sent again as ID {known.turns[1].id}"
    assert words(steps_of(known))[4:] == [
        "unknown", "posted", "done", "queued", "sent", "answered", "posted", "done",
    ]  # fmt: skip


async def test_a_card_leads_to_its_run(harness: Harness) -> None:
    await harness.type_command("/workflows run Import hello")

    steps = await trace_steps(harness.store, key_of(harness.seen.messages[0].ts))

    assert words(steps) == ["received", "decided", "queued", "sent", "answered", "posted", "done"]
    assert detail(steps, "received") == "a slash command"
    assert detail(steps, "answered") == "the workflow ran"


@pytest.mark.parametrize("typed", ["/workflows run Import hello", "!workflows run Import hello"])
@pytest.mark.parametrize("answer", [httpx.Response(500), httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("cut")])
async def test_a_run_without_a_result_is_unknown_in_trace_and_audit(
    harness: Harness, typed: str, answer: httpx.Response | Exception
) -> None:
    harness.service.run_answers = [answer]
    if typed.startswith("/"):
        await harness.type_command(typed)
    else:
        await harness.say(typed, channel=DM_ALICE, user=ALICE)

    (card,) = harness.seen.replies("bridge_run")
    known = await trace_of(harness.store.scripts, MessageKey(TEAM, card.place.channel, card.ts))
    entries = [entry async for entry in finished_turns_since(harness.store.scripts, START - timedelta(days=90))]

    assert words(steps_of(known))[3:] == ["sent", "unknown", "posted", "done"]
    assert re.match(r"I can't tell whether the workflow ran \(.+\)\. Running it again may repeat", summary_of(known))
    assert result(entries[-1]).startswith("outcome unknown (")
    exposed = harness.metrics.exposition().decode()
    assert "bridge_unknown_outcomes_total 1.0" in exposed
    assert 'bridge_workflow_seconds_count{outcome="unknown",project="default",workflow="3"} 1.0' in exposed


async def test_a_dead_letter_without_an_answer_says_that_the_outcome_is_unknown(harness: Harness) -> None:
    await harness.store.queue()
    await bury(harness.store, Step.SENT)

    assert detail(await trace_steps(harness.store), "dead").endswith("the outcome is unknown; see bridge dead list")


async def test_a_direct_message_leads_to_its_turn_until_erased(harness: Harness) -> None:
    notice = Notice.direct(TEAM, USER, "not_posted", {})
    await harness.store.process().inbox.put(notice, event="notice:1")
    await harness.work()
    (posted,) = harness.slack.workspace.messages.of(DM_ALICE)
    shown = MessageKey(TEAM, DM_ALICE, posted.ts)

    assert words(await trace_steps(harness.store, shown))[-2:] == ["posted", "done"]

    await erase_person(harness.store.scripts, USER, SESSION_LIFETIME)
    assert not (await trace_of(harness.store.scripts, shown)).turns


async def test_a_private_reply_is_traced_as_private(harness: Harness, redis: Redis) -> None:
    click = Click(team=TEAM, channel=CHANNEL, user=USER, action_id="run:nodes", value="gone", message_ts=ROOT)
    put = await harness.store.process().inbox.put(click, event="trigger:1")
    await harness.work()

    turn = getattr(put, "turn", TurnId(""))
    await redis.set(f"{PREFIX}shown:{key_of(ROOT)}", turn, ex=60)

    assert detail(await trace_steps(harness.store), "posted") == "visible to one person only, so without a ts"


async def test_a_refusal_names_its_setting(harness: Harness) -> None:
    harness.configure(BRIDGE_ALLOWED_CHANNELS="C0OTHER")
    await harness.receive(message(is_mention=True))
    await harness.work()

    steps = await trace_steps(harness.store)

    assert detail(steps, "decided") == detail(steps, "answered") == "refused: not in BRIDGE_ALLOWED_CHANNELS"


async def test_a_dead_letter_says_why(harness: Harness) -> None:
    harness.slack.faults.on(POST, Error("is_archived"))
    await harness.store.queue()
    await harness.work()

    steps = await trace_steps(harness.store)

    assert words(steps) == ["received", "decided", "queued", "sent", "answered", "dead"]
    assert detail(steps, "answered") == "the agent answered"
    assert detail(steps, "dead") == "Slack: is_archived; see bridge dead list"


async def test_a_held_message_waits_for_a_decision(harness: Harness) -> None:
    store = harness.store
    await store.conversation()
    await store.queue(message("second", ts(1)))
    await store.queue(message("third", ts(2)))
    await store.process().inbox.stops.stop(LANE, ts(9))

    async def waits() -> list[str]:
        return [
            detail(await trace_steps(store, key_of(at)), "queued").partition("; ")[2] for at in (ROOT, ts(1), ts(2))
        ]

    before = await waits()
    await harness.work()

    held = "the thread was stopped: waiting for someone to send it, discard it or write again"
    assert before == ["next in line", held, held]
    assert await waits() == ["", held, held]
