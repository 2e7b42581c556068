"""Fixtures that start real servers."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.lifetimes import keys_without_lifetime
from support.real_redis import RealRedis
from support.world import World, a_world


@pytest.fixture
def private_redis() -> Iterator[Callable[[], RealRedis]]:
    """Start a server that belongs to one test, which may kill, stop and start it again."""
    with ExitStack() as stack:

        def start() -> RealRedis:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="br-"))
            return stack.enter_context(RealRedis(Path(folder)))

        yield start


@pytest.fixture
async def world(redis_server: RealRedis) -> AsyncIterator[World]:
    """Slack, the project and Redis, in a namespace of the test's own; keys without a lifetime fail the test."""
    namespace = f"test-{secrets.token_hex(4)}"
    async with a_world(redis_server.url, namespace) as world:
        yield world
        left = await keys_without_lifetime(world.redis)
        assert left == [], "keys were left without a lifetime"
