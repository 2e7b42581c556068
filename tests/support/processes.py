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
from support.system import System, open_system


@pytest.fixture
def private_redis() -> Iterator[Callable[[], RealRedis]]:
    """Start a server that belongs to one test, which may kill, stop and start it again."""
    with ExitStack() as stack:

        def start() -> RealRedis:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="br-"))
            return stack.enter_context(RealRedis(Path(folder)))

        yield start


@pytest.fixture
async def system(redis_server: RealRedis) -> AsyncIterator[System]:
    """Slack, the project and Redis, in a namespace of the test's own; keys without a lifetime fail the test."""
    namespace = f"test-{secrets.token_hex(4)}"
    async with open_system(redis_server.url, namespace) as system:
        yield system
        left = await keys_without_lifetime(system.redis)
        assert left == [], "keys were left without a lifetime"
