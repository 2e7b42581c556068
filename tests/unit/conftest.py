"""Fixtures of the unit tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from support.emulated import emulated, slack_web  # noqa: F401 - found by their names
from support.fake_redis import InProcessRedis
from support.harness import Harness, a_harness
from support.lifetimes import keys_without_lifetime
from support.store import Store, a_store

IN_PROCESS = (
    "test_commands_",
    "test_home",
    "test_feedback",
    "test_shortcuts",
    "test_reports_",
    "test_chats_",
    "test_files",
    "test_documents",
)
"""Files in which Redis only keeps what handlers put there: fakeredis will do. The others are about what it does."""


@pytest.fixture
async def fake_redis() -> AsyncIterator[Redis]:
    """An empty in-process Redis; fails a test that leaves keys without a lifetime."""
    async with InProcessRedis(decode_responses=True, protocol=2, version=(7,)) as client:
        yield client
        assert await keys_without_lifetime(client) == [], "keys left without a lifetime"


@pytest.fixture
def redis(request: pytest.FixtureRequest) -> Redis:
    """An empty Redis: fakeredis, or a real one."""
    found: Redis = request.getfixturevalue("fake_redis" if request.path.name.startswith(IN_PROCESS) else "real_redis")
    return found


@pytest.fixture
async def harness(redis: Redis) -> AsyncIterator[Harness]:
    async with a_harness(redis) as harness:
        yield harness


@pytest.fixture
async def store(redis: Redis) -> Store:
    return await a_store(redis)
