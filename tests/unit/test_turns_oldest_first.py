"""When the service is back, what waited in many threads is answered in the order in which it was written."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from support.harness import REFUSED, Harness
from support.store import message
from support.waiting import wait_until

THREADS = 12


async def test_after_an_outage_the_oldest_message_is_sent_first(harness: Harness) -> None:
    harness.service.always = REFUSED
    written = [f"words-{number}" for number in range(THREADS)]
    process = harness.store.process()
    turns = harness.turns(process)
    workers = []
    for number, words in enumerate(written):
        harness.store.clock.time += timedelta(seconds=1)
        await harness.store.queue(message(words, f"17000{number:05d}.000100"), agent=7)
        (held,) = await process.hold(most=1)
        workers.append(asyncio.create_task(turns.work(harness.lease(process, held))))
    await wait_until(lambda: len(turns.line._places) == THREADS, "each thread was told, and stands in the line")
    before = harness.service.requests
    await wait_until(
        lambda: harness.service.requests > before + 1, "whoever tried before the oldest came is back in line"
    )

    harness.service.always = None
    await asyncio.gather(*workers)

    assert harness.service.messages == written
