"""Shared fixtures. Each folder is a marker: ``pytest -m proof``."""

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
WAITING = frozenset(
    {
        "proof/test_backup",
        "proof/test_catch_up",
        "proof/test_cluster",
        "proof/test_counted_killed",
        "proof/test_embedded",
        "proof/test_hostile_names",
        "proof/test_http_server",
        "proof/test_killed",
        "proof/test_killed_everywhere",
        "proof/test_metrics",
        "proof/test_outages_of_redis",
        "proof/test_posts_in_doubt",
        "proof/test_project_sockets",
        "proof/test_projects",
        "proof/test_prometheus",
        "proof/test_redis_stopped",
        "proof/test_rolling_restarts",
        "proof/test_sentinel",
        "proof/test_shutdown",
        "proof/test_socket_mode",
        "proof/test_socket_wire",
        "proof/test_store_connection",
        "proof/test_token",
        "proof/test_traces",
        "proof/test_watching_killed",
        "surface/browser/test_contents",
        "surface/browser/test_docs_search",
        "surface/browser/test_incidents",
        "surface/browser/test_page_scripts",
        "surface/browser/test_watching",
        "surface/browser/test_workspace",
        "surface/test_browser",
        "surface/test_check_command",
        "surface/test_check_project",
        "surface/test_command_line",
        "surface/test_config_command",
        "surface/test_docs_blocks",
        "surface/test_operators",
        "surface/test_playground",
        "surface/test_setup",
        "surface/test_starting",
        "surface/test_status",
    }
)
"""Files whose tests mostly wait: for leases, retries, elections, and other processes."""

SECONDS = {
    "surface/browser/test_watching": 75,
    "proof/test_catch_up": 65,
    "proof/test_linear": 52,
    "proof/test_killed_everywhere": 48,
    "surface/browser/test_workspace": 45,
    "proof/test_model": 45,
    "proof/test_cluster": 41,
    "proof/test_posts_in_doubt": 37,
    "surface/test_config_command": 34,
    "proof/test_watching_killed": 33,
    "proof/test_traces": 31,
    "surface/test_playground": 28,
    "surface/browser/test_contents": 27,
    "proof/test_sentinel": 26,
    "features/test_approvals_attacked": 25,
    "features/test_approvals": 25,
    "surface/browser/test_page_scripts": 22,
    "features/test_catch_up": 22,
    "proof/test_redis_stopped": 20,
    "proof/test_outages_of_redis": 18,
    "proof/test_access_table": 18,
    "features/test_alerts": 18,
    "features/test_turns_effects": 16,
    "proof/test_killed": 16,
    "surface/test_starting": 15,
    "proof/test_shutdown": 15,
    "proof/test_prometheus": 13,
    "proof/test_socket_mode": 13,
    "surface/test_sample_project": 13,
    "features/test_who_starts": 13,
    "features/test_projects": 12,
    "surface/test_docs_blocks": 12,
    "features/test_unreadable_controls": 12,
    "proof/test_counted_killed": 12,
    "proof/test_project_sockets": 11,
    "surface/browser/test_incidents": 10,
    "features/test_what_it_is_doing": 10,
    "features/test_alerts_commands": 9,
    "features/test_who_wrote": 9,
    "surface/browser/test_docs_search": 9,
    "surface/test_layouts": 9,
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
        return SECONDS.get(name, 5 if name in WAITING else 2)

    places = {}
    for is_waiting in (True, False):
        some = [name for name in files if (name in WAITING) is is_waiting]
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
