"""The namespace: its owner, a wiped store, and removal of dead consumers."""

from __future__ import annotations

from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.errors import NamespaceTaken, StoreUnavailable, StoreWiped
from bridge.metrics import Metrics
from bridge.playground.emulator.sample import BOB
from bridge.queue.namespace import Namespace
from bridge.queue.redis.connection import connect
from bridge.queue.scripting import Scripts
from support.store import BOT, NAMESPACE, PREFIX, START, TEAM, Store, message, open_store, ts


async def test_a_namespace_remembers_when_it_was_first_opened(store: Store, redis: Redis) -> None:
    store.clock.time = START + timedelta(days=3)

    again = await open_store(redis, store.clock)

    assert store.namespace.since == again.namespace.since == START
    assert again.namespace.is_held


@pytest.mark.parametrize(("team", "bot"), [("T2", BOT), (TEAM, BOB)])
async def test_another_bots_namespace_is_refused(store: Store, team: str, bot: str) -> None:
    other = Namespace(store.scripts, name=NAMESPACE, team=team, bot=bot, now=store.clock)
    before = await store.dump()

    with pytest.raises(NamespaceTaken) as caught:
        await other.hold()

    assert str(caught.value) == f"{NAMESPACE} belongs to {TEAM}/{BOT}"
    assert not other.is_held
    assert await store.dump() == before


async def test_two_namespaces_share_nothing(store: Store, redis: Redis) -> None:
    await store.queue()
    before = await store.dump()
    scripts = Scripts(redis, "other", Metrics())
    other = Namespace(scripts, name="other", team="T2", bot=BOT, now=store.clock)

    await other.hold()

    assert {key: value for key, value in (await store.dump()).items() if key.startswith(PREFIX)} == before


async def test_a_wiped_store_is_set_up_again(store: Store, redis: Redis) -> None:
    await redis.flushdb()
    store.clock.time = START + timedelta(hours=1)

    assert await store.namespace.prune_dead_consumers() == 0, "there are none"
    await store.namespace.hold()
    await store.queue()

    assert store.namespace.since == START + timedelta(hours=1)
    assert len(await store.process().hold()) == 1


async def test_a_message_between_wipe_and_heartbeat_is_accepted(store: Store, redis: Redis) -> None:
    await redis.flushdb()
    turn = await store.queue()

    await store.namespace.hold()

    assert (await store.process().take()).record.id == turn


async def test_an_unreachable_namespace_is_not_held(store: Store) -> None:
    async with connect("redis://127.0.0.1:1") as nowhere:
        gone = Namespace(Scripts(nowhere, NAMESPACE, Metrics()), name=NAMESPACE, team=TEAM, bot=BOT, now=store.clock)
        with pytest.raises(StoreUnavailable):
            await gone.hold()

    assert not gone.is_held


async def test_dead_consumers_that_hold_nothing_are_pruned(store: Store, redis: Redis) -> None:
    await store.conversation()
    await store.queue(message("x", "1700000009.000100"))
    holder, idler = store.process("holder"), store.process("idler")
    await holder.hold(most=1)
    await idler.journal.done(await idler.take())

    assert await store.namespace.prune_dead_consumers() == 0  # none is old enough
    dropped = await store.scripts.run("forget", -1, 0, 0, 1000)

    assert dropped == 1
    consumers = await redis.xinfo_consumers(f"{PREFIX}ready", "workers")
    assert [consumer["name"] for consumer in consumers] == ["holder"]


async def test_a_script_that_redis_forgot_is_sent_whole(store: Store, redis: Redis) -> None:
    await store.queue()
    await redis.script_flush()
    await redis.config_resetstat()

    await store.queue(message("more", ts(1)))

    assert len(await store.box()) == 2
    called = await redis.info("commandstats")
    assert "cmdstat_eval" in called, "one step: during a failover, the next command may reach another server"
    assert "cmdstat_script|load" not in called


async def test_a_read_of_a_wiped_store_raises(store: Store, redis: Redis) -> None:
    await redis.flushdb()

    with pytest.raises(StoreWiped):
        await store.process().hold()
    assert await store.process().take_over() == []
    assert await store.process().inbox.depth() == 0
