"""Fixtures for all tests. Folders give the markers: ``pytest -m integration``."""

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
from support.leaks import pytest_runtest_makereport  # noqa: F401 - a hook, found by its name
from support.lifetimes import keys_without_lifetime
from support.real_redis import RealRedis

settings.register_profile("any machine", deadline=None)  # speed is measured in the benchmark, never in a test
settings.load_profile("any machine")

EMPTIED = 9  # the number of the database that a test has for itself
HERE = Path(__file__).parent
KINDS = frozenset({"unit", "proof", "contract", "integration", "e2e"})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and (kind := item.path.relative_to(HERE).parts[0]) in KINDS:
            item.add_marker(kind)


def pytest_collection_finish() -> None:
    """What was imported and collected stays: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


NOISY = ["", "aiohttp", "asyncio", "httpcore", "httpx", "redis", "slack_bolt", "slack_sdk"]
NOISY += ["uvicorn", "uvicorn.error", "uvicorn.access"]


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """A command that a test runs in this process sets up the process's logging."""
    loggers = [logging.getLogger(name) for name in NOISY]
    levels, handlers = [logger.level for logger in loggers], logging.getLogger().handlers[:]
    yield
    logging.getLogger().handlers[:] = handlers
    for logger, level in zip(loggers, levels, strict=True):
        if logger.level != level:  # to set a level makes all loggers forget what they know
            logger.setLevel(level)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RealRedis]:
    """The server that tests share, in namespaces or a database of their own; they leave it alive and well."""
    # Not below pytest's own temporary folder, whose path may be too long for a socket.
    with tempfile.TemporaryDirectory(prefix="br-") as folder, RealRedis(Path(folder), is_durable=False) as server:
        yield server


@pytest.fixture
async def redis(redis_server: RealRedis) -> AsyncIterator[Redis]:
    """An empty database of a real server, which fails a test that leaves keys behind for ever.

    What may stay is in the store's own table of keys.
    """
    permanent = import_module("bridge.queue.keys").PERMANENT_PATTERNS
    connect = import_module("bridge.queue.redis.connection").connect
    async with connect(f"{redis_server.url}?db={EMPTIED}") as client:
        await client.flushdb()
        yield client
        assert await keys_without_lifetime(client, permanent) == [], "keys were left without a lifetime"


wait_until = pytest.fixture(name="wait_until")(lambda: waiting.wait_until)
