"""The whole bridge in the test's process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from fakeredis import FakeAsyncRedis
from redis.asyncio import Redis

from support.lifetimes import keys_without_lifetime

if TYPE_CHECKING:  # not in the process that only distributes tests to workers
    from support.store import Store

IN_PROCESS = ("test_documents",)
"""Files whose tests only store and read values, for which fakeredis suffices; a real Redis takes half the time."""


class InProcessRedis(FakeAsyncRedis):
    """Answers INFO like a server without replicas, which fakeredis lacks."""

    async def info(self, section: str | None = None, *_more: str, **_options: Any) -> dict[str, Any]:  # noqa: ARG002
        return {"role": "master", "connected_slaves": 0}


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
async def store(redis: Redis) -> Store:
    opened: Store = await import_module("support.store").open_store(redis)
    return opened
