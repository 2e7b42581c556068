"""Fixtures of the unit tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from support.harness import Harness, open_harness
from support.slack_fixtures import emulated, slack_web  # noqa: F401 - found by their names
from support.store import Store, open_store


@pytest.fixture
async def harness(redis: Redis) -> AsyncIterator[Harness]:
    async with open_harness(redis) as harness:
        yield harness


@pytest.fixture
async def store(redis: Redis) -> Store:
    return await open_store(redis)
