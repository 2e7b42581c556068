"""Slack's rate limits: tiers by method and minute, and about one message a second in each channel.

https://docs.slack.dev/apis/web-api/rate-limits
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Final

from bridge.playground.emulator.web_api import METHODS

_MINUTE: Final = 60.0
_BURST: Final = 3  # "short bursts are tolerated"; how short is undocumented
_LIMITED_PAGE: Final = 15
LIMITED_HISTORY: Final = frozenset({"conversations.history", "conversations.replies"})


class Rates:
    """Counts calls; unless *is_on*, it does nothing.

    With *limits_history*, *is_on* or not, `LIMITED_HISTORY` is limited to one call a minute and 15 messages, as for
    apps sold outside the Marketplace: https://docs.slack.dev/reference/methods/conversations.history.
    *page_limit* is the most objects in one page of any list.
    """

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self.is_on = False
        self.limits_history = False
        self.page_limit = 1000
        self._clock = clock
        self._recent: dict[str, deque[float]] = defaultdict(deque)

    def retry_after(self, method: str, channel: str) -> int | None:
        """Count a call. Returns the seconds to wait if it exceeds the limit."""
        if self.limits_history and method in LIMITED_HISTORY:
            return self._count(method, 1, _MINUTE)
        if not self.is_on:
            return None
        if method == "chat.postMessage":
            return self._count(f"{method} {channel}", _BURST, float(_BURST))
        tier = METHODS[method].tier if method in METHODS else None
        return self._count(method, tier, _MINUTE) if tier else None

    def page_limit_of(self, method: str) -> int:
        is_limited = self.limits_history and method in LIMITED_HISTORY
        return min(self.page_limit, _LIMITED_PAGE) if is_limited else self.page_limit

    def _count(self, key: str, most: int, seconds: float) -> int | None:
        recent, now = self._recent[key], self._clock()
        while recent and recent[0] <= now - seconds:
            recent.popleft()
        if len(recent) >= most:
            return max(1, math.ceil(recent[0] + seconds - now))
        recent.append(now)
        return None
