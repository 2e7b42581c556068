"""When a call of Slack may be made: before its caller's deadline, and no faster than Slack allows in a channel."""

from __future__ import annotations

import asyncio
import bisect
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bridge.errors import SlackUnreachable
from bridge.json_reader import Json
from bridge.slack.api import CALL_SECONDS

Sleep = Callable[[float], Awaitable[None]]
Monotonic = Callable[[], float]
EffectCheck = Callable[[timedelta], Awaitable[None]]
"""Raises what forbids an effect that starts now and may take this long."""

Send = Callable[..., Awaitable[Json]]
"""`SlackWeb.call` or `SlackWeb.read`."""

RESERVE = 2.0  # seconds, at least, for a call after waiting for its channel
_LEAST_TO_START = 1.0  # seconds; with less left, a call isn't started
_INTERVAL = 1.0  # seconds between two messages in a rate-limited channel
_QUIET = 5.0  # seconds; a channel idle for longer counts as no longer rate-limited


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a caller stops waiting: *at*, in seconds of *monotonic*. *guard* is asked before each of its calls."""

    at: float
    monotonic: Monotonic = time.monotonic
    guard: EffectCheck | None = None

    def left(self) -> float:
        """Return the seconds left; negative after the deadline."""
        return self.at - self.monotonic()

    async def check(self) -> None:
        """Call this immediately before each call of Slack. Raises what the guard raises."""
        if self.guard is not None:
            await self.guard(timedelta(seconds=CALL_SECONDS))


@dataclass(slots=True)
class _SlowChannel:
    """A channel that Slack rate-limits: when its next message may be sent, and the tickets of waiting callers."""

    next_at: float
    waiting: list[int] = field(default_factory=list)


class Pace:
    """Sends messages at once, until Slack rate-limits a channel.

    Slack allows about one message per second and channel, and short bursts. Slowing down early wastes the bursts;
    continuing after a 429 causes more 429s. So after a 429, that channel waits for Retry-After and continues at one
    message per second, in order, until no message has waited for a while. Other channels and methods aren't affected.
    https://docs.slack.dev/apis/web-api/rate-limits
    """

    def __init__(self, *, monotonic: Monotonic = time.monotonic, sleep: Sleep = asyncio.sleep) -> None:
        self._monotonic = monotonic
        self._sleep = sleep
        self._tickets = 0
        self.slow: dict[tuple[str, str], _SlowChannel] = {}  # by method and channel

    async def call(
        self, send: Send, method: str, arguments: Mapping[str, Any], deadline: Deadline, channel: str = ""
    ) -> Json:
        """Call *send* (`SlackWeb.call` or `read`) as soon as possible, and again after each 429 while there's time.

        Each attempt may take the time that's left. Raises what *send* and the deadline's guard raise, and
        `SlackUnreachable` with ``retry_after`` if the call can't finish before the *deadline*.
        """
        key = (method, channel)
        self._tickets = ticket = self._tickets + 1
        while True:
            if key in self.slow:
                await self._wait(key, ticket, deadline)
            await deadline.check()
            if (seconds := deadline.left()) < _LEAST_TO_START:
                raise SlackUnreachable(method, "out of time", timedelta(0))
            try:
                return await send(method, arguments, seconds=seconds)
            except SlackUnreachable as exc:
                if exc.retry_after is None:
                    raise
                now = self._monotonic()
                self.slow = {
                    slow_key: slow
                    for slow_key, slow in self.slow.items()
                    if slow.waiting or now <= slow.next_at + _QUIET
                }
                slow = self.slow.setdefault(key, _SlowChannel(now))
                slow.next_at = max(slow.next_at, now + exc.retry_after.total_seconds())

    async def _wait(self, key: tuple[str, str], ticket: int, deadline: Deadline) -> None:
        slow = self.slow[key]
        if not slow.waiting and self._monotonic() > slow.next_at + _QUIET:
            del self.slow[key]
            return
        bisect.insort(slow.waiting, ticket)
        try:
            while True:
                ahead = bisect.bisect_left(slow.waiting, ticket)
                wait = slow.next_at + ahead * _INTERVAL - self._monotonic()
                if not ahead and wait <= 0:
                    slow.next_at = self._monotonic() + _INTERVAL
                    return
                if wait > deadline.left() - RESERVE:
                    raise SlackUnreachable(key[0], "ratelimited", timedelta(seconds=wait))
                await self._sleep(max(wait, 0.01))  # never 0: a caller ahead may be due, but not awake yet
        finally:
            slow.waiting.remove(ticket)
