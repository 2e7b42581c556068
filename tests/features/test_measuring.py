"""What's looked up in Redis whenever metrics are read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.features.registry import features
from bridge.inbound import StopRequest
from bridge.queue.measuring import measure_queue
from support.harness import SALES, Harness
from support.store import CHANNEL, PREFIX, ROOT, TEAM, USER, message, ts

MINUTES = timedelta(minutes=5)


async def measured(harness: Harness, name: str) -> dict[str, float]:
    """The samples of one metric, by their labels."""
    await measure_queue(harness.store.scripts, harness.metrics, features.due)
    found = [one for metric in harness.metrics.registry.collect() for one in metric.samples if one.name == name]
    return {"".join(one.labels.values()): one.value for one in found}


async def is_waiting(harness: Harness) -> None:
    await harness.store.queue(message("first"))


async def is_running(harness: Harness) -> None:
    await is_waiting(harness)
    await harness.take("a")


async def is_parked(harness: Harness) -> None:
    harness.service.agents.append(SALES)
    await is_waiting(harness)
    await harness.work()


async def is_held(harness: Harness) -> None:
    await harness.store.conversation(agent=7)
    await harness.store.queue(message("second", ts(1)))
    stop = StopRequest(team=TEAM, channel=CHANNEL, user=USER, given=ts(9), thread_ts=ROOT)
    await harness.parts().stopping.stop(stop, event="EvStop")
    await harness.work()


@pytest.mark.parametrize("begin", [is_waiting, is_running, is_parked, is_held])
async def test_a_messages_age_has_the_state_of_its_thread(
    harness: Harness, begin: Callable[[Harness], Awaitable[None]]
) -> None:
    await begin(harness)
    harness.store.clock.time += MINUTES

    ages = await measured(harness, "bridge_oldest_message_seconds")

    states = {"waiting": 0, "running": 0, "parked": 0, "held": 0}
    assert ages == states | {begin.__name__.removeprefix("is_"): 300}


async def test_slots_are_late_after_a_minute(harness: Harness, redis: Redis) -> None:
    now = harness.store.clock().timestamp()
    await redis.zadd(f"{PREFIX}due", {"late": (now - 61) * 1000, "due": (now - 59) * 1000, "next": (now + 60) * 1000})

    late = await measured(harness, "bridge_late_slots")

    await redis.delete(f"{PREFIX}due")
    assert {what: slots for what, slots in late.items() if slots} == {"schedules": 1}


async def test_finished_turns_lag_until_they_are_applied(harness: Harness, redis: Redis) -> None:
    seconds, _ = await redis.time()
    await redis.xadd(f"{PREFIX}audit", {"v": "1", "outcome": "answered"}, id=f"{(seconds - 90) * 1000}-0")
    waiting = await measured(harness, "bridge_finished_turns_lag_seconds")
    await harness.parts().finished_turns.apply()

    applied = await measured(harness, "bridge_finished_turns_lag_seconds")

    await redis.delete(f"{PREFIX}audit")
    assert 90 <= waiting[""] < 120
    assert applied == {"": 0}


async def test_an_emptied_store_is_measured(harness: Harness, redis: Redis) -> None:
    await is_running(harness)
    await redis.flushdb()

    ages = await measured(harness, "bridge_oldest_message_seconds")

    assert set(ages.values()) == {0}
    assert (await measured(harness, "bridge_redis_round_trip_seconds"))[""] > 0
