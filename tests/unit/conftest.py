"""Fixtures of the unit tests."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from support.slack_fixtures import emulated, slack_web  # noqa: F401 - found by their names
from support.store import Store, open_store


@pytest.fixture
async def store(redis: Redis) -> Store:
    return await open_store(redis)
