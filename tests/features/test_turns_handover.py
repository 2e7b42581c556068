"""A free worker gets lanes directly from the listener in its own process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from bridge.errors import StoreUnavailable
from bridge.logs import configure, facts
from bridge.metrics import Metrics
from bridge.queue.scripting import Scripts
from support.harness import Harness
from support.lost_put import LostPut
from support.store import CHANNEL, NAMESPACE, TEAM, message
from support.waiting import wait_until

ROOTS = [f"170000{minute}000.000100" for minute in range(5)]


class SilentStream:
    """A ready stream that yields nothing, so every turn must be handed over directly."""

    def __init__(self, harness: Harness) -> None:
        self._bench = harness

    async def xreadgroup(self, *_what: Any, **_how: Any) -> list[Any]:
        await self._bench.draining.wait()
        return []


@asynccontextmanager
async def working(harness: Harness, *, blocking: Any = None) -> AsyncIterator[asyncio.Task[None]]:
    """Run the worker of process ``a``."""
    worker, turns = (
        harness.worker(blocking=blocking or SilentStream(harness)),
        harness.turns(harness.store.process("a")),
    )
    task = asyncio.create_task(worker.run(turns.work))
    await asyncio.sleep(0)
    try:
        yield task
    finally:
        harness.draining.set()
        await task
        harness.draining.clear()


async def test_a_queued_lane_is_handed_to_a_free_worker(harness: Harness) -> None:
    async with working(harness):
        free = harness.slots.free
        await harness.store.queue(message("at once"))

        await wait_until(lambda: harness.seen.texts == ["re: at once"], "it is answered")
        await wait_until(lambda: harness.slots.free == free, "its slot is free")
        assert await harness.store.entries() == 0


async def test_a_lane_waits_in_the_stream_while_no_slot_is_free(harness: Harness) -> None:
    harness.configure(BRIDGE_MAX_TURNS="1")
    harness.service.gate.clear()
    async with working(harness):
        for root in ROOTS[:2]:
            await harness.store.queue(message(f"of {root}", root))
        await wait_until(lambda: harness.service.asked, "one is running")

        assert [held.lane for held in await harness.store.process("b").hold()] == [f"t:{TEAM}:{CHANNEL}:{ROOTS[1]}"]
        harness.service.gate.set()

    assert harness.slots.free == 1


async def test_a_lane_read_too_late_for_a_slot_is_released(harness: Harness, redis: Redis) -> None:
    harness.configure(BRIDGE_MAX_TURNS="2")
    harness.service.gate.clear()
    stream = LateStream(redis)
    async with working(harness, blocking=stream):
        await wait_until(stream.has_come.is_set, "it reads, with two free slots")
        for root in ROOTS[:3]:
            await harness.store.queue(message(f"of {root}", root))
        stream.may_go.set()
        await wait_until(lambda: stream.reads > 0, "the third was read")
        await wait_until(lambda: harness.service.in_flight == 2, "two are running")

        taken = await wait_for_a_lane(harness)
        assert taken == [f"t:{TEAM}:{CHANNEL}:{ROOTS[2]}"]
        assert harness.service.most_in_flight == 2
        harness.service.gate.set()

    assert harness.slots.free == 2


async def test_an_unclaimed_offer_frees_its_slot(harness: Harness) -> None:
    async with working(harness):
        free = harness.slots.free
        await harness.store.queue(message("once"))
        await wait_until(lambda: harness.seen.messages, "it is answered")

        await harness.store.put(message("once"))

        await wait_until(lambda: harness.slots.free == free, "all slots are free")


async def test_a_worker_that_drains_is_not_free(harness: Harness) -> None:
    async with working(harness):
        harness.draining.set()
        await harness.store.queue(message("too late"))

    assert harness.seen.texts == []
    await harness.work("b")
    assert harness.seen.texts == ["re: too late"]


async def test_an_offer_made_before_draining_is_finished(harness: Harness, redis: Redis) -> None:
    harness.store.scripts = slow = Slow(redis, NAMESPACE, Metrics())
    harness.configure()
    async with working(harness) as task:
        putting = asyncio.create_task(harness.store.put(message("just in time")))
        await wait_until(slow.has_come.is_set, "it is being queued")
        harness.draining.set()
        await asyncio.sleep(0.05)
        assert not task.done()

        slow.may_go.set()
        await putting

    assert harness.seen.texts == ["re: just in time"]


async def test_a_message_with_a_lost_put_answer_is_answered_once(harness: Harness, redis: Redis) -> None:
    harness.store.scripts = LostPut(redis)
    harness.configure()
    async with working(harness):
        free = harness.slots.free
        with pytest.raises(StoreUnavailable):
            await harness.store.put(message("hello there"), agent=7)
        await harness.store.put(message("hello there"), agent=7)  # Slack's retry
        await wait_until(lambda: harness.slots.free == free, "nothing is running")
        assert harness.seen.attempts == 0
        await harness.store.expire_all_leases()
        await wait_until(lambda: harness.seen.texts == ["re: hello there"], "it is answered")
        await wait_until(lambda: harness.slots.free == free, "it is over")

    assert harness.service.messages == ["hello there"]
    assert harness.seen.attempts == 1


async def test_a_failed_handover_stops_nothing(harness: Harness, redis: Redis) -> None:
    harness.store.scripts = Broken(redis, NAMESPACE, Metrics())
    harness.configure()
    async with working(harness) as task:
        free = harness.slots.free
        with pytest.raises(ResponseError):
            await harness.store.put(message("hello there"))
        await wait_until(lambda: harness.slots.free == free, "its slot is free")

        assert not task.done()


async def test_a_message_whose_request_was_cancelled_is_still_handled(harness: Harness, redis: Redis) -> None:
    harness.store.scripts = slow = Slow(redis, NAMESPACE, Metrics())
    harness.configure()
    async with working(harness):
        putting = asyncio.create_task(harness.store.put(message("hello there")))
        await wait_until(slow.has_come.is_set, "it is being queued")
        putting.cancel()
        slow.may_go.set()
        free = harness.slots.free + 1
        await wait_until(lambda: harness.slots.free == free, "the unknown outcome is resolved")

        await harness.store.put(message("hello there"))  # Slack's retry
        await wait_until(lambda: harness.seen.texts == ["re: hello there"], "it is answered")

    assert harness.service.messages == ["hello there"]


async def test_a_turns_log_has_no_facts_of_the_request_that_brought_it(harness: Harness) -> None:
    written = StringIO()
    configure("json", "INFO", written)
    async with working(harness):
        with facts(request="of slack"):
            await harness.store.queue(message("at once"))
        await wait_until(lambda: "turn done" in written.getvalue(), "it is done")

    assert "of slack" not in written.getvalue()


async def wait_for_a_lane(harness: Harness) -> list[str]:
    """Wait until another process gets a lane; return the lane's name."""
    lanes: list[str] = []

    async def found() -> bool:
        lanes.extend(held.lane for held in await harness.store.process("b").hold())
        return bool(lanes)

    await wait_until(found, "another process gets one")
    return lanes


class LateStream:
    """A ready stream whose reads wait for the test."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self.has_come, self.may_go, self.reads = asyncio.Event(), asyncio.Event(), 0

    async def xreadgroup(self, *what: Any, block: int, **how: Any) -> Any:
        self.has_come.set()
        await self.may_go.wait()
        answer = await self._redis.xreadgroup(*what, block=block, **how)
        self.reads += bool(answer)
        return answer


class Broken(Scripts):
    """Scripts that fail as if Redis held a wrong type."""

    async def run(self, name: str, *args: str | int, **how: Any) -> Any:
        if name == "put":
            raise ResponseError("WRONGTYPE")
        return await super().run(name, *args, **how)


class Slow(Scripts):
    """Scripts that hold a put until allowed to continue."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.has_come, self.may_go = asyncio.Event(), asyncio.Event()

    async def run(self, name: str, *args: str | int, **how: Any) -> Any:
        if name == "put":
            self.has_come.set()
            await self.may_go.wait()
        return await super().run(name, *args, **how)
