"""After an outage of the service, messages waiting in many threads are sent in the order they were written."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from bridge.queue.records import Held
from bridge.queue.slots import Line
from support.harness import REFUSED, Harness
from support.store import message
from support.waiting import wait_until

THREADS = 12


async def test_after_an_outage_the_oldest_message_is_sent_first(harness: Harness) -> None:
    harness.service.always = REFUSED
    written = [f"words-{number}" for number in range(THREADS)]
    process = harness.store.process()
    turns = harness.turns(process)

    async def work(held: Held) -> None:
        await turns.work(harness.lease(process, held))
        turns.slots.release()  # as `Worker` does

    workers = []
    for number, words in enumerate(written):
        harness.store.clock.time += timedelta(seconds=1)
        await harness.store.queue(message(words, f"17000{number:05d}.000100"), agent=7)
        (held,) = await process.hold(most=1)
        workers.append(asyncio.create_task(work(held)))
    await wait_until(
        lambda: sum(not turn.has_left for turn in turns.line._waiting) == THREADS,
        "each thread has its notice and is in line",
    )

    turns.slots.free = 1  # one at a time
    harness.service.always = None
    await asyncio.gather(*workers)

    assert harness.service.messages == written


async def test_the_longest_waiting_turn_goes_first_even_if_it_joins_later() -> None:
    line, is_over = Line(), asyncio.Event()
    left: list[int] = []

    async def wait(minute: int) -> None:
        await line.wait(datetime(2026, 11, 1, 12, minute, tzinfo=UTC), is_over.wait)
        left.append(minute)

    async with asyncio.TaskGroup() as group:
        for minute in (1, 5, 3):
            group.create_task(wait(minute))
            await asyncio.sleep(0)
        leaves = group.create_task(line.wait(datetime(2026, 11, 1, 11, 0, tzinfo=UTC), asyncio.Event().wait))
        await asyncio.sleep(0)
        leaves.cancel()  # the next one becomes first
        await asyncio.sleep(0)
        group.create_task(wait(0))
        await asyncio.sleep(0)
        is_over.set()

    assert left == [0, 1, 3, 5]
