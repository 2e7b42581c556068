"""Fixtures of the unit tests."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from redis.asyncio import Redis

if TYPE_CHECKING:  # not in the process that only distributes tests to workers
    from support.store import Store


@pytest.fixture
async def store(redis: Redis) -> Store:
    opened: Store = await import_module("support.store").open_store(redis)
    return opened
