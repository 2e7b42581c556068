"""The bot token, and whether Slack accepts it, as far as its answers have shown.

Slack says in the answer to any call that it does not. From then on no call is made with it, until
`bridge.listeners.token_watch` finds that it works again or has another one.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

log = logging.getLogger(__name__)

REFUSALS: Final = frozenset({"account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"})
"""What Slack says of a token that it does not accept: https://docs.slack.dev/reference/methods/auth.test#errors."""


class BotToken:
    """The token's *value*; *refused_because* is Slack's word for why it does not accept it, ``""`` while it does."""

    def __init__(self, value: str) -> None:
        self.value = value
        self.refused_because = ""
        self._accepted, self._refused = asyncio.Event(), asyncio.Event()
        self._accepted.set()

    @property
    def is_accepted(self) -> bool:
        """Whether it works, as far as is known."""
        return not self.refused_because

    def refuse(self, value: str, because: str) -> None:
        """Note that Slack does not accept *value*, unless it was replaced meanwhile; the log says so once."""
        if value != self.value or not self.is_accepted:
            return
        log.error(
            "slack does not accept the bot token: nothing is begun and all is kept until it works again",
            extra={"error": because},
        )
        self.refused_because = because
        self._accepted.clear()
        self._refused.set()

    def accept(self, value: str) -> None:
        """Go on with *value*, which works."""
        self.value, self.refused_because = value, ""
        self._refused.clear()
        self._accepted.set()

    async def until_accepted(self) -> None:
        """Wait until it works."""
        await self._accepted.wait()

    async def until_refused(self) -> None:
        """Wait until it does not."""
        await self._refused.wait()
