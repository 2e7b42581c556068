"""The worker: which lanes it processes, how many at once, and how it shuts down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.queue.lease import Lease
from bridge.queue.worker import Work
from support.harness import Harness
from support.store import message
from support.waiting import wait_until

ROOTS = [f"170000{minute}000.000100" for minute in range(5)]


@asynccontextmanager
async def working(harness: Harness, *names: str, work: Callable[[str], Work] | None = None) -> AsyncIterator[None]:
    """Run workers for the duration of the block."""

    def usual(name: str) -> Work:
        return harness.turns(harness.store.process(name)).work

    tasks = [asyncio.create_task(harness.worker(name).run((work or usual)(name))) for name in names]
    try:
        yield
        assert not any(task.done() for task in tasks), "a worker ended"
    finally:
        # Not cancelled: the fake sometimes swallows that (asyncio.wait_for in Python 3.11).
        harness.draining.set()
        await asyncio.wait(tasks)
        harness.draining.clear()


async def conversations(harness: Harness, messages: int) -> None:
    """Queue *messages* in each of three threads, one after the other."""
    for number in range(messages):
        for root in ROOTS[:3]:
            reply = message(f"{root} {number}", f"{root[:-1]}{number + 1}", thread_ts=root)
            await harness.store.queue(message(f"{root} 0", root) if number == 0 else reply)


async def test_each_lane_runs_one_turn_at_a_time_in_order(harness: Harness) -> None:
    await conversations(harness, messages=4)
    async with working(harness, "a", "b"):
        await wait_until(lambda: len(harness.seen.messages) == 12, "all are answered")

    for root in ROOTS[:3]:
        asked = [text for text in harness.service.messages if text.startswith(root)]
        assert asked == [f"{root} {number}" for number in range(4)]
    assert harness.service.overlaps == set()
    assert harness.service.messages[:3] == [f"{root} 0" for root in ROOTS[:3]]  # no thread waits for another


async def test_only_lanes_of_dead_workers_are_taken_over(harness: Harness) -> None:
    for root in ROOTS[:2]:
        await harness.store.queue(message(f"of {root}", root))
    dead, living = await harness.store.process("other").hold()
    await harness.store.expire_lease(dead)

    async with working(harness, "a"):
        await wait_until(lambda: harness.seen.messages, "one is answered")

    assert harness.seen.texts == [f"re: of {ROOTS[0]}"]
    assert await harness.store.process("other").inbox.renew([dead.entry, living.entry]) == [dead.entry]


async def test_a_worker_that_renewed_late_continues_with_its_lane(harness: Harness) -> None:
    harness.service.gate.clear()
    await harness.store.queue(message("slow"))

    async with working(harness, "a"):
        await wait_until(lambda: harness.service.asked, "the request is under way")
        await harness.store.expire_all_leases()
        await wait_until(harness.store.leases_are_fresh, "the worker has claimed its own lane")
        harness.service.gate.set()
        await wait_until(lambda: harness.seen.messages, "it is answered")

    assert (harness.seen.texts, harness.service.messages) == (["re: slow"], ["slow"])


async def test_no_more_turns_run_than_there_are_slots(harness: Harness) -> None:
    harness.configure(BRIDGE_MAX_TURNS="2")
    harness.service.gate.clear()
    for root in ROOTS:
        await harness.store.queue(message(f"of {root}", root))

    async with working(harness, "a"):
        await wait_until(lambda: harness.service.in_flight == 2, "both slots are busy")
        harness.service.gate.set()
        await wait_until(lambda: len(harness.seen.messages) == 5, "all are answered")

    assert harness.service.most_in_flight == 2
    assert harness.slots.free == 2


async def test_an_unexpected_error_ends_one_turn_and_not_the_worker(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    broken: list[str] = []

    async def work(lease: Lease) -> None:
        if not broken:
            broken.append(lease.lane)
            raise RuntimeError("nobody thought of this")
        await harness.turns(harness.store.process("a")).work(lease)

    async with working(harness, "a", work=lambda _name: work):
        await harness.store.queue(message("unlucky", ROOTS[0]))
        await wait_until(lambda: broken, "the first one failed")
        await harness.store.queue(message("lucky", ROOTS[1]))
        await wait_until(lambda: harness.seen.texts == ["re: lucky"], "the second one is answered")

    assert "a turn failed unexpectedly" in caplog.messages
    assert "unlucky" not in caplog.text
    await harness.take_over("b")  # the first one is still queued for the next worker once the lease expires
    assert harness.seen.texts == ["re: lucky", "re: unlucky"]


async def test_a_turn_that_outlasts_draining_is_left_to_a_successor(harness: Harness) -> None:
    harness.service.gate.clear()
    await harness.store.queue(message("slow"))
    worker = harness.worker(drain=0.01)
    task = asyncio.create_task(worker.run(harness.turns(harness.store.process("a")).work))
    await wait_until(lambda: harness.service.asked, "the request is under way")

    harness.draining.set()
    await task
    harness.service.gate.set()
    harness.draining.clear()
    await harness.take_over("b")

    assert "can't tell" in harness.seen.texts[0]
    assert len(harness.service.asked) == 1


async def test_the_depth_of_the_queue_is_known(harness: Harness) -> None:
    for root in ROOTS[:3]:
        await harness.store.queue(message("x", root))
    await harness.store.process("elsewhere").hold()
    worker = harness.worker()
    task = asyncio.create_task(worker.run(harness.turns(harness.store.process("a")).work))
    try:
        await wait_until(lambda: worker.depth == 3, "the heartbeat has counted")
    finally:
        harness.draining.set()
        await task


async def test_a_worker_continues_after_a_wipe(harness: Harness, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.queue.worker._HEARTBEAT_EVERY", timedelta(hours=1))  # don't wait for it
    task = asyncio.create_task(harness.worker(block=1.0).run(harness.turns(harness.store.process()).work))
    harness.service.gate.clear()
    await harness.store.queue(message("is lost with the store"))
    await wait_until(lambda: harness.service.asked, "a turn is running")
    await redis.flushdb()
    harness.service.gate.set()

    await harness.store.queue(message("comes after it", "1700000090.000100"))
    await wait_until(lambda: harness.seen.texts, "the message is answered")

    assert harness.seen.texts == ["re: comes after it"]
    harness.draining.set()
    await task
