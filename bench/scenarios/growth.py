"""Scaling: many stored threads, and two processes on one Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import Redis

from bench.figures import TIMES, Figure, at_least, at_most, ratio_of_pairs, without_target
from bench.processes import pinned_to
from bench.scenarios.turns import Talks, in_turns, talks
from bench.stage import Length, Stage
from bench.traffic import CHANNEL, TEAM
from support.real_redis import RealRedis
from support.waiting import wait_until

_THREADS = 16
_FEW = 1_000
_MANY = 100_000
_MOST = 1_000_000
_BATCH = 2_000
_BYTES = 300
_FLAT = 0.9
_QUIET_SECONDS = 60.0


async def growth(stage: Stage) -> list[Figure]:
    """Compare two bridges, each with its own Redis: one with few stored threads, one with a growing number.

    The stored threads are copies of a real one.
    """
    figures, ratios = [], []
    async with (
        _redis_beside(stage) as url,
        stage.server("bridge", redis_url=url) as few,
        stage.server("bridge") as many,
    ):
        at_few, at_many = await talks(stage, few, _THREADS), await talks(stage, many, _THREADS)
        async with Redis.from_url(url) as beside:
            await _grow(beside, _key(at_few.threads[0]), 0, _FEW)
        stored = 0
        for wanted in _sizes(stage.length):
            each, stored = await _grow(stage.redis, _key(at_many.threads[0]), stored, wanted), wanted
            figures.append(at_most(f"Redis memory per stored thread, of {wanted:,}", each, _BYTES, "bytes"))
            if wanted != _FEW:
                ratio = await _compared(at_many, at_few, stage.length)
                name = f"turns/s with {wanted:,} stored threads ÷ with {_FEW:,}"
                ratios.append(at_least(name, ratio, _FLAT, TIMES))
        stage.check(at_few.messages + at_many.messages)
    return figures + ratios


async def _compared(many: Talks, few: Talks, length: Length) -> float:
    for warming in (many, few):
        await warming.continue_for(0.5)
    return ratio_of_pairs(*await in_turns(many, few, length.of(1.5, 0.7), length.times(6, 2)))


@asynccontextmanager
async def _redis_beside(stage: Stage) -> AsyncIterator[str]:
    """Start another Redis on the same core. Yields its URL."""
    folder = stage.around.folder / "beside"
    folder.mkdir()
    with pinned_to(stage.around.core):
        server = RealRedis(folder)
        server.start()
    try:
        yield server.url
    finally:
        server.stop()


def _sizes(length: Length) -> list[int]:
    if length.is_quick:
        return [_FEW, _MANY // 10]
    return [_FEW, _MANY, _MOST] if length.is_full else [_FEW, _MANY]


def _key(thread: str) -> str:
    return f"{{bench}}:thread:{TEAM}:{CHANNEL}:{thread}"


async def _grow(redis: Redis, model: str, stored: int, wanted: int) -> float:
    """Copy the key *model* and its index entry until there are *wanted*. Returns the bytes per copy."""
    value, lifetime = await redis.dump(model), await redis.pttl(model)
    if value is None:
        raise LookupError(model)
    before = await _used(redis)
    for first in range(stored, wanted, _BATCH):
        async with redis.pipeline(transaction=False) as pipe:
            for number in range(first, min(first + _BATCH, wanted)):
                root = f"16{number:08d}.000100"
                pipe.restore(_key(root), lifetime, value)
                pipe.zadd("{bench}:active", {f"{TEAM}:{CHANNEL}:{root}": float(root)})
            await pipe.execute()
    # This many writes trigger a rewrite of the append-only file, which occupies the core for a while.
    await wait_until(lambda: _is_quiet(redis), "Redis has rewritten its append-only file", _QUIET_SECONDS)
    return (await _used(redis) - before) / (wanted - stored)


async def _is_quiet(redis: Redis) -> bool:
    state: dict[str, Any] = await redis.info("persistence")
    return not (state["aof_rewrite_in_progress"] or state["aof_rewrite_scheduled"])


async def _used(redis: Redis) -> int:
    memory: dict[str, Any] = await redis.info("memory")
    return int(memory["used_memory_dataset"]) + int(memory.get("overhead.total", 0))


async def processes(stage: Stage) -> list[Figure]:
    """Compare two bridges that share a core with one that has it to itself."""
    both, alone = [], []
    async with stage.server("bridge") as first:
        talking = await talks(stage, first, _THREADS)
        for _ in range(stage.length.times(3, 1)):
            await talking.continue_for(0.5)
            one = await talking.continue_for(stage.length.of(3, 1))
            async with stage.server("bridge") as second:
                talking.doors = [first, second]
                await talking.continue_for(0.5)
                both.append(await talking.continue_for(stage.length.of(3, 1)))
                # Not killed: after a crash the other would look for posts in the thread, and this Slack has no history.
                second.process.stop()
            talking.doors = [first]
            alone.append(one)
        stage.check(talking.messages)
    return [
        without_target("turns/s of two processes ÷ one, on the same core", ratio_of_pairs(both, alone), TIMES),
    ]
