"""How fast messages go out: at once, until Slack says otherwise for one channel.

Slack allows about one message a second in each channel, and short bursts above that. Whoever slows down before
being told wastes the bursts; whoever goes on after a 429 gets more of them. So: after a 429 that channel waits for
Retry-After, then goes on at one a second in the order of asking, until nobody has waited for a while. Other
channels and other methods never notice. https://docs.slack.dev/apis/web-api/rate-limits
"""

from __future__ import annotations

import asyncio
import bisect
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from bridge.errors import SlackUnreachable

INTERVAL = 1.0
QUIET = 5.0  # a channel that nobody wrote to for so long is free again

Result = TypeVar("Result")
Sleep = Callable[[float], Awaitable[None]]
Monotonic = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment until which a caller can wait."""

    at: float
    monotonic: Monotonic = time.monotonic

    @classmethod
    def after(cls, seconds: float, monotonic: Monotonic = time.monotonic) -> Deadline:
        """Begin to count now."""
        return cls(monotonic() + seconds, monotonic)

    def earlier(self, seconds: float) -> Deadline:
        """Keep some of the time for what comes after."""
        return Deadline(self.at - seconds, self.monotonic)

    def left(self) -> float:
        """Seconds until then; negative afterwards."""
        return self.at - self.monotonic()


@dataclass(slots=True)
class _Slow:
    """A channel that Slack has slowed down: when its next message may go, and who waits for that, in order."""

    next_at: float
    waiting: list[int] = field(default_factory=list)


class Pace:
    """Keeps each slowed-down channel in order and below its limit; channels at full speed cost nothing."""

    def __init__(self, *, monotonic: Monotonic = time.monotonic, sleep: Sleep = asyncio.sleep) -> None:
        self._monotonic = monotonic
        self._sleep = sleep
        self._slow: dict[tuple[str, str], _Slow] = {}
        self._tickets = 0

    @property
    def slowed_down(self) -> int:
        """How many channels are slowed down at the moment."""
        return len(self._slow)

    async def run(self, method: str, channel: str, send: Callable[[], Awaitable[Result]], deadline: Deadline) -> Result:
        """Call *send* as soon as it may be, and again after each 429 that leaves time enough.

        Raises `SlackUnreachable` with its ``retry_after`` where the wait would be longer than *deadline* allows.
        """
        key = (method, channel)
        self._tickets = ticket = self._tickets + 1
        while True:
            await self._wait(key, ticket, deadline)
            try:
                return await send()
            except SlackUnreachable as exc:
                if exc.retry_after is None:
                    raise
                self._slow_down(key, exc.retry_after)

    def _slow_down(self, key: tuple[str, str], retry_after: timedelta) -> None:
        now = self._monotonic()
        self._forget_quiet(now)
        slow = self._slow.setdefault(key, _Slow(now))
        slow.next_at = max(slow.next_at, now + retry_after.total_seconds())

    def _forget_quiet(self, now: float) -> None:
        for key in [key for key, slow in self._slow.items() if not slow.waiting and now > slow.next_at + QUIET]:
            del self._slow[key]

    async def _wait(self, key: tuple[str, str], ticket: int, deadline: Deadline) -> None:
        slow = self._slow.get(key)
        if slow is None:
            return
        if not slow.waiting and self._monotonic() > slow.next_at + QUIET:
            del self._slow[key]
            return
        bisect.insort(slow.waiting, ticket)
        try:
            await self._wait_in_line(key[0], slow, ticket, deadline)
        finally:
            slow.waiting.remove(ticket)

    async def _wait_in_line(self, method: str, slow: _Slow, ticket: int, deadline: Deadline) -> None:
        while True:
            ahead = bisect.bisect_left(slow.waiting, ticket)
            wait = slow.next_at + ahead * INTERVAL - self._monotonic()
            if not ahead and wait <= 0:
                slow.next_at = self._monotonic() + INTERVAL
                return
            if wait > deadline.left():
                raise SlackUnreachable(method, "ratelimited", timedelta(seconds=wait))
            await self._sleep(max(wait, 0.01))  # never 0: somebody ahead may be due, and not yet awake
