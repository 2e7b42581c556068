"""Waits for a valid bot token after Slack has rejected one.

A token is revoked when the app is removed from the workspace, when someone revokes it, and when the app is reinstalled
with another one. Slack says so with an event, or in the answer to the next call. From then on, no work starts and all
inputs are queued (`bridge.queue.worker`), until Slack accepts the token again, or the file that
``SLACK_BOT_TOKEN_FILE`` names has another valid one.

https://docs.slack.dev/reference/events/tokens_revoked https://docs.slack.dev/reference/events/app_uninstalled
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from slack_bolt.async_app import AsyncApp

from bridge.errors import SlackError
from bridge.json_reader import Json
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.payloads import items, mapping, text

log = logging.getLogger(__name__)

_PROBES: Final = (1, 2, 4, 8, 15, 30, 60)  # seconds between checks; the last one repeats
_LOOK: Final = 1  # second between reads of the file, which are more frequent than checks


class TokenWatch:
    """Waits for a valid token, and handles the events of revoked ones.

    *configured* returns the configured token. It must be *identity*'s: the namespace belongs to one bot.
    """

    def __init__(
        self,
        web: SlackWeb,
        identity: Identity,
        configured: Callable[[], str],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._web = web
        self._identity = identity
        self._configured = configured
        self._sleep = sleep

    def register(self, app: AsyncApp) -> None:
        """Add the listeners to *app*."""
        app.event("tokens_revoked")(self.on_revoked)
        app.event("app_uninstalled")(self.on_revoked)

    async def on_revoked(self, body: Json) -> None:
        """Stop using the token; if another one was revoked, or the event is old, it's soon accepted again."""
        event = mapping(body.get("event"))
        is_here = text(body, "team_id") in {"", *self._identity.home}
        is_the_bots = text(event, "type") == "app_uninstalled" or bool(items(mapping(event.get("tokens")).get("bot")))
        if is_here and is_the_bots:
            self._web.token.refuse(self._web.token.value, text(event, "type"))

    async def run(self) -> None:
        """After each rejection of the token, check until it or another one is valid."""
        while True:
            await self._web.token.refused.wait()
            tried, probes, due = self._web.token.value, iter(_PROBES), _PROBES[0]
            while not self._web.token.accepted.is_set():
                await self._sleep(_LOOK)
                due -= _LOOK
                token = self._configured()
                if token != tried or due <= 0:
                    due = next(probes, _PROBES[-1])
                    await self._try(token, is_new=token != tried)
                    tried = token

    async def _try(self, value: str, *, is_new: bool) -> None:
        try:
            identity = (await self._web.hello(value)).identity
        except SlackError as exc:
            log.log(
                logging.WARNING if is_new else logging.DEBUG, "no valid bot token yet", extra={"detail": exc.detail}
            )
            return
        ours = self._identity
        if (identity.team, identity.bot_user) != (ours.team, ours.bot_user):
            if is_new:
                log.error(
                    "ignoring the token in the file, which is another bot's: "
                    "run that bot in a bridge of its own, with another BRIDGE_NAMESPACE",
                    extra={"found": f"{identity.team}/{identity.bot_user}", "ours": f"{ours.team}/{ours.bot_user}"},
                )
            return
        self._web.use(value)
        log.info("Slack accepts the bot token again")
        if identity.scopes and identity.scopes != ours.scopes:
            log.warning("the app's scopes changed, restart the bridge to use them")
