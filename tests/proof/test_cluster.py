"""The bridge on a three-node cluster that loses nodes."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from redis.asyncio import Redis

from bridge.errors import StoreUnavailable
from bridge.metrics import Metrics
from bridge.playground.emulator.sample import ALICE, BOB, GENERAL, RANDOM
from bridge.queue.patience import Patience
from bridge.queue.put import Queued
from bridge.queue.redis.connection import blocking_connection, connect
from support.continuous_load import RETRIES, continuous_load
from support.real_redis import unavailable_reason
from support.redis_groups import Nodes, Server, started
from support.store import NAMESPACE, PREFIX, message, open_store, ts
from support.system import open_system
from support.waiting import wait_until

BLOCK = timedelta(milliseconds=300)


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    """A cluster in which the test's namespace has a master and a replica."""
    with tempfile.TemporaryDirectory(prefix="br-") as folder:
        group = Nodes(Path(folder), NAMESPACE)
        with started(group):
            yield group


@pytest.fixture
async def redis(nodes: Nodes) -> AsyncIterator[Redis]:
    """The store's client for a cluster."""
    async with connect(nodes.url) as client:
        yield client


async def test_the_store_follows_a_failover_to_the_replica(nodes: Nodes, redis: Redis) -> None:
    metrics = Metrics()
    store = await open_store(redis, metrics=metrics)
    assert store.scripts.has_replicas, "the node that owns the keys was asked"
    assert isinstance(await store.put(), Queued)
    async with blocking_connection(nodes.url, BLOCK) as waiting:
        (held,) = await store.process().inbox.wait_for_lanes(waiting, most=10, block=BLOCK)
        await store.process().take(held)

        nodes.replica.ask("CLUSTER", "FAILOVER")
        await wait_until(lambda: nodes.replica.ask("ROLE")[0] == "master", "the replica has taken over")
        with pytest.raises(StoreUnavailable):
            await store.put(message("and this?", ts(1)))

        assert isinstance(await store.put(message("and this?", ts(1))), Queued), "the next attempt finds it"
        assert await store.process().inbox.wait_for_lanes(waiting, most=10, block=BLOCK) == [], (
            "everything is in one lane"
        )
    assert await store.box() == nodes.replica.ask("LRANGE", f"{PREFIX}box:{held.lane}", 0, -1)
    assert len(await store.box()) == 2
    missing = float(metrics.exposition().partition(b"\nbridge_wait_missing_total ")[2].split()[0])
    assert missing < 3, "the replica confirmed some writes within 50 ms, which a busy machine may miss"


async def test_the_store_is_down_until_its_slot_has_moved(nodes: Nodes, redis: Redis) -> None:
    store = await open_store(redis)
    await store.conversation()
    source, target = nodes.owner, nodes.others[0]
    target.ask("CLUSTER", "SETSLOT", nodes.slot, "IMPORTING", nodes.id_of(source))
    source.ask("CLUSTER", "SETSLOT", nodes.slot, "MIGRATING", nodes.id_of(target))
    move_a_key(source, target, f"{PREFIX}seen:e:{message().event_id}")

    assert await unavailable_reason(store.put()) == "away", "the session to compare with is on another node"

    for key in source.ask("CLUSTER", "GETKEYSINSLOT", nodes.slot, 100):
        move_a_key(source, target, key)
    for server in (target, source, nodes.others[1]):
        server.ask("CLUSTER", "SETSLOT", nodes.slot, "NODE", nodes.id_of(target))

    patience = Patience(asyncio.Event())
    with patience.through_outages():
        assert (await store.put()).end == "duplicate", "it was recorded before the move"
        assert isinstance(await store.put(message("and this?", ts(1))), Queued)
    assert target.ask("LLEN", f"{PREFIX}box:{(await store.process().hold())[0].lane}") == 2


def move_a_key(source: Server, target: Server, key: str) -> None:
    """Move a key to another node, as resharding does."""
    source.ask("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)


async def test_conversations_continue_while_nodes_are_killed(nodes: Nodes) -> None:
    async with open_system(nodes.owner.url, NAMESPACE, retry_delays=RETRIES) as system:
        system.redis_url = nodes.url
        bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_THREAD_TURNS_PER_MINUTE="0")
        root = await system.mention(ALICE, GENERAL, "my name is Alice")
        await system.answered(GENERAL, root)

        nodes.others[0].kill()
        await system.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root)
        answers = await system.answered(GENERAL, root, 2)
        assert "Alice" in answers[1], "the lost node owned none of the keys"
        nodes.others[0].start()
        await wait_until(nodes.are_all_there, "a majority can elect a master again", 20)

        async with continuous_load(system, (ALICE, GENERAL), (BOB, GENERAL), (BOB, RANDOM)) as threads:
            await threads.wait_until_accepted(3)
            nodes.owner.kill()
            await wait_until(lambda: nodes.replica.ask("ROLE")[0] == "master", "the replica has taken over", 20)
            await threads.wait_until_accepted(3)
        await system.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root)
        answers = await system.answered(GENERAL, root, 3)

        assert "Alice" in answers[2], "the session is known there"
        await bridge.reaches("redis")
