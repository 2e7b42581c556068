"""When the service is back, what waited in many threads is answered in the order in which it was written."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from support.store import message
from support.turns import REFUSED, Bench
from support.waiting import wait_until

THREADS = 12


async def test_after_an_outage_the_oldest_message_is_sent_first(bench: Bench) -> None:
    bench.service.always = REFUSED
    written = [f"words-{number}" for number in range(THREADS)]
    process = bench.store.process()
    turns = bench.turns(process)
    workers = []
    for number, words in enumerate(written):
        bench.store.clock.time += timedelta(seconds=1)
        await bench.store.queue(message(words, f"17000{number:05d}.000100"), agent=7)
        (held,) = await process.hold(most=1)
        workers.append(asyncio.create_task(turns.work(bench.lease(process, held))))
    await wait_until(lambda: len(turns.line._places) == THREADS, "each thread was told, and stands in the line")

    bench.service.always = None
    await asyncio.gather(*workers)

    assert bench.service.messages == written
