"""What is noted at the door about deliveries: how a message came in, why it was or was not kept, what was refused.

What became a turn has a line for each delivery in the turn's own record, written by the script that takes it in. What
did not is written down aside, for one channel and day in one list: that is compact, and bounded however much is said
there. Nobody waits for it: a message that is none of our business is acknowledged as fast as before, and also while
Redis is away; what a process has not written when it ends is not known then.

What a process refuses while Redis is away matters for what comes later. Slack sends a refused event again at once,
after a minute and after five. Meanwhile others are taken in that hang on it: a reply to a message that was refused, or
that message once more, in spite of its deletion. So it is noted what was refused: when (in Slack's own time, from the
first ``ts`` to the last), which messages were deleted, and which have a newer text; never a text itself. It is written
to Redis, for every process, as soon as that is back: before this process takes anything else in, or else shortly after.
What a process that dies has not written is not known then.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from bridge.errors import StoreUnavailable
from bridge.ids import MessageKey
from bridge.queue.keys import PASSED_IN_A_DAY, REFUSING_LENGTH, SENT_AGAIN, TRACE, milliseconds
from bridge.queue.records import Delivery
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts

NOT_YET: Final = "not yet: "
"""How the reason begins where a message may become a turn after all, when it comes again."""

_GATHER: Final = 0.05  # seconds: what is passed over meanwhile goes out in one round trip
_MOST_WAITING: Final = 1000
_DAY: Final = 86_400  # seconds
_PAUSE: Final = 0.1  # seconds between two tries
_MOST_CHANGED: Final = 1000  # edits and deletions


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
                by_key: dict[str, list[str]] = {}
                for message, delivery in batch:
                    by_key.setdefault(_key(self._scripts, message), []).append(f"{message.ts} {delivery.to_line()}")
                with suppress(StoreUnavailable), translated():  # it was only for the trace
                    async with self._scripts.redis.pipeline(transaction=True) as pipe:
                        for key, lines in by_key.items():
                            pipe.rpush(key, *lines)
                            pipe.ltrim(key, -PASSED_IN_A_DAY, -1)
                            pipe.pexpire(key, milliseconds(TRACE))
                        await pipe.execute()
        finally:
            self._writer = None


async def passed_over(scripts: Scripts, message: MessageKey) -> list[Delivery]:
    """Read the deliveries of *message* that became no turn. Raises `StoreUnavailable`."""
    with translated():
        found: Any = await scripts.redis.lrange(_key(scripts, message), 0, -1)
    lines = [line.removeprefix(f"{message.ts} ") for line in found if line.startswith(f"{message.ts} ")]
    return [delivery for line in lines if (delivery := Delivery.from_line(line))]


class Refusals:
    """Notes what is refused, and writes it down."""

    def __init__(self, scripts: Scripts, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._scripts = scripts
        self._sleep = sleep
        self._stretch: tuple[str, str] | None = None
        self._repeated: set[str] = set()
        self._changed: dict[MessageKey, str] = {}
        self.writer: asyncio.Task[None] | None = None  # while something is not written yet

    def message(self, ts: str, *, is_repeated: bool = False) -> None:
        """Note that a message of this *ts* was refused; one that *is_repeated* was written some time ago."""
        if not is_repeated:
            first, last = self._stretch or (ts, ts)
            self._stretch = min(first, ts, key=float), max(last, ts, key=float)
        elif len(self._repeated) < REFUSING_LENGTH:
            self._repeated.add(ts)
        self._write_later()

    def edited(self, message: MessageKey, version: str) -> None:
        """Note that the edit was refused by which *message* has got its newest text, as of *version*."""
        if self._changed.get(message, version) and len(self._changed) < _MOST_CHANGED:
            self._changed[message] = max(self._changed.get(message, version), version, key=float)
        self._write_later()

    def deleted(self, message: MessageKey) -> None:
        """Note that the deletion of *message* was refused."""
        if len(self._changed) < _MOST_CHANGED:
            self._changed[message] = ""
        self._write_later()

    async def write(self) -> None:
        """Write down what is not written yet. Raises `StoreUnavailable`."""
        if not self._is_pending:
            return
        stretch, repeated, changed = self._stretch, set(self._repeated), dict(self._changed)
        stretches = [*([stretch] if stretch else []), *((ts, ts) for ts in sorted(repeated))]
        marks = [word for message, version in changed.items() for word in (str(message), version)]
        times = [ts for one in stretches for ts in one]
        await self._scripts.run(
            "refused", milliseconds(SENT_AGAIN), REFUSING_LENGTH, len(stretches), *times, *marks, confirmed=True
        )
        if self._stretch == stretch:
            self._stretch = None
        self._repeated -= repeated
        for message, version in changed.items():
            if self._changed.get(message) == version:
                del self._changed[message]

    @property
    def _is_pending(self) -> bool:
        return bool(self._stretch or self._repeated or self._changed)

    def _write_later(self) -> None:
        if self.writer is None:
            self.writer = asyncio.create_task(self._write_when_it_is_back())

    async def _write_when_it_is_back(self) -> None:
        try:
            while self._is_pending:
                await self._sleep(_PAUSE)
                try:
                    await self.write()
                except StoreUnavailable:
                    continue
        finally:
            self.writer = None
