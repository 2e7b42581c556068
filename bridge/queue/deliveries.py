"""How a message came in, and why it was or was not kept: what `bridge trace` knows from the door.

What became a turn has a line for each delivery in the turn's own record, written by the script that takes it in. What
did not is written down aside, for one channel and day in one list: that is compact, and bounded however much is said
there. Nobody waits for it: a message that is none of our business is acknowledged as fast as before, and also while
Redis is away; what a process has not written when it ends is not known then.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from bridge.errors import StoreUnavailable
from bridge.ids import MessageKey
from bridge.queue.keys import PASSED_IN_A_DAY, TRACE, milliseconds
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts, epoch_ms

NOT_YET: Final = "not yet: "
"""How the reason begins where a message may become a turn after all, when it comes again."""

_GATHER: Final = 0.05  # seconds: what is passed over meanwhile goes out in one round trip
_MOST_WAITING: Final = 1000
_DAY: Final = 86_400  # seconds


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery by Slack, taken in by *process*: *retry* counts its repetitions, *why* says what was decided."""

    at: datetime
    process: str
    event: str = ""
    retry: int = 0
    why: str = ""

    def to_line(self) -> str:
        """The stored form; `from_line` reads it."""
        facts = [epoch_ms(self.at), self.process, self.event, self.retry, self.why]
        return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_line(cls, line: str) -> Delivery | None:
        """Read what `to_line` made; None for anything else."""
        try:
            ms, process, event, retry, why, *_later = json.loads(line)
            return cls(datetime.fromtimestamp(int(ms) / 1000, UTC), str(process), str(event), int(retry), str(why))
        except (ValueError, TypeError):
            return None


def deliveries(lines: str) -> list[Delivery]:
    """Read the lines of a turn's record."""
    return [delivery for line in lines.split("\n") if line and (delivery := Delivery.from_line(line))]


def _key(scripts: Scripts, message: MessageKey) -> str:
    """Where the messages that became no turn stand together with *message*: those of its channel and day."""
    return scripts.keys.passed(message.team, message.channel, int(message.ts.partition(".")[0]) // _DAY)


class PassedOver:
    """Writes down the deliveries that became no turn, shortly after, many in one round trip."""

    def __init__(self, scripts: Scripts, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._scripts = scripts
        self._sleep = sleep
        self._waiting: deque[tuple[MessageKey, Delivery]] = deque(maxlen=_MOST_WAITING)
        self._writer: asyncio.Task[None] | None = None

    def add(self, message: MessageKey, delivery: Delivery) -> None:
        """Write *delivery* down soon, or forget it where Redis is away."""
        self._waiting.append((message, delivery))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_soon())

    async def _write_soon(self) -> None:
        try:
            while self._waiting:
                await self._sleep(_GATHER)
                batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
                with suppress(StoreUnavailable):  # it was only for the trace
                    await self._write(batch)
        finally:
            self._writer = None

    async def _write(self, batch: list[tuple[MessageKey, Delivery]]) -> None:
        by_key: dict[str, list[str]] = {}
        for message, delivery in batch:
            by_key.setdefault(_key(self._scripts, message), []).append(f"{message.ts} {delivery.to_line()}")
        with translated():
            async with self._scripts.redis.pipeline(transaction=True) as pipe:
                for key, lines in by_key.items():
                    pipe.rpush(key, *lines)
                    pipe.ltrim(key, -PASSED_IN_A_DAY, -1)
                    pipe.pexpire(key, milliseconds(TRACE))
                await pipe.execute()


async def passed_over(scripts: Scripts, message: MessageKey) -> list[Delivery]:
    """Read the deliveries of *message* that became no turn. Raises `StoreUnavailable`."""
    with translated():
        found: Any = await scripts.redis.lrange(_key(scripts, message), 0, -1)
    lines = [line.removeprefix(f"{message.ts} ") for line in found if line.startswith(f"{message.ts} ")]
    return [delivery for line in lines if (delivery := Delivery.from_line(line))]
