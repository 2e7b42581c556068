"""Wait for another task, process or server, instead of sleeping."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable

PAUSE = 0.01
LONGEST_PAUSE = 0.1  # poll less often over time, because many poll at once


async def wait_until(
    predicate: Callable[[], object | Awaitable[object]],
    description: str,
    timeout: float = 25.0,  # noqa: ASYNC109
) -> None:
    """Return once *predicate* (plain or async) is true; fail with *description* after *timeout* seconds."""
    began = time.monotonic()
    while True:
        found = predicate()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return
        waited = time.monotonic() - began
        if waited > timeout:
            raise AssertionError(f"not within {timeout:g} s: {description}")
        await asyncio.sleep(min(PAUSE + waited / 20, LONGEST_PAUSE))
