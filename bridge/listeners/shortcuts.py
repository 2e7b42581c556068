"""Shortcuts, global ones and those of a message: kept first, carried out by a worker.

https://docs.slack.dev/interactivity/implementing-shortcuts
"""

from __future__ import annotations

import re

from slack_bolt.async_app import AsyncAck, AsyncApp

from bridge.inbound import Shortcut
from bridge.listeners.door import Body, Door
from bridge.slack.api import Identity
from bridge.slack.payloads import mapping, text


def parse(body: Body, identity: Identity) -> Shortcut:
    """Make a value of a ``shortcut`` or ``message_action`` payload."""
    user, message = mapping(body.get("user")), mapping(body.get("message"))
    message_ts = text(body, "message_ts") or text(message, "ts")
    return Shortcut(
        team=identity.team,
        channel=text(mapping(body.get("channel")), "id"),
        user=text(user, "id"),
        user_team=text(user, "team_id"),
        is_shared=not text(user, "team_id"),  # where Slack does not say whose workspace it is, it may be another one
        name=text(body, "callback_id"),
        text=text(message, "text"),
        author=text(message, "user"),
        message_ts=message_ts,
        thread_ts=text(message, "thread_ts") or message_ts,
        response_url=text(body, "response_url"),
        trigger_id=text(body, "trigger_id"),
    )


class Shortcuts:
    """The surface of shortcuts."""

    def __init__(self, door: Door, identity: Identity) -> None:
        self._door = door
        self._identity = identity

    def register(self, app: AsyncApp) -> None:
        """Listen to every shortcut: the list of them is in `bridge.features.shortcuts`."""
        app.shortcut(re.compile(".*", re.DOTALL))(self.on_shortcut)

    async def on_shortcut(self, ack: AsyncAck, body: Body) -> None:
        """Keep it. Raises `NotTaken`."""
        shortcut = parse(body, self._identity)
        await self._door.take(shortcut, identity=f"trigger:{shortcut.trigger_id}" if shortcut.trigger_id else "")
        await ack()
