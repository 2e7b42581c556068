"""The whole bridge in the test's process."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from support.harness import Harness, open_harness


@pytest.fixture
async def harness(redis: Redis) -> AsyncIterator[Harness]:
    async with open_harness(redis) as harness:
        yield harness
