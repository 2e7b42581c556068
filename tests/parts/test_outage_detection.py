"""Detecting outages of more than a minute, and stores that were wiped."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.queue.keys import MARKED
from bridge.queue.namespace import Namespace
from bridge.queue.outages import Outages, PastOutage
from bridge.queue.scripting import epoch_ms
from bridge.queue.wipe import Wipe
from support.store import BOT, NAMESPACE, PREFIX, START, TEAM, Store, message

MINUTE = timedelta(minutes=1)


def process(store: Store, **changes: Any) -> Namespace:
    """Another process's view of the namespace."""
    return Namespace(store.scripts, name=NAMESPACE, team=TEAM, bot=BOT, now=store.clock, **changes)


async def latest(store: Store) -> PastOutage | None:
    return await Outages(store.scripts).latest()


async def test_a_start_after_more_than_a_minute_notes_an_outage(store: Store) -> None:
    store.clock.time += 30 * MINUTE
    started = process(store)

    await started.hold()

    found = await latest(store)
    assert found is not None
    assert (found.began, found.ended, found.was_wiped) == (START, START + 30 * MINUTE, False)
    assert started.has_outage


async def test_less_than_a_minute_is_left_to_slack(store: Store) -> None:
    store.clock.time += timedelta(seconds=55)

    await process(store).hold()

    assert await latest(store) is None


async def test_a_process_without_a_socket_counts_as_not_receiving(store: Store) -> None:
    deaf = process(store, hears_slack=lambda: False)
    for _ in range(4):
        store.clock.time += MINUTE
        await deaf.hold()
    assert await latest(store) is None

    await deaf.hold(hears_slack=True)

    found = await latest(store)
    assert found is not None
    assert (found.began, found.ended) == (START, START + 4 * MINUTE)


async def test_one_receiving_process_prevents_an_outage(store: Store) -> None:
    deaf = process(store, hears_slack=lambda: False)
    for _ in range(4):
        store.clock.time += timedelta(seconds=40)
        await deaf.hold()
        await store.namespace.hold()

    assert await latest(store) is None


async def test_switched_off_no_outage_is_noted(store: Store) -> None:
    store.clock.time += 30 * MINUTE

    await process(store, notes_outages=False).hold()

    assert await latest(store) is None


async def test_switched_off_an_outage_is_caught_up_when_asked_for(store: Store) -> None:
    await Outages(store.scripts).note(START - 10 * MINUTE, START)
    switched_off = process(store, notes_outages=False)

    await switched_off.hold()

    assert switched_off.has_outage


async def count_alerts(store: Store) -> str:
    return f"{await store.redis.zcard(f'{PREFIX}alerts')} alerts"


async def test_a_wipe_is_logged_and_waiting_messages_are_looked_for(
    redis: Redis, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    namespace = process(store, counts_set_up=partial(count_alerts, store))
    await redis.zadd(f"{PREFIX}alerts", {"a1": 1, "a2": 2})
    await namespace.hold()
    store.clock.time += 10 * MINUTE
    await redis.flushdb()

    await namespace.hold()

    found = await latest(store)
    assert found is not None
    assert found.was_wiped
    assert (found.began, found.ended) == (START, START + 10 * MINUTE)
    (record,) = [one for one in caplog.records if "Redis was wiped" in one.message]
    assert (record.levelname, vars(record)["lost"]) == ("ERROR", "2 alerts")


async def test_every_process_reports_a_wipe_for_a_week(redis: Redis, store: Store) -> None:
    namespace = process(store, counts_set_up=partial(count_alerts, store))
    await redis.zadd(f"{PREFIX}alerts", {"a1": 1, "a2": 2})
    await namespace.hold()
    await redis.flushdb()
    await namespace.hold()
    wiped_at = store.clock()
    store.clock.time += timedelta(days=6)

    started_later = process(store)
    await started_later.hold()
    await namespace.hold()

    assert started_later.wipe == namespace.wipe == Wipe(wiped_at, "2 alerts")
    store.clock.time += timedelta(days=1)
    await namespace.hold()
    assert namespace.wipe is None


async def test_the_first_start_in_an_empty_store_is_no_wipe(redis: Redis, store: Store) -> None:
    await redis.flushdb()
    started = process(store)

    await started.hold()

    assert started.wipe is None


def test_a_wipe_shows_its_time_and_losses() -> None:
    assert Wipe(START, "2 schedules, 1 alert").in_words() == (
        f"wiped before {START:%Y-%m-%dT%H:%M:%SZ}. Gone: 2 schedules, 1 alert, "
        "muted threads, earlier statistics, the audit and feedback"
    )


def test_a_wipe_that_an_earlier_release_recorded_is_read() -> None:
    assert Wipe.read([str(epoch_ms(START)), None, "2", "1"], START) == Wipe(
        START, "2 schedules, 1 channels with settings"
    )


async def test_an_outage_is_stored_for_eight_days_and_its_index_with_its_threads(store: Store) -> None:
    await store.queue()
    store.clock.time += 30 * MINUTE
    await store.namespace.hold()

    assert await store.days_left("catch_up") == pytest.approx(MARKED.days, abs=0.01)
    assert 89 < await store.days_left("active") <= 90


async def test_threads_leave_the_index_with_their_sessions(store: Store, redis: Redis) -> None:
    await store.queue()  # its ts is years old
    await store.queue(message("new", f"{store.clock().timestamp():.6f}"))

    await store.namespace.prune_dead_consumers()

    assert await redis.zcard(f"{PREFIX}active") == 1
