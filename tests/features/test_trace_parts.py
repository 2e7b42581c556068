"""`bridge trace`: what the store's data says about a message."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.cli.audit import REFUSALS
from bridge.cli.trace import TraceStep, address_of, for_programs, table
from bridge.queue.keys import PASSED_IN_A_DAY
from bridge.queue.passed_over import PassedOver
from bridge.queue.trace import MessageTrace, Owner, owner_of, trace_of
from bridge.queue.turn_log import Delivery
from bridge.slack.blockkit.kit import permalink
from support.real_redis import refused_commands
from support.store import CHANNEL, PREFIX, ROOT, START, TEAM, Store, key_of, message, ts
from support.tables import each
from support.traces import detail, trace_steps, words
from support.waiting import wait_until

C, TS = "C0123ABC", "1700000000.123456"


@each(
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


@each(
    "text",
    ["", "hello", C, TS, f"https://acme.slack.com/archives/{C}", f"https://acme.slack.com/archives/{C}/p123", "C 17.1"],
)
def test_anything_else_is_not_a_message(text: str) -> None:
    assert address_of(text) is None


def test_a_permalink_has_slacks_form() -> None:
    workspace = "https://acme.slack.com/"
    link = permalink(workspace, C, TS, "1700000000.000100")

    assert link == f"https://acme.slack.com/archives/{C}/p1700000000123456?thread_ts=1700000000.000100&cid={C}"
    assert permalink(workspace, C, TS, TS) == f"https://acme.slack.com/archives/{C}/p1700000000123456"
    assert address_of(link) == (C, TS)
    assert permalink("", C, TS) == ""


async def test_a_queued_message_shows_its_place_then_and_now(store: Store) -> None:
    await store.conversation()
    await store.queue(message("second", ts(1)))
    third = await store.queue(message("third", ts(2)))
    assert (
        detail(await trace_steps(store, key_of(ts(2))), "queued")
        == f"ID {third}, after 2 others; waiting, with 2 ahead of it"
    )

    process = store.process()
    await process.journal.done(await process.take())

    assert (
        detail(await trace_steps(store, key_of(ts(2))), "queued")
        == f"ID {third}, after 2 others; waiting, with 1 ahead of it"
    )
    assert words(await trace_steps(store, key_of(ts(2)))) == ["received", "decided", "queued"]


async def test_requests_that_did_not_arrive_are_counted(store: Store) -> None:
    await store.conversation()
    process = store.process()
    held = (await process.hold())[0]
    for _ in range(2):
        taken = await process.take(held)
        await process.journal.sent(taken)
        await process.journal.unsent(taken)

    waiting = detail(await trace_steps(store), "sent")
    key = store.scripts.keys.turn(taken.record.id)
    await process.inbox.write(("field", key, 0, "next_try", "1772625600000"))
    until = detail(await trace_steps(store), "sent")
    await process.journal.sent(await process.take(held))

    assert waiting == "2 requests that didn't arrive; waiting for the project service"
    assert until == f"{waiting} until 2026-03-04T12:00:00Z"
    assert detail(await trace_steps(store), "sent") == (
        "to the project service, after 2 requests that didn't arrive; no answer yet"
    )


async def ignored(store: Store, ts: str = ROOT, why: str = "not addressed to the bot", retry: int = 0) -> None:
    store.process().inbox.pass_over(key_of(ts), event=f"Ev{ts}", retry=retry, why=why)

    async def is_written() -> bool:
        return bool((await trace_of(store.scripts, key_of(ts))).passed_over)

    await wait_until(is_written, "the trace is saved")


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

    assert len(str(await store.field(turn, "log"))) < 2200


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
        {"at": START.isoformat(), "what": "received", "detail": "event Ev1", "process": "a", "event": "Ev1"},
        {
            "at": START.isoformat(),
            "what": "decided",
            "detail": "not for an agent: no text",
            "process": "a",
            "event": "",
        },
    ]
    assert json.loads(for_programs(CHANNEL, ROOT, MessageTrace()))["steps"] == []


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


@pytest.mark.parametrize(
    ("why", "shown"),
    [
        *((f"refused: {reason}", f"refused: {words}") for reason, words in REFUSALS.items()),
        ("refused: paused:person", "refused: rate limit"),
        ("refused: paused:person:private:9", "refused: rate limit"),
        ("its author doesn't have access: user", "its author doesn't have access: not in BRIDGE_ALLOWED_USERS"),
        ("posted by an app without a rule here (A1)", "posted by an app without a rule here (A1)"),
    ],
)
async def test_the_reason_of_a_refusal_is_in_words(store: Store, why: str, shown: str) -> None:
    await store.queue(message(), why=why)
    await ignored(store, ts(1), why=why)

    assert detail(await trace_steps(store), "decided") == shown
    assert detail(await trace_steps(store, key_of(ts(1))), "decided") == f"not for an agent: {shown}"
