"""Schedules and periodic jobs: each slot is queued once; one process does each period's job."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import httpx
import pytest
from redis.asyncio import Redis

from bridge.engine.clock import LOOKS_EVERY, Clock
from bridge.engine.feature import Feature, Slot
from bridge.features.deps import Deps
from bridge.features.registry import features
from bridge.features.statistics.snapshots import hour_of
from bridge.inbound import HomeOpened
from bridge.queue.keys import CLAIMED
from bridge.queue.patience import Patience
from bridge.queue.writes import Write
from support.harness import Harness
from support.real_redis import refused_commands
from support.store import PREFIX, TEAM, USER

HOME = HomeOpened(team=TEAM, channel="", user=USER)
SCHEDULE = f"{PREFIX}report:r1"
GUARD: Write = ("if", SCHEDULE, 0, 1, "due", "1")
SEND_WAITING: Write = ("field", SCHEDULE, 60_000, "due", "2")


def clock_of(harness: Harness, feature: Feature, name: str = "a") -> Clock:
    deps = harness.parts(name).turns.deps
    return Clock(deps, feature.clocks, feature.jobs, Patience(harness.draining, sleep=harness.sleep))


@pytest.fixture
def feature() -> Feature:
    """A feature with a slot that always counts as due."""
    feature = Feature("scheduled")

    @feature.slots
    async def due(_deps: Deps, _most: int) -> list[Slot]:
        return [Slot("scheduled:1", HOME, (GUARD, SEND_WAITING))]

    return feature


async def test_queueing_a_slot_advances_its_schedule(harness: Harness, feature: Feature, redis: Redis) -> None:
    await redis.hset(SCHEDULE, "due", "1")
    names = [f"p{number}" for number in range(8)]

    await asyncio.gather(*(clock_of(harness, feature, name).claim_slots() for name in names))

    assert await redis.hget(SCHEDULE, "due") == "2"
    assert len(await harness.store.process().hold()) == 1


async def test_a_stale_slot_is_not_queued(harness: Harness, feature: Feature, redis: Redis) -> None:
    await redis.hset(SCHEDULE, "due", "3")

    await clock_of(harness, feature).claim_slots()

    assert await redis.hget(SCHEDULE, "due") == "3"
    assert await harness.store.process().hold() == []


async def test_a_schedule_set_back_by_a_failover_continues(harness: Harness, feature: Feature, redis: Redis) -> None:
    for _ in range(2):
        await redis.hset(SCHEDULE, "due", "1")
        await clock_of(harness, feature).claim_slots()

    assert await redis.hget(SCHEDULE, "due") == "2"
    assert len(await harness.store.process().hold()) == 1


async def test_schedules_wait_for_redis(harness: Harness, feature: Feature, redis: Redis) -> None:
    await redis.hset(SCHEDULE, "due", "1")
    looks = 0

    async def time_goes_on() -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            harness.draining.set()
            await asyncio.Event().wait()

    harness.on_sleep = time_goes_on
    with refused_commands(redis):
        await clock_of(harness, feature).watch_slots()

    assert looks == 3
    assert await redis.hget(SCHEDULE, "due") == "1"


async def test_one_process_takes_an_unread_hours_snapshot(harness: Harness) -> None:
    clocks = [harness.parts(name).clock for name in "abc"]
    job = next(job for job in features.jobs if job.name.endswith("take_snapshot"))
    for _ in range(2):
        await asyncio.gather(*(clock.do(job) for clock in clocks))

    assert harness.service.requests == 1
    store = harness.parts().turns.deps.statistics(harness.parts().turns.deps.projects.default).store
    assert (await store.hours())[0] == [hour_of(harness.store.clock())]


async def test_a_failed_job_is_retried_until_draining(harness: Harness, redis: Redis) -> None:
    job = next(job for job in features.jobs if job.name.endswith("take_snapshot"))
    claim = f"{PREFIX}claimed:{job.name}:{hour_of(harness.store.clock())}"
    harness.service.always = httpx.Response(418)
    looks = 0

    async def time_goes_on() -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            assert 0 < await redis.pttl(claim) <= CLAIMED / timedelta(milliseconds=1)
            assert CLAIMED < LOOKS_EVERY
            await redis.delete(claim)
            harness.service.always = None
        if looks == 3:
            harness.draining.set()
            await asyncio.Event().wait()

    harness.on_sleep = time_goes_on
    await harness.parts().clock.watch(job)

    assert harness.slept == [LOOKS_EVERY.total_seconds()] * 3
    assert harness.service.requests == 2
    assert await redis.pttl(claim) > CLAIMED / timedelta(milliseconds=1), "not repeated within the hour"


async def test_a_job_is_missed_while_redis_is_down(
    harness: Harness, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "bridge.engine.clock")
    with refused_commands(redis):
        await harness.parts().clock.do(features.jobs[0])

    assert harness.service.requests == 0
    assert caplog.messages == [], "watching the slots says once that Redis is down"
