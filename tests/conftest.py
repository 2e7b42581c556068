"""Shared fixtures. Each folder is a marker: ``pytest -m integration``."""

from __future__ import annotations

import gc
import logging
import tempfile
from collections.abc import AsyncIterator, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings
from redis.asyncio import Redis

from support import waiting
from support.lifetimes import keys_without_lifetime
from support.real_redis import RealRedis
from support.secrecy import pytest_runtest_makereport  # noqa: F401 - a hook, found by its name

settings.register_profile("any machine", deadline=None)  # benchmarks measure speed; tests don't
settings.load_profile("any machine")

TEST_DATABASE = 9  # emptied before each test
HERE = Path(__file__).parent
LONGEST = (
    "test_catch_up",
    "test_workspace",
    "test_killed_everywhere",
    "test_socket_mode",
    "test_killed",
    "test_inbox_machine",
    "test_sentinel",
    "test_cluster",
)
KINDS = ("e2e", "integration", "contract", "proof", "behavior", "unit")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its folder; run slow files first, each on one worker."""

    def order(item: pytest.Item) -> tuple[int, int]:
        kind = item.path.relative_to(HERE).parts[0]
        item.add_marker(kind)
        stem = item.path.stem
        return LONGEST.index(stem) if stem in LONGEST else len(LONGEST), KINDS.index(kind)

    items.sort(key=order)  # within these groups the order stays random


def pytest_collection_finish() -> None:
    """Exempt imported and collected objects from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


NOISY = ["", "aiohttp", "asyncio", "httpcore", "httpx", "redis", "slack_bolt", "slack_sdk"]
NOISY += ["uvicorn", "uvicorn.error", "uvicorn.access"]


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """Restore logging after a test that runs a command in this process."""
    loggers = [logging.getLogger(name) for name in NOISY]
    levels, handlers = [logger.level for logger in loggers], logging.getLogger().handlers[:]
    yield
    logging.getLogger().handlers[:] = handlers
    for logger, level in zip(loggers, levels, strict=True):
        if logger.level != level:  # setting a level clears the loggers' caches
            logger.setLevel(level)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RealRedis]:
    """The server shared by all tests, each in its own namespace or database; they must leave it running."""
    # pytest's temporary folder may be too long for a socket path
    with tempfile.TemporaryDirectory(prefix="br-") as folder, RealRedis(Path(folder), is_durable=False) as server:
        yield server


@pytest.fixture
async def redis(real_redis: Redis) -> Redis:
    """An empty Redis."""
    return real_redis


@pytest.fixture
async def real_redis(redis_server: RealRedis) -> AsyncIterator[Redis]:
    """An empty database of a real server; fails a test that leaves keys without a lifetime.

    The store's table of keys lists the exceptions.
    """
    connect = import_module("bridge.queue.redis.connection").connect
    async with connect(f"{redis_server.url}?db={TEST_DATABASE}") as client:
        await client.flushdb()
        yield client
        assert await keys_without_lifetime(client) == [], "keys were left without a lifetime"


wait_until = pytest.fixture(name="wait_until")(lambda: waiting.wait_until)
