"""The store while its server is killed, wiped, or has lost its replica."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.errors import StoreUnavailable, StoreWiped
from bridge.inbound import SlashCommand
from bridge.metrics import Metrics
from bridge.queue.inbox import Duplicate, Queued
from bridge.queue.records import Taken
from bridge.queue.redis.connection import connect
from support.harness import open_harness
from support.real_redis import RealRedis
from support.store import CHANNEL, TEAM, USER, message, open_store
from support.waiting import wait_until


async def test_a_handed_over_lane_is_still_held_after_a_kill_of_redis(
    private_redis: Callable[[], RealRedis],
) -> None:
    server = private_redis()
    async with connect(server.url) as redis:
        store = await open_store(redis)
        offer = await store.process().offer()
        turn = await store.queue()

        server.kill()
        server.start()
        await redis.connection_pool.disconnect()

        handed = offer.answer.result()
        assert isinstance(handed, Taken)
        assert await store.process("b").hold() == [], "it is not handed out again"
        await store.process().journal.done(handed)
        assert await store.field(turn, "step") == "done"


async def test_a_read_of_a_wiped_store_raises(redis: Redis) -> None:
    store = await open_store(redis)
    await redis.flushdb()

    with pytest.raises(StoreWiped):
        await store.process().hold()
    assert await store.process().take_over() == []
    assert await store.process().inbox.depth() == 0


async def test_without_a_replica_a_message_is_retried_and_already_stored(redis: Redis) -> None:
    metrics = Metrics()
    store = await open_store(redis, metrics=metrics)
    store.scripts.has_replicas = True  # as the heartbeat found; the server is gone by now

    with pytest.raises(StoreUnavailable):
        await store.put()

    assert b"bridge_wait_missing_total 1.0" in metrics.exposition()
    assert isinstance(await store.put(), Duplicate)
    assert await store.process().inbox.depth() == 1


COMMAND = SlashCommand(team=TEAM, channel=CHANNEL, user=USER, command="/stats")


async def test_commands_are_stored_without_a_replicas_confirmation(redis: Redis) -> None:
    metrics = Metrics()
    store = await open_store(redis, metrics=metrics)
    store.scripts.has_replicas = True

    assert isinstance(await store.process().inbox.put(COMMAND, event="trigger:1"), Queued)

    assert b"bridge_wait_missing_total 1.0" in metrics.exposition()


async def test_a_worker_continues_after_a_wipe(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.queue.worker._HEARTBEAT_EVERY", timedelta(hours=1))  # don't wait for it
    async with open_harness(redis) as harness:
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
