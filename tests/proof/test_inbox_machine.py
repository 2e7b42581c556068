"""The inbox and the journal behave like their model under random sequences of events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from redis.asyncio import Redis

from bridge.queue.redis.connection import connect
from support.inbox_machine import InboxMachine
from support.real_redis import RealRedis

DATABASE = 8  # reserved for these tests


@asynccontextmanager
async def empty_redis(url: str) -> AsyncIterator[Redis]:
    async with connect(url) as redis:
        await redis.flushdb()
        yield redis
        await redis.flushdb()


@pytest.mark.timeout(
    300
)  # ten seconds, or a minute on a busy machine; past the limit, Hypothesis would shrink for minutes
def test_redis_agrees_with_the_model_after_random_moves(redis_server: RealRedis) -> None:
    class OnAServer(InboxMachine):
        def open_redis(self) -> AbstractAsyncContextManager[Redis]:
            return empty_redis(f"{redis_server.url}?db={DATABASE}")

    run_state_machine_as_test(
        OnAServer,
        settings=settings(
            max_examples=20,
            stateful_step_count=50,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
