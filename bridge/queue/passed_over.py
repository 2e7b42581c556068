"""Which messages were delivered and didn't become a turn, and why: for the trace and for catching up.

A turn's record has a line per delivery, written by the script that queues the turn. The others are recorded in one
bounded list per channel and day. That happens in the background, so that messages that aren't for the bot are
acknowledged at once, even while Redis is down; a process that ends loses lines it hasn't written.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from bridge.errors import StoreUnavailable
from bridge.ids import MessageKey
from bridge.queue.keys import PASSED_IN_A_DAY, TRACE, milliseconds
from bridge.queue.scripting import Scripts
from bridge.queue.turn_log import Delivery

_GATHER: Final = 0.05  # seconds; deliveries within this time share a round trip
_MOST_WAITING: Final = 1000
_DAY: Final = 86_400  # seconds


def _key(scripts: Scripts, message: MessageKey) -> str:
    """Return the key of the list for *message*, which is that of its channel and day."""
    return scripts.keys.passed(message.team, message.channel, int(message.ts.partition(".")[0]) // _DAY)


class PassedOver:
    """Records the deliveries that didn't become a turn, shortly afterwards, many per round trip."""

    def __init__(self, scripts: Scripts, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._scripts = scripts
        self._sleep = sleep
        self._waiting: deque[tuple[MessageKey, Delivery]] = deque(maxlen=_MOST_WAITING)
        self._writer: asyncio.Task[None] | None = None

    def add(self, message: MessageKey, delivery: Delivery) -> None:
        """Record *delivery* soon; it's lost if Redis is down."""
        self._waiting.append((message, delivery))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_soon())

    async def _write_soon(self) -> None:
        try:
            while self._waiting:
                await self._sleep(_GATHER)
                batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
                by_key: dict[str, list[str]] = {}
                for message, delivery in batch:
                    by_key.setdefault(_key(self._scripts, message), []).append(f"{message.ts} {delivery.to_line()}")
                with suppress(StoreUnavailable):  # without these lines, catch-up decides again
                    async with self._scripts.redis.pipeline(transaction=True) as pipe:
                        for key, lines in by_key.items():
                            pipe.rpush(key, *lines)
                            pipe.ltrim(key, -PASSED_IN_A_DAY, -1)
                            pipe.pexpire(key, milliseconds(TRACE))
                        await pipe.execute()
        finally:
            self._writer = None


async def passed_over(scripts: Scripts, message: MessageKey) -> list[Delivery]:
    """Read the deliveries of *message* that didn't become a turn. Raises `StoreUnavailable`."""
    stored: Any = await scripts.redis.lrange(_key(scripts, message), 0, -1)
    lines = [line.removeprefix(f"{message.ts} ") for line in stored if line.startswith(f"{message.ts} ")]
    return [delivery for line in lines if (delivery := Delivery.from_line(line))]
