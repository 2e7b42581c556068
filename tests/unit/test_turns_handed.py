"""A worker that is free takes lanes from the hand of whoever takes messages in, in the same process."""

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
from bridge.queue.worker import Slots
from support.losing import Losing
from support.store import NAMESPACE, message
from support.turns import Bench
from support.waiting import wait_until

ROOTS = [f"170000{minute}000.000100" for minute in range(5)]


class SilentStream:
    """A ready stream from which nothing is ever read, so that whatever is worked on was handed over."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    async def xreadgroup(self, *_what: Any, **_how: Any) -> list[Any]:
        await self._bench.draining.wait()
        return []


@asynccontextmanager
async def working(bench: Bench, *, blocking: Any = None) -> AsyncIterator[asyncio.Task[None]]:
    """Have the worker of the process ``a`` at work."""
    worker, turns = bench.worker(blocking=blocking or SilentStream(bench)), bench.turns(bench.store.process("a"))
    task = asyncio.create_task(worker.run(turns.work))
    await asyncio.sleep(0)
    try:
        yield task
    finally:
        bench.draining.set()
        await task
        bench.draining.clear()


async def test_what_comes_is_worked_on_without_being_read_from_the_stream(bench: Bench) -> None:
    async with working(bench):
        free = bench.slots.free
        await bench.store.queue(message("at once"))

        await wait_until(lambda: bench.say.words == ["re: at once"], "it is answered")
        await wait_until(lambda: bench.slots.free == free, "its turn is over")
        assert await bench.store.entries() == 0


async def test_where_no_place_is_free_the_lane_waits_in_the_stream(bench: Bench) -> None:
    bench.slots = Slots(1)
    bench.service.gate.clear()
    async with working(bench):
        for root in ROOTS[:2]:
            await bench.store.queue(message(f"of {root}", root))
        await wait_until(lambda: bench.service.asked, "one is in work")

        assert [held.lane for held in await bench.store.process("b").hold()] == [f"t:T1:C1:{ROOTS[1]}"]
        bench.service.gate.set()

    assert bench.slots.free == 1


async def test_what_is_read_when_the_last_place_has_been_handed_out_is_given_back(bench: Bench, redis: Redis) -> None:
    bench.slots = Slots(2)
    bench.service.gate.clear()
    stream = LateStream(redis)
    async with working(bench, blocking=stream):
        await wait_until(stream.has_come.is_set, "it reads, for two")
        for root in ROOTS[:3]:
            await bench.store.queue(message(f"of {root}", root))
        stream.may_go.set()
        await wait_until(lambda: stream.reads > 0, "the third was read")
        await wait_until(lambda: bench.service.at_once == 2, "two are in work")

        taken = await wait_for_a_lane(bench)
        assert taken == [f"t:T1:C1:{ROOTS[2]}"]
        assert bench.service.most_at_once == 2
        bench.service.gate.set()

    assert bench.slots.free == 2


async def test_what_is_for_nobody_gives_its_place_back(bench: Bench) -> None:
    async with working(bench):
        free = bench.slots.free
        await bench.store.queue(message("once"))
        await wait_until(lambda: bench.say.messages, "it is answered")

        await bench.store.put(message("once"))

        await wait_until(lambda: bench.slots.free == free, "all places are free")


async def test_a_worker_that_drains_is_not_free(bench: Bench) -> None:
    async with working(bench):
        bench.draining.set()
        await bench.store.queue(message("too late"))

    assert bench.say.words == []
    await bench.work("b")
    assert bench.say.words == ["re: too late"]


async def test_what_was_asked_for_before_it_drains_is_brought_to_its_end(bench: Bench, redis: Redis) -> None:
    bench.store.scripts = slow = Slow(redis, NAMESPACE, Metrics())
    async with working(bench) as task:
        putting = asyncio.create_task(bench.store.put(message("just in time")))
        await wait_until(slow.has_come.is_set, "it is being put in")
        bench.draining.set()
        await asyncio.sleep(0.05)
        assert not task.done()

        slow.may_go.set()
        await putting

    assert bench.say.words == ["re: just in time"]


async def test_a_message_whose_put_has_no_answer_is_answered_once_and_by_itself(bench: Bench, redis: Redis) -> None:
    bench.store.scripts = losing = Losing(redis, away=1)
    async with working(bench):
        free = bench.slots.free
        with pytest.raises(StoreUnavailable):
            await bench.store.put(message("hello there"), agent=7)
        await wait_until(lambda: bench.say.words == ["re: hello there"], "it is answered")

        await bench.store.put(message("hello there"), agent=7)  # Slack repeats it
        await wait_until(lambda: bench.slots.free == free, "nothing is in work")

    assert bench.service.messages == ["hello there"]
    assert losing.away == 0, "for a while Redis was away"


async def test_a_doubt_that_cannot_be_settled_ends_nothing(
    bench: Bench, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    bench.store.scripts = Broken(redis, NAMESPACE, Metrics())
    async with working(bench) as task:
        free = bench.slots.free
        with pytest.raises(ResponseError):
            await bench.store.put(message("hello there"))
        await wait_until(lambda: bench.slots.free == free, "its place is free")

        assert not task.done()
        assert "a lane could not be taken from hand to hand" in caplog.messages


async def test_what_was_taken_over_while_it_was_in_doubt_is_not_begun_twice(bench: Bench, redis: Redis) -> None:
    bench.store.scripts = losing = Losing(redis)
    losing.may_settle.clear()
    bench.say.gate.clear()
    async with working(bench):
        free = bench.slots.free
        with pytest.raises(StoreUnavailable):
            await bench.store.put(message("hello there"), agent=7)
        await bench.store.expire_all_leases()
        await wait_until(lambda: bench.say.attempts, "the worker has taken its own lane over")

        losing.may_settle.set()
        await wait_until(lambda: bench.slots.free == free - 1, "one of the two places is free again")
        bench.say.gate.set()
        await wait_until(lambda: bench.slots.free == free, "it is over")

    assert bench.say.attempts == 1
    assert bench.say.words == ["re: hello there"]


async def test_a_message_for_which_nobody_waits_any_more_is_worked_on_all_the_same(bench: Bench, redis: Redis) -> None:
    bench.store.scripts = slow = Slow(redis, NAMESPACE, Metrics())
    async with working(bench):
        putting = asyncio.create_task(bench.store.put(message("hello there")))
        await wait_until(slow.has_come.is_set, "it is being put in")
        putting.cancel()
        slow.may_go.set()
        free = bench.slots.free + 1
        await wait_until(lambda: bench.slots.free == free, "the doubt is settled")

        await bench.store.put(message("hello there"))  # Slack repeats it
        await wait_until(lambda: bench.say.words == ["re: hello there"], "it is answered")

    assert bench.service.messages == ["hello there"]


async def test_what_is_logged_about_a_turn_has_not_the_facts_of_the_request_that_brought_it(bench: Bench) -> None:
    written = StringIO()
    configure("json", "INFO", written)
    async with working(bench):
        with facts(request="of slack"):
            await bench.store.queue(message("at once"))
        await wait_until(lambda: "turn done" in written.getvalue(), "it is done")

    assert "of slack" not in written.getvalue()


async def wait_for_a_lane(bench: Bench) -> list[str]:
    """Wait until another process gets a lane; gives its name."""
    lanes: list[str] = []

    async def found() -> bool:
        lanes.extend(held.lane for held in await bench.store.process("b").hold())
        return bool(lanes)

    await wait_until(found, "another process gets one")
    return lanes


class LateStream:
    """A ready stream from which is read when a test lets it."""

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
    """On a Redis that says that we are wrong."""

    async def run(self, name: str, *args: str | int, **how: Any) -> Any:
        if name in {"put", "settle"}:
            raise ResponseError("WRONGTYPE")
        return await super().run(name, *args, **how)


class Slow(Scripts):
    """Lets a put wait."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.has_come, self.may_go = asyncio.Event(), asyncio.Event()

    async def run(self, name: str, *args: str | int, **how: Any) -> Any:
        if name == "put":
            self.has_come.set()
            await self.may_go.wait()
        return await super().run(name, *args, **how)
