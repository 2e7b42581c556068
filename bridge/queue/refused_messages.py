"""Which messages, edits and deletions were refused while Redis was down, for all processes to see.

They matter later: Slack retries a refused event at once, after a minute and after five, and related ones may arrive in
between, such as a reply to a refused message, or its deletion. So it's recorded when events were refused (by Slack's
clock, from the first ``ts`` to the last), where, which messages were deleted, and which have a newer text; never the
text itself. It's written as soon as Redis is back, before or shortly after this process accepts the next message; the
places are then read from Slack's history (`bridge.queue.outages`). A process that dies loses what it hasn't written;
``tests/proof/model/recovery_model.py`` says what remains.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

from bridge.errors import StoreUnavailable
from bridge.ids import MessageKey
from bridge.inbound import InboundMessage
from bridge.queue.keys import MARKED, REFUSING_LENGTH, RESENT_WITHIN, milliseconds
from bridge.queue.scripting import Scripts, epoch_ms

_PAUSE: Final = 0.1  # seconds between attempts
_MOST_CHANGED: Final = 1000  # edits and deletions
_MOST_UNREAD: Final = 1000  # messages; Slack's retries deliver the others


class RefusedMessages:
    """Collects and records what was refused.

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
        """Write what isn't in Redis yet. Raises `StoreUnavailable`."""
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
