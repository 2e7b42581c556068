"""Fixtures of these tests."""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from support.edge import say, say_without_files, slack, web  # noqa: F401 - found by their names
from support.store import Store, a_store
from support.turns import Bench, a_bench


@pytest.fixture
async def bench(redis: Redis) -> AsyncIterator[Bench]:
    async with a_bench(redis) as bench:
        yield bench


@pytest.fixture
async def store(redis: Redis) -> Store:
    return await a_store(redis)
