"""The worker: which lanes a process works on, how many at a time, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from bridge.queue.turn import Lease
from bridge.queue.worker import Slots, Work
from support.store import message
from support.turns import Bench
from support.waiting import wait_until

ROOTS = [f"170000{minute}000.000100" for minute in range(5)]


@asynccontextmanager
async def working(bench: Bench, *names: str, work: Callable[[str], Work] | None = None) -> AsyncIterator[None]:
    """Have workers at work for as long as the block takes."""

    def usual(name: str) -> Work:
        return bench.turns(bench.store.process(name)).work

    tasks = [asyncio.create_task(bench.worker(name).run((work or usual)(name))) for name in names]
    try:
        yield
        assert not any(task.done() for task in tasks), "a worker ended"
    finally:
        # Not cancelled: the fake swallows that now and then (asyncio.wait_for of Python 3.11).
        bench.draining.set()
        await asyncio.wait(tasks)
        bench.draining.clear()


async def conversations(bench: Bench, messages: int) -> None:
    """Queue *messages* in each of three threads, one after the other."""
    for number in range(messages):
        for root in ROOTS[:3]:
            reply = message(f"{root} {number}", f"{root[:-1]}{number + 1}", thread_ts=root)
            await bench.store.queue(message(f"{root} 0", root) if number == 0 else reply)


async def test_each_lane_is_in_order_and_never_two_of_its_turns_are_in_work(bench: Bench) -> None:
    await conversations(bench, messages=4)
    async with working(bench, "a", "b"):
        await wait_until(lambda: len(bench.say.messages) == 12, "all are answered")

    for root in ROOTS[:3]:
        asked = [text for text in bench.service.messages if text.startswith(root)]
        assert asked == [f"{root} {number}" for number in range(4)]
    assert bench.service.overlaps == set()
    assert bench.service.messages[:3] == [f"{root} 0" for root in ROOTS[:3]]  # no thread waits for another


async def test_lanes_of_the_dead_are_taken_over_and_those_of_the_living_are_not(bench: Bench) -> None:
    for root in ROOTS[:2]:
        await bench.store.queue(message(f"of {root}", root))
    dead, living = await bench.store.process("other").hold()
    await bench.store.expire_lease(dead)

    async with working(bench, "a"):
        await wait_until(lambda: bench.say.messages, "one is answered")

    assert bench.say.words == [f"re: of {ROOTS[0]}"]
    assert await bench.store.process("other").inbox.renew([dead.entry, living.entry]) == [dead.entry]


async def test_a_worker_that_renewed_too_late_goes_on_with_its_own_lane(bench: Bench) -> None:
    bench.service.gate.clear()
    await bench.store.queue(message("slow"))

    async with working(bench, "a"):
        await wait_until(lambda: bench.service.asked, "the request is out")
        await bench.store.expire_all_leases()
        await wait_until(bench.store.leases_are_fresh, "the worker has claimed its own lane")
        bench.service.gate.set()
        await wait_until(lambda: bench.say.messages, "it is answered")

    assert (bench.say.words, bench.service.messages) == (["re: slow"], ["slow"])


async def test_no_more_turns_are_in_work_than_there_are_slots(bench: Bench) -> None:
    bench.slots = Slots(2)
    bench.service.gate.clear()
    for root in ROOTS:
        await bench.store.queue(message(f"of {root}", root))

    async with working(bench, "a"):
        await wait_until(lambda: bench.service.at_once == 2, "both slots are taken")
        bench.service.gate.set()
        await wait_until(lambda: len(bench.say.messages) == 5, "all are answered")

    assert bench.service.most_at_once == 2
    assert bench.slots.free == 2


async def test_what_breaks_unexpectedly_ends_one_turn_and_not_the_worker(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    broken: list[str] = []

    async def work(lease: Lease) -> None:
        if not broken:
            broken.append(lease.lane)
            raise RuntimeError("nobody thought of this")
        await bench.turns(bench.store.process("a")).work(lease)

    async with working(bench, "a", work=lambda _name: work):
        await bench.store.queue(message("unlucky", ROOTS[0]))
        await wait_until(lambda: broken, "the first one broke")
        await bench.store.queue(message("lucky", ROOTS[1]))
        await wait_until(lambda: bench.say.words == ["re: lucky"], "the second one is answered")

    assert "a turn failed unexpectedly" in caplog.messages
    assert "unlucky" not in caplog.text
    await bench.take_over("b")  # the first is still there for whoever comes after the lease
    assert bench.say.words == ["re: lucky", "re: unlucky"]


async def test_draining_finishes_what_is_in_flight_and_begins_nothing(bench: Bench) -> None:
    bench.service.gate.clear()
    await bench.store.queue(message("in flight", ROOTS[0]))
    task = asyncio.create_task(bench.worker().run(bench.turns(bench.store.process("a")).work))
    await wait_until(lambda: bench.service.asked, "the request is out")

    bench.draining.set()
    await bench.store.queue(message("too late", ROOTS[1]))
    await asyncio.sleep(0)
    bench.service.gate.set()
    await task

    assert bench.say.words == ["re: in flight"]
    assert await bench.store.entries() == 1
    bench.draining.clear()
    await bench.work("b")
    assert bench.say.words[-1] == "re: too late"


async def test_what_takes_longer_than_the_time_to_drain_is_left_to_a_successor(bench: Bench) -> None:
    bench.service.gate.clear()
    await bench.store.queue(message("slow"))
    worker = bench.worker(drain=0.01)
    task = asyncio.create_task(worker.run(bench.turns(bench.store.process("a")).work))
    await wait_until(lambda: bench.service.asked, "the request is out")

    bench.draining.set()
    await task
    bench.service.gate.set()
    bench.draining.clear()
    await bench.take_over("b")

    assert "not known" in bench.say.words[0]
    assert len(bench.service.asked) == 1


async def test_the_depth_of_the_queue_is_known(bench: Bench) -> None:
    for root in ROOTS[:3]:
        await bench.store.queue(message("x", root))
    await bench.store.process("elsewhere").hold()
    worker = bench.worker()
    task = asyncio.create_task(worker.run(bench.turns(bench.store.process("a")).work))
    try:
        await wait_until(lambda: worker.depth == 3, "the heartbeat has counted")
    finally:
        bench.draining.set()
        await task
