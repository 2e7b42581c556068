"""Slack's rate limits: tiers by method and minute, and about one message a second in each channel.

https://docs.slack.dev/apis/web-api/rate-limits
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Final

_MINUTE: Final = 60.0
_BURST: Final = 3  # "short bursts are tolerated"; how short is undocumented
_UNLIMITED: Final = 10_000
LIMITED_HISTORY: Final = frozenset({"conversations.history", "conversations.replies"})

# Calls a minute; methods missing here have no tier, or a special one that isn't documented. That of
# blocks.validate is special too ("special rate limits apply"), and no figure is given: Tier 2 is a cautious guess.
_TIERS: Final = {
    20: (
        "chat.startStream chat.stopStream conversations.archive conversations.close conversations.create"
        " conversations.list conversations.rename conversations.setPurpose conversations.setTopic"
        " conversations.unarchive emoji.list pins.add pins.list pins.remove reactions.list reactions.remove"
        " usergroups.list usergroups.users.list users.list blocks.validate"
    ),
    50: (
        "agents.sessions.rename agents.sessions.setStatus apps.connections.open bots.info chat.delete"
        " chat.deleteScheduledMessage chat.meMessage chat.scheduleMessage chat.scheduledMessages.list chat.unfurl"
        " apps.manifest.export"
        " chat.update conversations.history conversations.info conversations.invite conversations.join"
        " conversations.kick conversations.leave conversations.mark conversations.open conversations.replies"
        " files.delete files.list functions.completeError functions.completeSuccess reactions.add reactions.get"
        " team.info users.conversations users.getPresence users.lookupByEmail"
    ),
    100: (
        "api.test assistant.threads.setSuggestedPrompts assistant.threads.setTitle chat.appendStream"
        " chat.postEphemeral conversations.members files.completeUploadExternal files.getUploadURLExternal files.info"
        " users.info users.profile.get views.open views.publish views.push views.update"
    ),
}
PER_MINUTE: Final = {method: most for most, methods in _TIERS.items() for method in methods.split()}


class Rates:
    """Counts calls; unless *is_on*, it does nothing.

    With *limits_history*, `LIMITED_HISTORY` is limited to one call a minute, *is_on* or not, as for apps sold outside
    the Marketplace. https://docs.slack.dev/apis/web-api/rate-limits
    """

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self.is_on = False
        self.limits_history = False
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
        return self._count(method, PER_MINUTE.get(method, _UNLIMITED), _MINUTE)

    def _count(self, key: str, most: int, seconds: float) -> int | None:
        recent, now = self._recent[key], self._clock()
        while recent and recent[0] <= now - seconds:
            recent.popleft()
        if len(recent) >= most:
            return max(1, math.ceil(recent[0] + seconds - now))
        recent.append(now)
        return None
