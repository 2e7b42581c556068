"""Limits in the store: counted once across all processes, only where requested."""

from __future__ import annotations

from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.queue.inbox import Arrival, Condition, Paused, Put, Queued
from bridge.queue.records import Quota
from support.store import PREFIX, THREAD, Store, message, open_store, ts


@pytest.fixture
async def limited(redis: Redis) -> Store:
    return await open_store(redis, limits=[Quota("a thread", 2, timedelta(minutes=1), 1, "", called="thread")])


async def test_all_processes_count_together(limited: Store) -> None:
    async def put(process: str, stamp: str) -> Put:
        inbox, one = limited.process(process).inbox, message(ts=stamp)
        arrival = Arrival(inbound=one, event=stamp, thread=THREAD, condition=Condition.START, is_limited=True)
        return await inbox.put_message(arrival)

    puts = [await put(process, ts(number)) for number, process in enumerate("abc", start=1)]

    assert isinstance(puts[0], Queued)
    assert isinstance(puts[1], Queued)
    assert isinstance(puts[2], Paused)
    assert timedelta(seconds=50) < puts[2].wait <= timedelta(minutes=1)


async def test_without_limits_nothing_is_counted(store: Store, redis: Redis) -> None:
    await store.queue(message(), is_limited=True)

    assert not [key async for key in redis.scan_iter("*:used:*")]


async def test_messages_that_are_not_for_an_agent_do_not_count(limited: Store) -> None:
    await limited.queue()

    puts = [await limited.put(message("!session", ts(number))) for number in range(1, 5)]

    assert [type(put) for put in puts] == [Queued] * 4


async def test_a_request_that_did_not_arrive_is_taken_back_only_from_its_own_window(store: Store, redis: Redis) -> None:
    journal, takes = store.process().journal, []
    for root in ("1700000000.000100", "1700000500.000100"):
        await store.queue(message(ts=root, thread_ts=""), agent=7)
        takes.append(await store.process().take())
    first, second = takes
    limits, counter = [Quota("runs", 2, timedelta(hours=1), 1, "")], f"{PREFIX}used:runs"

    await journal.sent(first, limits=limits)
    await journal.unsent(first, limits=limits)
    assert await redis.hget(counter, "n") == "0"

    again = await store.process().take(first.held)
    await journal.sent(again, limits=limits)
    await redis.delete(counter)  # its hour is over
    await journal.sent(second, limits=limits)
    await journal.unsent(again, limits=limits)
    assert await redis.hget(counter, "n") == "1"
