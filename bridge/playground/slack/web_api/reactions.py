"""``reactions.*``: https://docs.slack.dev/reference/methods?family=reactions."""

from __future__ import annotations

import re

from bridge.playground.slack.entities import Json, Message
from bridge.playground.slack.refusal import Refusal
from bridge.playground.slack.web_api.method import Call, Family

family = Family()

_NAME = re.compile(r"[a-z0-9_+'-]+(::skin-tone-[2-6])?")


@family.method("reactions.add", "reactions:write")
def add(call: Call) -> Json:
    """Put the bot's reaction on a message."""
    name, message = _asked(call)
    users = message.reactions.setdefault(name, [])
    if call.workspace.bot.id in users:
        raise Refusal("already_reacted")
    users.append(call.workspace.bot.id)
    return {"ok": True}


@family.method("reactions.remove", "reactions:write")
def remove(call: Call) -> Json:
    """Take the bot's reaction off a message."""
    name, message = _asked(call)
    users = message.reactions.get(name, [])
    if call.workspace.bot.id not in users:
        raise Refusal("no_reaction")
    users.remove(call.workspace.bot.id)
    if not users:
        del message.reactions[name]
    return {"ok": True}


@family.method("reactions.get", "reactions:read")
def get(call: Call) -> Json:
    """Show a message with its reactions."""
    channel = call.channel()
    message = call.message(channel, "timestamp")
    return {"ok": True, "type": "message", "channel": channel.id, "message": message.as_json()}


def _asked(call: Call) -> tuple[str, Message]:
    name = call.need("name")
    if not _NAME.fullmatch(name):
        raise Refusal("invalid_name")
    return name, call.message(call.channel(), "timestamp")
