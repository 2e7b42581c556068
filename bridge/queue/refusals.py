"""What a process refuses while Redis is away, as far as it matters for what comes later.

Slack sends a refused event again at once, after a minute and after five. Meanwhile others are taken in that hang on it:
a reply to a message that was refused, or that message once more, in spite of its deletion. So it is noted here what was
refused: when (in Slack's own time, from the first ``ts`` to the last), which messages were deleted, and which have a
newer text; never a text itself. It is written to Redis, for every process, as soon as that is back: before this process
takes anything else in, or else shortly after. What a process that dies has not written is not known then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from bridge.errors import StoreUnavailable
from bridge.ids import MessageKey
from bridge.queue.keys import REFUSING_LENGTH, SENT_AGAIN, milliseconds
from bridge.queue.scripting import Scripts

_PAUSE: Final = 0.1  # seconds between two tries
_MOST: Final = 1000  # edits and deletions


class Refusals:
    """Notes what is refused, and writes it down."""

    def __init__(self, scripts: Scripts, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._scripts = scripts
        self._sleep = sleep
        self._stretch: tuple[str, str] | None = None
        self._repeated: set[str] = set()
        self._changed: dict[MessageKey, str] = {}
        self._writer: asyncio.Task[None] | None = None

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
        if self._changed.get(message, version) and len(self._changed) < _MOST:
            self._changed[message] = max(self._changed.get(message, version), version, key=float)
        self._write_later()

    def deleted(self, message: MessageKey) -> None:
        """Note that the deletion of *message* was refused."""
        if len(self._changed) < _MOST:
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
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_when_it_is_back())

    async def _write_when_it_is_back(self) -> None:
        try:
            while self._is_pending:
                await self._sleep(_PAUSE)
                try:
                    await self.write()
                except StoreUnavailable:
                    continue
        finally:
            self._writer = None
