"""The agent's own place in Slack: the bot's Messages tab, where people are greeted and find prompts to begin with.

https://docs.slack.dev/reference/events/app_home_opened
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from slack_bolt.async_app import AsyncApp

from bridge.blocks.conversations import MESSAGES_OPENED
from bridge.errors import SlackError
from bridge.inbound import Click
from bridge.slack.door import Body, Door, NotTaken
from bridge.slack.payloads import mapping, text
from bridge.slack.web import Identity


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
        event = mapping(body.get("event"))
        click = Click(
            team=self._identity.team,
            channel=text(event, "channel"),
            user=text(event, "user"),
            action_id=MESSAGES_OPENED,
        )
        if click.channel and click.user and await self._is_welcome(click):
            identity = text(body, "event_id") or f"opened:{click.user}:{text(event, 'event_ts')}"
            with suppress(NotTaken):  # a greeting is not worth being sent again
                await self._door.take(click, identity=identity)

    async def _is_welcome(self, click: Click) -> bool:
        try:
            return await self._door.access.refusal(click) is None
        except SlackError:
            return False


async def _is_messages_tab(body: dict[str, Any]) -> bool:
    return text(mapping(body.get("event")), "tab") == "messages"
