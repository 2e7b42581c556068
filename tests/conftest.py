"""Shared fixtures. Each folder is a marker: ``pytest -m integration``."""

from __future__ import annotations

import gc
import logging
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from redis.asyncio import Redis

from support import waiting
from support.lifetimes import keys_without_lifetime
from support.real_redis import RealRedis
from support.secrecy import pytest_runtest_makereport  # noqa: F401 - a hook, found by its name

sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type] # httpcore searches the disk for it in each request
# Importing jsonschema's check of IRIs, which no schema here needs, takes each worker longer than all tests of schemas.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
settings.register_profile("any machine", deadline=None)  # benchmarks measure speed; tests don't
settings.load_profile("any machine")

TEST_DATABASE = 9  # emptied before each test
HERE = Path(__file__).parent
WAITING = {"e2e", "integration"}
"""Folders whose tests mostly wait: for leases, retries, elections, and other processes."""

SECONDS = {
    "integration/test_catch_up": 70,
    "e2e/test_workspace": 47,
    "proof/test_linear": 46,
    "integration/test_watching_killed": 35,
    "integration/test_sentinel": 34,
    "integration/test_killed_everywhere": 33,
    "proof/test_model": 30,
    "e2e/test_watching": 29,
    "e2e/test_contents": 29,
    "integration/test_playground": 28,
    "e2e/test_page_scripts": 25,
    "integration/test_outages_of_redis": 23,
    "integration/test_posts_in_doubt": 22,
    "integration/test_config": 22,
    "proof/test_access_table": 21,
    "integration/test_socket_mode": 21,
    "behavior/test_approvals_attacked": 21,
    "integration/test_cluster": 19,
    "integration/test_starting": 17,
    "integration/test_redis_stopped": 16,
    "behavior/test_why": 16,
    "behavior/test_alerts": 16,
    "behavior/test_unreadable_controls": 15,
    "integration/test_shutdown": 14,
    "proof/test_injection": 13,
    "behavior/test_approvals": 13,
    "behavior/test_catch_up": 12,
    "integration/test_hostile_names": 11,
    "e2e/test_incidents": 11,
    "behavior/test_alerts_commands": 11,
    "e2e/test_docs_search": 10,
    "behavior/test_turns_effects": 10,
    "unit/test_slack_post": 9,
    "integration/test_project_sockets": 9,
    "integration/test_killed": 9,
    "integration/test_embedded": 9,
    "integration/test_docs_blocks": 9,
    "behavior/test_projects": 9,
}
"""About how long the longest files take, beside three others."""


def pytest_configure(config: pytest.Config) -> None:
    """Import what every worker needs, but not in the process that only distributes tests to workers."""
    if not config.getoption("numprocesses"):
        signal.signal(signal.SIGINT, _interrupted)
        gc.disable()  # until all tests are collected: it would look through them again and again, 1 s of 5
        config.pluginmanager.import_plugin("support.slack_fixtures")


def _interrupted(*_: object) -> None:
    """Do as Python's own handler, which asyncio would replace five times in each test, at 0.1 ms."""
    raise KeyboardInterrupt


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its folder; spread the files that wait evenly over the time of the others.

    So processors have work at any time, and the shortest files come last.
    """
    files: dict[str, list[pytest.Item]] = {}
    for path, some in groupby(items, key=lambda item: item.path):
        name, found = path.relative_to(HERE).with_suffix("").as_posix(), list(some)
        if name not in files and (module := found[0].getparent(pytest.Module)):
            module.add_marker(name.partition("/")[0])
        files.setdefault(name, []).extend(found)

    def seconds(name: str) -> int:
        return SECONDS.get(name, 5 if name.partition("/")[0] in WAITING else 2)

    places = {}
    for is_waiting in (True, False):
        some = [name for name in files if (name.partition("/")[0] in WAITING) is is_waiting]
        total, passed = sum(map(seconds, some)), 0
        for name in sorted(some, key=seconds, reverse=True):  # those of the same length in random order
            places[name] = passed / total
            passed += seconds(name)
    items[:] = [item for name in sorted(places, key=places.__getitem__) for item in files[name]]


def pytest_collection_finish() -> None:
    """Exempt imported and collected objects from garbage collection."""
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


NOISY = ["", "aiohttp", "asyncio", "httpcore", "httpx", "redis", "slack_bolt", "slack_sdk"]
NOISY += ["uvicorn", "uvicorn.error", "uvicorn.access"]
LOGGERS = [logging.getLogger(name) for name in NOISY]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Restore logging after a test that runs a command in this process."""
    levels, handlers = [logger.level for logger in LOGGERS], LOGGERS[0].handlers[:]
    try:
        return (yield)
    finally:
        LOGGERS[0].handlers[:] = handlers
        for logger, level in zip(LOGGERS, levels, strict=True):
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


@pytest.fixture
async def harness(redis: Redis) -> AsyncIterator[Any]:
    """The whole bridge in the test's process."""
    async with import_module("support.harness").open_harness(redis) as harness:
        yield harness


wait_until = pytest.fixture(name="wait_until")(lambda: waiting.wait_until)
