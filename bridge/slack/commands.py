"""Slash commands: kept first, answered by a worker, by way of the command's response_url.

https://docs.slack.dev/interactivity/implementing-slash-commands
"""

from __future__ import annotations

from bridge.inbound import SlashCommand
from bridge.slack.door import NOT_TAKEN, Body, Door, Response, ok, private_line
from bridge.slack.payloads import text
from bridge.slack.web import Identity


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
    """The surface of slash commands, all of them: the registry knows which there are."""

    def __init__(self, door: Door, identity: Identity, prefix: str) -> None:
        self._door = door
        self._identity = identity
        self._prefix = prefix

    async def on_command(self, body: Body) -> Response:
        """Keep a command; where that is not possible, say so at once."""
        command = parse(body, self._identity, self._prefix)
        taken = await self._door.take(command, identity=f"trigger:{command.trigger_id}" if command.trigger_id else "")
        return private_line(NOT_TAKEN) if taken == "not taken" else ok()
