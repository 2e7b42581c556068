"""Slash commands: kept first, answered by a worker, by way of the command's response_url.

https://docs.slack.dev/interactivity/implementing-slash-commands
"""

from __future__ import annotations

import re

from slack_bolt.async_app import AsyncAck, AsyncApp

from bridge.inbound import SlashCommand
from bridge.listeners.door import Body, Door
from bridge.slack.api import Identity
from bridge.slack.payloads import text


def parse(body: Body, identity: Identity, prefix: str) -> SlashCommand:
    """Make a value of a command's payload; the configured *prefix* is taken off its name."""
    name = text(body, "command").removeprefix("/").removeprefix(prefix)
    return SlashCommand(
        team=identity.team,
        channel=text(body, "channel_id"),
        user=text(body, "user_id"),
        user_team=text(body, "team_id"),
        is_shared=not body.get("team_id"),  # where Slack does not say whose workspace it is, it may be another one
        command=f"/{name}",
        text=text(body, "text"),
        response_url=text(body, "response_url"),
        trigger_id=text(body, "trigger_id"),
    )


class Commands:
    """The surface of slash commands, all of them."""

    def __init__(self, door: Door, identity: Identity, prefix: str) -> None:
        self._door = door
        self._identity = identity
        self._prefix = prefix

    def register(self, app: AsyncApp) -> None:
        """Listen to every command: the registry knows which there are."""
        app.command(re.compile(".*", re.DOTALL))(self.on_command)

    async def on_command(self, ack: AsyncAck, body: Body) -> None:
        """Keep a command. Raises `NotTaken`."""
        command = parse(body, self._identity, self._prefix)
        await self._door.take(command, identity=f"trigger:{command.trigger_id}" if command.trigger_id else "")
        await ack()
