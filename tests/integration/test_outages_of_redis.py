"""People talk on while a real Redis is full, read-only, loading, slow or cannot write its file: nothing is lost."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from bridge.playground.slack.sample import ALICE, BOB, CAROL, GENERAL, PRIVATE, RANDOM, SHARED
from support.flow import flow
from support.real_redis import RealRedis
from support.waiting import wait_until
from support.world import World, a_world

Fault = Callable[[World, RealRedis], AbstractAsyncContextManager[None]]

RETRIES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
PEOPLE = ((ALICE, GENERAL), (BOB, RANDOM), (CAROL, SHARED))
SLOWLY = ("--key-load-delay", "10000", "--loading-process-events-interval-bytes", "1024")


async def test_messages_flow_through_everything_that_a_redis_can_suffer(
    private_redis: Callable[[], RealRedis],
) -> None:
    server = private_redis()
    async with a_world(server.url, "test", retry_delays=RETRIES) as world:
        bridge = await world.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_THREAD_TURNS_PER_MINUTE="0")
        async with flow(world, *PEOPLE) as threads:
            for fault in (is_loading, is_full, is_read_only, cannot_write, is_slow):
                await threads.passes(1)
                async with fault(world, server):
                    await refused_meanwhile(world)
                await threads.passes(1)

        await bridge.reaches("redis")


async def refused_meanwhile(world: World) -> None:
    """Wait until somebody is told that nothing can be taken."""

    async def is_told() -> bool:
        return "not be taken" in (await world.slack.command(ALICE, PRIVATE, "/stats")).body

    await wait_until(is_told, "a command could not be taken", 15)


@asynccontextmanager
async def is_full(world: World, _server: RealRedis) -> AsyncIterator[None]:
    """Every write is answered with OOM."""
    await world.redis.config_set("maxmemory", "1")
    yield
    await world.redis.config_set("maxmemory", "0")


@asynccontextmanager
async def is_read_only(world: World, _server: RealRedis) -> AsyncIterator[None]:
    """It has become the replica of somebody."""
    await world.redis.slaveof("127.0.0.1", "1")
    yield
    await world.redis.slaveof()


@asynccontextmanager
async def cannot_write(world: World, _server: RealRedis) -> AsyncIterator[None]:
    """It wants a replica that is not there, and takes no write without."""
    await world.redis.config_set("min-replicas-to-write", "1")
    yield
    await world.redis.config_set("min-replicas-to-write", "0")


@asynccontextmanager
async def is_slow(_world: World, server: RealRedis) -> AsyncIterator[None]:
    """It stands still most of the time."""

    async def stutter() -> None:
        while True:
            server.send_signal(signal.SIGSTOP)
            await asyncio.sleep(2.5)
            server.send_signal(signal.SIGCONT)
            await asyncio.sleep(0.1)

    task = asyncio.create_task(stutter())
    try:
        yield
    finally:
        task.cancel()
        server.send_signal(signal.SIGCONT)


@asynccontextmanager
async def is_loading(_world: World, server: RealRedis) -> AsyncIterator[None]:
    """It was killed, and takes a while to read its file again: the longer the more was written, so this comes first."""
    server.kill()
    starting = asyncio.create_task(asyncio.to_thread(server.start, *SLOWLY))
    yield
    await starting
