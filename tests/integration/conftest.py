"""Fixtures that start real servers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.real_redis import RealRedis


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RealRedis]:
    """The server that integration tests share, each in a namespace of its own; they leave it alive and well."""
    # Not below pytest's own temporary folder, whose path may be too long for a socket.
    with tempfile.TemporaryDirectory(prefix="br-") as folder, RealRedis(Path(folder)) as server:
        yield server


@pytest.fixture
def private_redis() -> Iterator[Callable[[], RealRedis]]:
    """Start a server that belongs to one test, which may kill, stop and start it again."""
    with ExitStack() as stack:

        def start() -> RealRedis:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="br-"))
            return stack.enter_context(RealRedis(Path(folder)))

        yield start
