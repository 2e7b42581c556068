"""The audit log in the store: one entry per finished turn, for the configured lifetime."""

from __future__ import annotations

from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.engine.activity import Activity
from bridge.errors import LaneLost
from bridge.features.registry import features
from bridge.metrics import Metrics
from bridge.queue.audit import AuditEntry, audit_since
from bridge.queue.records import Taken, Unreadable, Write
from bridge.queue.scripting import Scripts
from support.store import CHANNEL, NAMESPACE, ROOT, START, USER, Store, message, open_store, ts

DAYS = timedelta(days=90)
KEY = f"{{{NAMESPACE}}}:audit"


async def acts(redis: Redis) -> list[AuditEntry]:
    return [act async for act in audit_since(Scripts(redis, NAMESPACE, Metrics()), START - DAYS)]


def entry(store: Store, taken: Taken, what: str) -> list[Write]:
    """The audit writes at the end of a turn."""
    activity = Activity(
        store.scripts, store.process().inbox, features, audit_lifetime=DAYS, now=store.clock, metrics=Metrics()
    )
    return activity.writes(taken.record.id, taken.record, what)


@pytest.fixture
async def audited(redis: Redis) -> Store:
    return await open_store(redis, audit_lifetime=DAYS)


async def test_the_audit_has_place_time_and_reason(audited: Store, redis: Redis) -> None:
    await audited.conversation()
    turn = await audited.queue(message(ts=ts(1)))
    process = audited.process()
    first = await process.take()
    await process.journal.done(first, what="answered", writes=entry(audited, first, "answered"))
    taken = await process.take()
    audited.clock.time += timedelta(minutes=1)
    writes = entry(audited, taken, "dead: Slack: channel_not_found")
    await process.journal.bury(taken.held, turn, reason="Slack: channel_not_found", writes=writes)

    _, act = await acts(redis)

    assert (act.user, act.channel, act.thread, act.turn) == (USER, CHANNEL, ROOT, turn)
    assert act.outcome == "dead: Slack: channel_not_found"
    assert act.asked_at == START
    assert act.ended_at > act.asked_at


async def test_an_unreadable_turn_is_in_the_audit(audited: Store, redis: Redis) -> None:
    turn = await audited.conversation()
    await redis.hset(f"{{{NAMESPACE}}}:turn:{turn}", "body", "of yesterday")
    process = audited.process()
    found = await process.journal.take((await process.hold())[0])
    assert isinstance(found, Unreadable)

    activity = Activity(
        audited.scripts, process.inbox, features, audit_lifetime=DAYS, now=audited.clock, metrics=Metrics()
    )
    writes = activity.writes(found.turn, None, "dead: not understood")
    await process.journal.bury(found.held, found.turn, reason="not understood", writes=writes)

    assert [(act.user, act.turn, act.outcome) for act in await acts(redis)] == [("", turn, "dead: not understood")]


async def test_a_repeated_step_is_one_entry(audited: Store, redis: Redis) -> None:
    await audited.conversation()
    taken = await audited.process().take()
    await audited.process().journal.done(taken, what="answered", writes=entry(audited, taken, "answered"))
    with pytest.raises(LaneLost):
        await audited.process().journal.done(taken, what="answered", writes=entry(audited, taken, "answered"))

    assert len(await acts(redis)) == 1


async def test_entries_expire(redis: Redis) -> None:
    store = await open_store(redis, audit_lifetime=DAYS)
    long_ago = int((store.clock() - timedelta(days=91)).timestamp() * 1000)
    await redis.xadd(KEY, {"v": "1", "user": "U9"}, id=f"{long_ago}-0")
    await redis.xadd(KEY, {"v": "1", "user": USER}, id=f"{long_ago + 86_400_000 * 2}-0")
    await redis.expire(KEY, 60)
    store.scripts.clock_ahead = timedelta(0)

    await store.namespace.prune_dead_consumers()

    assert [act.user async for act in audit_since(store.scripts, START - 2 * DAYS)] == [USER]


async def test_each_entry_renews_the_lifetime_of_the_audit(audited: Store) -> None:
    await audited.conversation()
    taken = await audited.process().take()
    await audited.process().journal.done(taken, writes=entry(audited, taken, "answered"))

    assert 89 < await audited.days_left("audit") <= 90


async def test_without_a_lifetime_nothing_is_stored(store: Store, redis: Redis) -> None:
    await store.conversation()
    taken, inbox = await store.process().take(), store.process().inbox
    activity = Activity(store.scripts, inbox, features, audit_lifetime=timedelta(0), now=store.clock, metrics=Metrics())
    writes = activity.writes(taken.record.id, taken.record, "answered")
    await store.process().journal.done(taken, writes=writes)

    assert await redis.exists(KEY) == 0


async def test_a_long_audit_is_read_in_order(redis: Redis) -> None:
    base = int(START.timestamp() * 1000)
    for number in range(1200):
        await redis.xadd(KEY, {"v": "1", "user": f"U{number}"}, id=f"{base + number // 2}-{number}")
    await redis.expire(KEY, 60)

    found = [
        act.user async for act in audit_since(Scripts(redis, NAMESPACE, Metrics()), START + timedelta(milliseconds=100))
    ]

    assert found == [f"U{number}" for number in range(200, 1200)]
