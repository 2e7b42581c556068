"""Writes of the store that go with a put, and the guards before them."""

from __future__ import annotations

from redis.asyncio import Redis

from bridge.inbound import HomeOpened
from bridge.queue.inbox import Queued, Stale
from bridge.queue.records import Write
from support.store import PREFIX, TEAM, USER, Store

HOME = HomeOpened(team=TEAM, channel="", user=USER)
SCHEDULE = f"{PREFIX}report:r1"
GUARD: Write = ("if", SCHEDULE, 0, 1, "due", "1")
SEND_WAITING: Write = ("field", SCHEDULE, 60_000, "due", "2")


async def test_a_put_and_its_writes_are_one_step(store: Store, redis: Redis) -> None:
    inbox = store.process().inbox
    await redis.hset(SCHEDULE, "due", "1")

    first = await inbox.put(HOME, event="1", writes=(GUARD, SEND_WAITING))
    second = await inbox.put(HOME, event="2", writes=(GUARD, SEND_WAITING))

    assert (type(first), type(second)) == (Queued, Stale)
    assert len(await store.process().hold()) == 1


async def test_a_guard_skips_only_the_writes_it_guards(store: Store, redis: Redis) -> None:
    await redis.hset(SCHEDULE, mapping={"due": "1", "paused": "asked"})
    await redis.zadd(f"{PREFIX}due", {"r1": 1, "r2": 2})

    answers = await store.process().inbox.write(
        ("if", SCHEDULE, 0, 2, "due", "1", "paused", ""),
        ("field", SCHEDULE, 0, "due", "2"),
        ("unrank", f"{PREFIX}due", 0, "r2"),
        ("if", SCHEDULE, 0, 1, "due", "1", "skipped", ""),
        ("field max", SCHEDULE, 0, "last", "5", "numbers", "n"),
        ("unrank", f"{PREFIX}due", 60_000, "r1"),
        ("rank", f"{PREFIX}due", 60_000, "r3", 3, 0),
    )

    assert answers == ["", "", "", "holds", "2", "1", "1"]
    assert await redis.hgetall(SCHEDULE) == {"due": "1", "paused": "asked", "last": "5", "numbers": "n"}
    assert await redis.zrange(f"{PREFIX}due", 0, -1) == ["r2", "r3"]
