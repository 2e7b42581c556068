"""Waiting for what another task, process or server does, instead of sleeping and hoping."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable

PAUSE = 0.01


async def wait_until(
    predicate: Callable[[], object | Awaitable[object]],
    description: str,
    timeout: float = 25.0,  # noqa: ASYNC109
) -> None:
    """Return as soon as *predicate* (plain or async) is true; fail with *description* after *timeout* seconds."""
    deadline = time.monotonic() + timeout
    while True:
        found = predicate()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout:g} s in vain until {description}")
        await asyncio.sleep(PAUSE)
