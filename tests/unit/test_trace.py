"""`bridge trace`: what the store's data says about a message."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import httpx
import pytest
from redis.asyncio import Redis

from bridge.cli.audit import REFUSALS
from bridge.cli.trace import TraceStep, address_of, for_programs, steps_of, table
from bridge.features.notices import paused
from bridge.ids import MessageKey, TurnId
from bridge.inbound import Click, SlashCommand
from bridge.playground.emulator.faults import Error
from bridge.queue.deliveries import PassedOver
from bridge.queue.keys import PASSED_IN_A_DAY
from bridge.queue.records import Delivery
from bridge.queue.trace import MessageTrace, Owner, owner_of, trace_of
from support.harness import POST, Harness
from support.real_redis import refused_commands
from support.store import CHANNEL, LANE, PREFIX, ROOT, START, TEAM, USER, Store, key_of, message, ts
from support.waiting import wait_until

C, TS = "C0123ABC", "1700000000.123456"


@pytest.mark.parametrize(
    "text",
    [
        f"https://acme.slack.com/archives/{C}/p1700000000123456",
        f"https://acme.slack.com/archives/{C}/p1700000000123456?thread_ts=1700000000.000100&cid={C}",
        f"  <https://acme.enterprise.slack.com/archives/{C}/p1700000000123456>",
        f"http://127.0.0.1:8080/archives/{C}/p1700000000123456",
        f"{C} {TS}",
        f"{C}/{TS}",
    ],
)
def test_a_message_is_named_by_permalink_or_ts(text: str) -> None:
    assert address_of(text) == (C, TS)


@pytest.mark.parametrize(
    "text",
    ["", "hello", C, TS, f"https://acme.slack.com/archives/{C}", f"https://acme.slack.com/archives/{C}/p123", "C 17.1"],
)
def test_anything_else_is_not_a_message(text: str) -> None:
    assert address_of(text) is None


def test_a_permalink_has_slacks_form() -> None:
    owner = Owner(TEAM, "https://acme.slack.com/")
    link = owner.permalink(C, TS, "1700000000.000100")

    assert link == f"https://acme.slack.com/archives/{C}/p1700000000123456?thread_ts=1700000000.000100&cid={C}"
    assert owner.permalink(C, TS, TS) == f"https://acme.slack.com/archives/{C}/p1700000000123456"
    assert address_of(link) == (C, TS)
    assert Owner(TEAM).permalink(C, TS) == ""


async def trace_steps(store: Store, key: MessageKey | None = None) -> list[TraceStep]:
    return steps_of(await trace_of(store.scripts, key or key_of(ROOT)))


def words(steps: list[TraceStep]) -> list[str]:
    return [step.what for step in steps]


def detail(steps: list[TraceStep], what: str) -> str:
    return next(step.detail for step in steps if step.what == what)


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
        "event Ev1, resent by Slack (retry 1)", "it mentions the bot", f"turn {turn}, first in line",
        f"event Ev2: already received as turn {turn}", "to the project service", "the agent answered",
        f"Slack ts {harness.seen.messages[0].ts}", "",
    ]  # fmt: skip


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


async def test_a_queued_message_shows_its_place_then_and_now(store: Store) -> None:
    await store.conversation()
    await store.queue(message("second", ts(1)))
    third = await store.queue(message("third", ts(2)))
    assert (
        detail(await trace_steps(store, key_of(ts(2))), "queued")
        == f"turn {third}, after 2 others; waiting, with 2 ahead of it"
    )

    process = store.process()
    await process.journal.done(await process.take())

    assert (
        detail(await trace_steps(store, key_of(ts(2))), "queued")
        == f"turn {third}, after 2 others; waiting, with 1 ahead of it"
    )
    assert words(await trace_steps(store, key_of(ts(2)))) == ["received", "decided", "queued"]


async def test_a_message_behind_a_running_turn_is_not_first_in_line(store: Store) -> None:
    await store.conversation()
    process = store.process()
    await process.journal.sent(await process.take())

    second = await store.queue(message("second", ts(1)))

    assert (
        detail(await trace_steps(store, key_of(ts(1))), "queued")
        == f"turn {second}, after 1 other; waiting, with 1 ahead of it"
    )


async def test_a_message_that_waits_for_a_choice_says_so(harness: Harness) -> None:
    harness.service.agents = [{"id": 7, "name": "A", "model": "m"}, {"id": 8, "name": "B", "model": "m"}]
    await harness.store.queue()
    await harness.work()

    steps = await trace_steps(harness.store)

    assert detail(steps, "queued").endswith("waiting for someone to pick an agent")
    menu = key_of(harness.seen.replies("bridge_menu")[0].ts)
    assert await trace_steps(harness.store, menu) == steps


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


async def test_requests_that_did_not_arrive_are_counted(store: Store) -> None:
    await store.conversation()
    process = store.process()
    held = (await process.hold())[0]
    for _ in range(2):
        taken = await process.take(held)
        await process.journal.sent(taken)
        await process.journal.unsent(taken)

    waiting = detail(await trace_steps(store), "sent")
    await process.journal.sent(await process.take(held))

    assert waiting == "2 requests that didn't arrive; waiting for the project service"
    assert detail(await trace_steps(store), "sent") == (
        "to the project service, after 2 requests that didn't arrive; no answer yet"
    )


async def test_a_takeover_shows_in_the_processes(harness: Harness) -> None:
    await harness.store.conversation()
    taken = await harness.store.process("a").take()
    await harness.store.process("a").journal.sent(taken)
    harness.store.clock.time = START + timedelta(seconds=20)

    await harness.take_over("b")

    steps = await trace_steps(harness.store)
    assert [(step.what, step.process) for step in steps if step.what in {"sent", "answered", "done"}] == [
        ("sent", "a"), ("answered", "b"), ("done", "b"),
    ]  # fmt: skip
    assert (
        detail(steps, "answered")
        == "no answer, and it's unknown whether the message arrived; a button offers to send it again"
    )


async def test_a_resent_message_continues_in_its_new_turn(harness: Harness) -> None:
    harness.service.chats = [httpx.Response(500)]
    old = await harness.store.queue()
    await harness.work()
    await harness.store.process().inbox.again(old)
    harness.store.clock.time = START + timedelta(seconds=5)
    await harness.work()

    known = await trace_of(harness.store.scripts, key_of(ROOT))

    assert len(known.turns) == 2
    assert detail(steps_of(known), "done") == f"sent again as turn {known.turns[1].id}"
    assert words(steps_of(known))[4:] == [
        "answered", "posted", "done", "queued", "sent", "answered", "posted", "done",
    ]  # fmt: skip


async def test_a_card_leads_to_its_run(harness: Harness) -> None:
    command = SlashCommand(team=TEAM, channel=CHANNEL, user=USER, command="/workflows", text="run Import hello")
    await harness.store.process().inbox.put(command, event="trigger:1")
    await harness.work()

    steps = await trace_steps(harness.store, key_of(harness.seen.messages[0].ts))

    assert words(steps) == ["received", "decided", "queued", "sent", "answered", "posted", "done"]
    assert detail(steps, "received") == "a slash command"
    assert detail(steps, "answered") == "the workflow ran"


async def test_a_private_reply_is_traced_as_private(harness: Harness, redis: Redis) -> None:
    click = Click(team=TEAM, channel=CHANNEL, user=USER, action_id="run:nodes", value="gone", message_ts=ROOT)
    put = await harness.store.process().inbox.put(click, event="trigger:1")
    await harness.work()

    turn = getattr(put, "turn", TurnId(""))
    await redis.set(f"{PREFIX}shown:{key_of(ROOT)}", turn, ex=60)

    assert detail(await trace_steps(harness.store), "posted") == "visible to one person only, so without a ts"


@pytest.mark.parametrize(
    ("why", "shown"),
    [
        *((f"refused: {reason}", f"refused: {words}") for reason, words in REFUSALS.items()),
        (f"refused: {paused('person', timedelta(seconds=9), is_first=True)}", "refused: rate limit"),
        ("its author doesn't have access: user", "its author doesn't have access: not in BRIDGE_ALLOWED_USERS"),
        ("posted by an app without a rule here (A1)", "posted by an app without a rule here (A1)"),
    ],
)
async def test_the_reason_of_a_refusal_is_in_words(store: Store, why: str, shown: str) -> None:
    await store.queue(message(), why=why)
    await ignored(store, ts(1), why=why)

    assert detail(await trace_steps(store), "decided") == shown
    assert detail(await trace_steps(store, key_of(ts(1))), "decided") == f"not for an agent: {shown}"


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


async def ignored(store: Store, ts: str = ROOT, why: str = "not addressed to the bot", retry: int = 0) -> None:
    store.process().inbox.pass_over(key_of(ts), event=f"Ev{ts}", retry=retry, why=why)

    async def is_written() -> bool:
        return bool((await trace_of(store.scripts, key_of(ts))).passed_over)

    await wait_until(is_written, "the trace is saved")


async def test_an_ignored_message_says_why(store: Store) -> None:
    await ignored(store, retry=2)

    assert [(step.what, step.detail, step.process) for step in await trace_steps(store)] == [
        ("received", f"event Ev{ROOT}, resent by Slack (retry 2)", "a"),
        ("decided", "not for an agent: not addressed to the bot", "a"),
    ]
    [key] = [key for key in await store.dump() if "passed" in key]
    assert 6.9 < await store.days_left(key.removeprefix(PREFIX)) <= 7
    assert not await trace_of(store.scripts, key_of(ts(1)))


async def test_the_last_thousand_ignored_messages_stay_known(store: Store, redis: Redis) -> None:
    for number in range(PASSED_IN_A_DAY):
        store.process().inbox.pass_over(key_of(ts(number + 1)), event="", retry=0, why="no text")
    await ignored(store, ts(PASSED_IN_A_DAY + 1))
    await ignored(store, ts(PASSED_IN_A_DAY + 2))

    [key] = [key for key in await store.dump() if "passed" in key]

    assert await redis.llen(key) == PASSED_IN_A_DAY
    assert not await trace_of(store.scripts, key_of(ts(1)))


async def test_a_message_with_an_impossible_timestamp_is_traced(store: Store) -> None:
    await ignored(store, "999999999999.000100")

    assert words(await trace_steps(store, key_of("999999999999.000100"))) == ["received", "decided"]


async def test_many_duplicates_do_not_grow_a_record(store: Store) -> None:
    turn = await store.queue()

    for number in range(100):
        await store.put(message(event_id=f"Ev{number}"))

    assert len(str(await store.field(turn, "came"))) < 2200


async def test_a_duplicate_of_an_expired_turn_leaves_nothing(store: Store, redis: Redis) -> None:
    turn = await store.queue()
    await store.process().journal.done(await store.process().take())
    await redis.delete(f"{PREFIX}turn:{turn}")

    await store.put()

    assert not await redis.exists(f"{PREFIX}turn:{turn}")


def test_an_invalid_line_is_left_out() -> None:
    delivery = Delivery(START, "a", "Ev1", 2, "why")

    assert Delivery.from_line(delivery.to_line()) == delivery
    assert [Delivery.from_line(line) for line in ("", "no", "[1]", "{}", '["x","a","",0,""]')] == [None] * 5


async def test_a_namespace_has_its_owner(store: Store) -> None:
    assert await owner_of(store.scripts) == Owner(TEAM)


def test_for_programs_there_are_steps_with_iso_times() -> None:
    known = MessageTrace(passed_over=[Delivery(START, "a", "Ev1", 0, "no text")])

    assert json.loads(for_programs(CHANNEL, ROOT, known))["steps"] == [
        {"at": START.isoformat(), "what": "received", "detail": "event Ev1", "process": "a"},
        {"at": START.isoformat(), "what": "decided", "detail": "not for an agent: no text", "process": "a"},
    ]
    assert json.loads(for_programs(CHANNEL, ROOT, None))["steps"] == []


def test_the_tables_times_are_exact_and_its_words_printable() -> None:
    later = START + timedelta(milliseconds=1234)

    lines = table([TraceStep(START, "received", "event Ev1", "a"), TraceStep(later, "done", "\x1b[2Jgone", "b")])

    assert "2026-03-04T12:00:01.234Z" in lines
    assert "+1.234 s" in lines
    assert "\x1b" not in lines


async def test_ignored_messages_are_written_again_after_an_outage(store: Store, redis: Redis) -> None:
    async def at_once(_seconds: float) -> None:
        await asyncio.sleep(0)

    passed = PassedOver(store.scripts, at_once)
    with refused_commands(redis):
        passed.add(key_of(ROOT), Delivery(START, "a"))
        await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
    passed.add(key_of(ts(1)), Delivery(START, "a", why="no text"))

    async def is_written() -> bool:
        return bool((await trace_of(store.scripts, key_of(ts(1)))).passed_over)

    await wait_until(is_written, "the later message is in the trace")
    assert not await trace_of(store.scripts, key_of(ROOT))
