"""The agent's own place in Slack: the bot's Messages tab, where people are greeted and find prompts to begin with.

https://docs.slack.dev/reference/events/app_home_opened
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from slack_bolt.async_app import AsyncApp

from bridge.errors import SlackError
from bridge.inbound import MessagesTabOpened
from bridge.listeners.door import Body, Door, NotTaken
from bridge.slack.api import Identity
from bridge.slack.payloads import mapping, text


def parse(body: Body, identity: Identity) -> MessagesTabOpened | None:
    """Make a value of an ``app_home_opened`` event of this tab; None where it does not say whose."""
    event = mapping(body.get("event"))
    channel, user = text(event, "channel"), text(event, "user")
    return MessagesTabOpened(team=identity.team, channel=channel, user=user) if channel and user else None


class AgentView:
    """The surface of the Messages tab; the Home tab is another one's."""

    def __init__(self, door: Door, identity: Identity) -> None:
        self._door = door
        self._identity = identity

    def register(self, app: AsyncApp) -> None:
        """Listen to the Messages tab being opened."""
        app.event("app_home_opened", matchers=[_is_messages_tab])(self.on_opened)

    async def on_opened(self, body: Body) -> None:
        """Keep that somebody looks. Who may not talk to the bot finds nothing here, and is told when they write."""
        opened = parse(body, self._identity)
        if opened is not None and await self._is_welcome(opened):
            given = text(mapping(body.get("event")), "event_ts")
            identity = text(body, "event_id") or f"opened:{opened.user}:{given}"
            with suppress(NotTaken):  # a greeting is not worth being sent again
                await self._door.take(opened, identity=identity)

    async def _is_welcome(self, opened: MessagesTabOpened) -> bool:
        try:
            return await self._door.access.refusal(opened) is None
        except SlackError:
            return False


async def _is_messages_tab(body: dict[str, Any]) -> bool:
    return text(mapping(body.get("event")), "tab") == "messages"
