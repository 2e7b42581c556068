"""Reading, saving and comparing statistics; only the service is emulated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.features.statistics.reader import Statistics
from bridge.features.statistics.snapshots import SnapshotStore, hour_of
from bridge.metrics import Metrics
from bridge.project.client import ProjectClient
from bridge.queue.scripting import Scripts
from bridge.slack.blockkit.reply import Reply
from support.real_redis import refused_commands
from support.store import NAMESPACE, PREFIX, Clock

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@dataclass
class Service:
    """The project service at the HTTP level, with numbers that tests change."""

    runs: int = 1000
    tags: dict[str, int] = field(default_factory=lambda: {"billing": 4})
    is_broken: bool = False
    asked: int = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/api/sdk/stats"
        self.asked += 1
        tags = [{"name": name, "count": count} for name, count in self.tags.items()]
        body = {
            "promptCount": 5, "runCount": self.runs, "versionCount": 1, "categories": [], "tags": tags,
            "lastUpdated": "2026-01-01T00:00:00.000Z",
        }  # fmt: skip
        return httpx.Response(418) if self.is_broken else httpx.Response(200, json=body)


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def statistics(redis: Redis, service: Service, clock: Clock) -> AsyncIterator[Statistics]:
    async with ProjectClient("http://project.example", "key", transport=httpx.MockTransport(service)) as client:
        yield Statistics(client, SnapshotStore(Scripts(redis, NAMESPACE, Metrics())), clock)


async def live(statistics: Statistics, clock: Clock, service: Service, *, hours: int, runs: int = 1) -> None:
    """Let *hours* pass; each hour, read the statistics and add *runs*."""
    for _ in range(hours):
        await statistics.read()
        service.runs += runs
        clock.time += HOUR


async def shown(statistics: Statistics, **given: Any) -> Reply:
    return await statistics.card(await statistics.read(), **given)


def kinds(reply: Reply) -> list[str]:
    return [block["chart"]["type"] for block in reply.blocks if block["type"] == "data_visualization"]


async def test_an_hour_has_one_snapshot_of_many_readings(
    statistics: Statistics, clock: Clock, service: Service, redis: Redis
) -> None:
    await statistics.read()
    service.runs += 500
    await asyncio.gather(*(statistics.read() for _ in range(5)))
    clock.time += HOUR
    await statistics.read()

    kept = await statistics.store.read((await statistics.store.hours())[0])
    assert [one.numbers["runs"] for one in kept.values()] == [1000, 1500]
    assert await redis.pttl(f"{PREFIX}snapshots") > timedelta(days=399) / timedelta(milliseconds=1)


async def test_old_snapshots_are_thinned_as_new_ones_come(
    statistics: Statistics, clock: Clock, service: Service
) -> None:
    await live(statistics, clock, service, hours=24 * 9)

    hours = (await statistics.store.hours())[0]
    week = hour_of(clock.time - timedelta(days=7))
    assert len([hour for hour in hours if hour >= week]) == 7 * 24
    assert len([hour for hour in hours if hour < week - 24]) == 2


async def test_since_names_the_snapshot_it_uses(statistics: Statistics, clock: Clock, service: Service) -> None:
    await live(statistics, clock, service, hours=5)
    service.tags = {"shipping": 1}

    near = await shown(statistics, since=clock.time - 3 * HOUR)
    far = await shown(statistics, since=clock.time - 7 * DAY)

    assert "1,005 runs (+3, +0.3%)" in near.text
    assert "nearest to" not in near.text
    assert "1,005 runs (+5, +0.5%)" in far.text
    assert "New tags: shipping (1)" in far.text
    assert "Removed tags: billing (4)" in far.text
    assert "The recorded numbers nearest to 2026-02-25 17:00 UTC are from 2026-03-04" in far.text
    assert kinds(far)[0] == "line"


async def test_since_says_that_there_is_no_snapshot_yet(statistics: Statistics) -> None:
    reply = await shown(statistics, since=statistics.now() - DAY)

    assert "There's nothing to compare with yet. Recording started on 2026-03-04 12:00 UTC" in reply.text


async def test_statistics_are_shown_without_redis(statistics: Statistics, service: Service, redis: Redis) -> None:
    with refused_commands(redis):
        reply = await shown(statistics)

    assert "1,000 runs" in reply.text
    assert service.asked == 1


async def test_a_snapshot_of_a_later_release_is_skipped(
    statistics: Statistics, clock: Clock, service: Service, redis: Redis
) -> None:
    await live(statistics, clock, service, hours=3)
    await statistics.store.drop([hour_of(clock.time - DAY)])
    await redis.hset(f"{PREFIX}snapshots", str(hour_of(clock.time - DAY)), '{"v":9}')

    reply = await shown(statistics)

    assert "1,003 runs" in reply.text
    assert kinds(reply)[0] == "line"
