"""The sign at a message that it waits: a reaction, which disturbs nobody and can be taken away again.

Best effort, never an error, never long in the way. https://docs.slack.dev/reference/methods/reactions.add
"""

from __future__ import annotations

import logging

from bridge.errors import SlackError, SlackRefused
from bridge.slack.web import Identity, SlackWeb

log = logging.getLogger(__name__)

NAME = "hourglass_flowing_sand"
SCOPE = "reactions:write"
_SECONDS = 2.0
_NOT_HERE = frozenset({"missing_scope", "no_permission", "not_allowed_token_type", "not_in_channel"})


class Hourglass:
    """Shows and takes away the sign, where the bot *identity* may."""

    def __init__(self, web: SlackWeb, identity: Identity) -> None:
        self._web = web
        self._may_react = SCOPE in identity.scopes

    async def show(self, channel: str, ts: str) -> bool:
        """Show it; False where the bot may not, so that something else is to be done."""
        return self._may_react and await self._react("reactions.add", channel, ts)

    async def take_away(self, channel: str, ts: str) -> None:
        """Take it away, whoever has shown it; where there is none, nothing happens."""
        if self._may_react:
            await self._react("reactions.remove", channel, ts)

    async def _react(self, method: str, channel: str, ts: str) -> bool:
        try:
            await self._web.call(method, {"channel": channel, "timestamp": ts, "name": NAME}, seconds=_SECONDS)
        except SlackRefused as exc:
            return exc.error not in _NOT_HERE
        except SlackError as exc:
            log.debug("a sign at a message was left out", extra={"method": method, "detail": exc.detail})
        return True
