"""Lanes of dead processes are found however many others are running; a real server scans a part of them at a time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from redis.asyncio import Redis

from support.real_redis import RealRedis
from support.store import message, open_store


async def test_an_abandoned_lane_is_found_after_a_thousand_running_ones(private_redis: Callable[[], RealRedis]) -> None:
    async with Redis.from_url(private_redis().url, decode_responses=True, protocol=2) as redis:
        store = await open_store(redis)
        alive, dead, other = store.process("alive"), store.process("dead"), store.process("other")
        for number in range(1000):
            await store.put(message(ts=f"17000{number:05d}.000100", thread_ts=""))
        held = [lane for _ in range(20) for lane in await alive.hold(most=64)]
        await store.put(message(ts="1800000000.000100", thread_ts=""))
        (abandoned,) = await dead.hold()
        await store.expire_lease(abandoned)

        claimed = await other.inbox.claim_from_the_dead(lease=timedelta(seconds=15), most=10)

    assert len(held) == 1000
    assert [lane.lane for lane in claimed] == [abandoned.lane]
