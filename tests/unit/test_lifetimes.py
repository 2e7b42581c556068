"""The guard of the `redis` fixture detects keys without a lifetime."""

from __future__ import annotations

from redis.asyncio import Redis

from support.lifetimes import keys_without_lifetime


async def test_only_unlisted_keys_without_a_lifetime_are_found(redis: Redis) -> None:
    await redis.set("{b}:brief", "1", ex=60)
    await redis.set("{b}:owner", "1")
    await redis.set("{b}:forgotten", "1")

    assert await keys_without_lifetime(redis) == ["{b}:forgotten"]
    await redis.flushdb()
