"""Records about deliveries: how a message arrived, why it was or wasn't queued, and which messages were refused.

A turn's record has a line per delivery, written by the script that queues the turn. Deliveries that didn't become a
turn are recorded in one bounded list per channel and day, for the trace and for catching up. That happens in the
background, so that messages that aren't for the bot are acknowledged at once, even while Redis is down; a process that
ends loses lines it hasn't written.

Refusals while Redis is down matter later: Slack retries a refused event at once, after a minute and after five, and
related ones may arrive in between, such as a reply to a refused message, or its deletion. So refusals are recorded:
when (by Slack's clock, from the first ``ts`` to the last), where, which messages were deleted, and which have a newer
text; never the text itself. They are written, for all processes to see, as soon as Redis is back, before or shortly
after this process accepts the next message; the places are then read from Slack's history (`bridge.queue.outages`). A
process that dies loses those it hasn't written; ``tests/proof/model/recovery_model.py`` says what remains.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from bridge.errors import StoreUnavailable
from bridge.ids import MessageKey
from bridge.inbound import InboundMessage
from bridge.queue.keys import MARKED, PASSED_IN_A_DAY, REFUSING_LENGTH, RESENT_WITHIN, TRACE, milliseconds
from bridge.queue.scripting import Scripts, epoch_ms
from bridge.queue.turn_log import Delivery

_GATHER: Final = 0.05  # seconds; deliveries within this time share a round trip
_MOST_WAITING: Final = 1000
_DAY: Final = 86_400  # seconds
_PAUSE: Final = 0.1  # seconds between attempts
_MOST_CHANGED: Final = 1000  # edits and deletions
_MOST_UNREAD: Final = 1000  # messages; Slack's retries deliver the others


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


class Refusals:
    """Collects and records refusals.

    *on_unread* is called if a place has to be read from Slack's history; None: none is. A message is read with its
    thread, or with its channel if it starts one.
    """

    def __init__(
        self,
        scripts: Scripts,
        now: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._scripts = scripts
        self._now = now
        self._sleep = sleep
        self._stretch: tuple[str, str] | None = None
        self._changed: dict[MessageKey, str] = {}
        self._unread: dict[MessageKey, tuple[str, bool]] = {}  # the unit to read; whether it addresses the bot
        self.on_unread: Callable[[], None] | None = None
        self.writer: asyncio.Task[None] | None = None  # while something isn't recorded yet

    def message(self, message: InboundMessage) -> None:
        """Record that *message* was refused."""
        if not message.retry:  # one that Slack sends again may be minutes older than the outage
            first, last = self._stretch or (message.ts, message.ts)
            self._stretch = min(first, message.ts, key=float), max(last, message.ts, key=float)
        self._is_unread(message)

    def edited(self, message: InboundMessage) -> None:
        """Record that an edit of *message*, to this text, was refused."""
        key, version = message.key, message.edited_ts
        if self._changed.get(key, version) and len(self._changed) < _MOST_CHANGED:
            self._changed[key] = max(self._changed.get(key, version), version, key=float)
        self._is_unread(message)

    def deleted(self, message: MessageKey) -> None:
        """Record that the deletion of *message* was refused."""
        if len(self._changed) < _MOST_CHANGED:
            self._changed[message] = ""
        self._write_later()

    def _is_unread(self, message: InboundMessage) -> None:
        age = self._now().timestamp() - float(message.ts)  # an edit's message may be old
        if self.on_unread is not None and len(self._unread) < _MOST_UNREAD and age < RESENT_WITHIN.total_seconds():
            unit = f"c:{message.team}:{message.channel}:" if message.is_root else f"t:{message.thread}"
            self._unread[message.key] = unit, message.is_mention or message.is_direct
        self._write_later()

    async def write(self) -> None:
        """Write the refusals that aren't in Redis yet. Raises `StoreUnavailable`."""
        if not self._is_pending:
            return
        stretch, changed, unread = self._stretch, {**self._changed}, {**self._unread}
        facts = {
            "now": epoch_ms(self._now()),
            "resent_ms": milliseconds(RESENT_WITHIN),
            "marked_ms": milliseconds(MARKED),
            "most": REFUSING_LENGTH,
            "stretch": stretch or (),
            "changed": [(str(message), version) for message, version in changed.items()],
            "unread": [(str(message), message.ts, *unit) for message, unit in unread.items()],
        }
        marked = await self._scripts.run("refused", facts, confirmed=True)
        if marked and self.on_unread is not None:
            self.on_unread()
        if self._stretch == stretch:
            self._stretch = None
        self._unread = {message: unit for message, unit in self._unread.items() if message not in unread}
        for message, version in changed.items():
            if self._changed.get(message) == version:
                del self._changed[message]

    @property
    def _is_pending(self) -> bool:
        return bool(self._stretch or self._changed or self._unread)

    def _write_later(self) -> None:
        if self.writer is None:
            self.writer = asyncio.create_task(self._write_when_redis_is_back())

    async def _write_when_redis_is_back(self) -> None:
        try:
            while self._is_pending:
                await self._sleep(_PAUSE)
                try:
                    await self.write()
                except StoreUnavailable:
                    continue
        finally:
            self.writer = None
