"""Slack's rate limits: tiers by method and minute, and about one message a second in each channel.

https://docs.slack.dev/apis/web-api/rate-limits
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Final

_MINUTE: Final = 60.0
_BURST: Final = 3  # "short bursts are tolerated"; how short is not documented
_UNLIMITED: Final = 10_000
_TIER_2, _TIER_3, _TIER_4 = 20, 50, 100

PER_MINUTE: Final = {
    "apps.connections.open": _TIER_3,
    "chat.update": _TIER_3,
    "chat.delete": _TIER_3,
    "chat.postEphemeral": _TIER_4,
    "conversations.info": _TIER_3,
    "conversations.list": _TIER_2,
    "conversations.members": _TIER_4,
    "conversations.open": _TIER_3,
    "conversations.history": _TIER_3,
    "conversations.replies": _TIER_3,
    "users.info": _TIER_4,
    "users.list": _TIER_2,
    "usergroups.list": _TIER_2,
    "usergroups.users.list": _TIER_2,
    "reactions.add": _TIER_3,
    "reactions.remove": _TIER_2,
    "reactions.get": _TIER_3,
    "views.open": _TIER_4,
    "views.push": _TIER_4,
    "views.update": _TIER_4,
    "views.publish": _TIER_4,
    "files.getUploadURLExternal": _TIER_4,
    "files.completeUploadExternal": _TIER_4,
    "files.info": _TIER_4,
    "assistant.threads.setTitle": _TIER_4,
    "assistant.threads.setSuggestedPrompts": _TIER_4,
    "agents.sessions.setStatus": _TIER_3,
    "agents.sessions.rename": _TIER_3,
}


class Rates:
    """Counts calls. With *is_on* False it counts nothing and refuses nothing."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self.is_on = False
        self._clock = clock
        self._recent: dict[str, deque[float]] = defaultdict(deque)

    def retry_after(self, method: str, channel: str) -> int | None:
        """Count one call; the seconds to wait where it is one too many."""
        if not self.is_on:
            return None
        if method == "chat.postMessage":
            return self._count(f"{method} {channel}", _BURST, float(_BURST))
        return self._count(method, PER_MINUTE.get(method, _UNLIMITED), _MINUTE)

    def _count(self, key: str, most: int, seconds: float) -> int | None:
        recent, now = self._recent[key], self._clock()
        while recent and recent[0] <= now - seconds:
            recent.popleft()
        if len(recent) >= most:
            return max(1, math.ceil(recent[0] + seconds - now))
        recent.append(now)
        return None
