"""Agents that only read are asked once more if no answer came back; nothing else ever is."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from bridge.features.conversations.answers import REPEATED
from support.harness import Harness
from support.store import key_of
from support.waiting import wait_until

SUPPORT_READS = "[agents.Support]\nrepeat = true\n"
LOST = [httpx.ReadError("lost"), httpx.Response(502), httpx.Response(503), httpx.Response(504)]


def shown(harness: Harness) -> str:
    return str([reply.blocks or reply.text for reply in harness.seen.messages])


@pytest.mark.parametrize("answer", LOST, ids=lambda answer: getattr(answer, "status_code", "cut"))
async def test_a_lost_answer_is_asked_for_once_more(harness: Harness, answer: httpx.Response | Exception) -> None:
    harness.use_file(SUPPORT_READS)
    harness.service.chats = [answer]
    turn = await harness.store.conversation(agent=7)

    await harness.work()

    assert len(harness.service.messages) == 2
    assert await harness.store.field(turn, "what") == "answered"
    assert REPEATED in shown(harness)


async def test_a_second_lost_answer_is_unknown(harness: Harness) -> None:
    harness.use_file(SUPPORT_READS)
    harness.service.chats = [*LOST[:2]]
    turn = await harness.store.conversation(agent=7)

    await harness.work()

    assert len(harness.service.messages) == 2
    assert await harness.store.field(turn, "what") == "unknown"


@pytest.mark.parametrize(
    "answer",
    [httpx.ReadTimeout("slow"), httpx.Response(500), httpx.Response(200, text="<html>")],
    ids=["too slow", "an error", "not understood"],
)
async def test_an_answer_that_was_not_lost_is_not_asked_for_again(
    harness: Harness, answer: httpx.Response | Exception
) -> None:
    harness.use_file(SUPPORT_READS)
    harness.service.chats = [answer]
    await harness.store.conversation(agent=7)

    await harness.work()

    assert len(harness.service.messages) == 1
    assert REPEATED not in shown(harness)


async def test_other_agents_are_asked_once(harness: Harness) -> None:
    harness.use_file("[agents.Sales]\nrepeat = true\n")
    harness.service.chats = [*LOST[:1]]
    turn = await harness.store.conversation(agent=7)

    await harness.work()

    assert len(harness.service.messages) == 1
    assert await harness.store.field(turn, "what") == "unknown"


@pytest.mark.parametrize("file", ['[projects.default]\nrepeat = ["support"]\n', "[agents.7]\nrepeat = true\n"])
async def test_a_project_or_an_id_names_the_agents(harness: Harness, file: str) -> None:
    harness.use_file(file)
    harness.service.chats = [*LOST[:1]]
    turn = await harness.store.conversation(agent=7)

    await harness.work()

    assert await harness.store.field(turn, "what") == "answered"


async def test_after_a_kill_the_next_process_asks_once_more(harness: Harness) -> None:
    harness.use_file(SUPPORT_READS)
    turn = await harness.store.conversation(agent=7)
    process = harness.store.process("a")
    await process.journal.sent(await process.take(), repeats=True)

    await harness.take_over("b")

    assert len(harness.service.messages) == 1
    assert await harness.store.field(turn, "what") == "answered"
    assert REPEATED in shown(harness)


async def test_after_two_kills_it_is_unknown(harness: Harness) -> None:
    harness.use_file(SUPPORT_READS)
    turn = await harness.store.conversation(agent=7)
    await harness.store.redis.hset(harness.store.scripts.keys.turn(turn), "repeated", "1700000000000")
    process = harness.store.process("a")
    await process.journal.sent(await process.take(), repeats=True)

    await harness.take_over("b")

    assert harness.service.messages == []
    assert await harness.store.field(turn, "what") == "unknown"


async def test_it_waits_until_the_service_is_up(harness: Harness) -> None:
    harness.use_file(SUPPORT_READS)
    harness.service.chats = [*LOST[:1]]
    turn = await harness.store.conversation(agent=7)
    asked: list[int] = []

    async def comes_back() -> None:
        asked.append(len(harness.service.messages))
        if len(asked) == 3:
            harness.service.always = None

    harness.service.gate.clear()
    work = asyncio.create_task(harness.work())
    await wait_until(lambda: harness.service.messages, "it's asked")
    harness.service.always, harness.on_sleep = httpx.Response(502), comes_back
    harness.service.gate.set()
    await work

    assert asked[:3] == [1, 1, 1]
    assert len(harness.service.messages) == 2
    assert await harness.store.field(turn, "what") == "answered"


async def test_what_was_stopped_meanwhile_is_not_asked_again(harness: Harness) -> None:
    harness.use_file(SUPPORT_READS)
    turn = await harness.store.conversation(agent=7)
    process = harness.store.process("a")
    await process.journal.sent(await process.take(), repeats=True)
    await process.inbox.withdraw(key_of("1700000000.000100"))

    await harness.take_over("b")

    assert harness.service.messages == []
    assert await harness.store.field(turn, "what") in {"deleted", "withdrawn"}


async def test_it_counts_once_for_a_limit(harness: Harness) -> None:
    harness.use_file(SUPPORT_READS + '[[limits]]\nper = "person"\nturns = 2\n')
    harness.service.chats = [*LOST[:1]]
    await harness.store.conversation(agent=7)
    await harness.work()

    (counter,) = [key async for key in harness.store.redis.scan_iter("*used:*")]

    assert await harness.store.redis.hget(counter, "n") == "1"
