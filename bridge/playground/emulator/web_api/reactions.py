"""``reactions.*``: https://docs.slack.dev/reference/methods?family=reactions."""

from __future__ import annotations

import re

from bridge.playground.emulator.entities import Json, Message
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.conversations import visible
from bridge.playground.emulator.web_api.method import Family, MethodCall, ReactionChanged, paged

family = Family()

_NAME = re.compile(r"[a-z0-9_+'-]+(::skin-tone-[2-6])?")


@family.method("reactions.add", "reactions:write")
def add(call: MethodCall) -> Json:
    """Add the bot's reaction."""
    name, message = _asked(call)
    if not call.workspace.messages.react(message, call.workspace.bot.id, name):
        raise Refusal("already_reacted")
    call.happened.append(ReactionChanged(message, call.workspace.bot.id, name, is_added=True))
    return {"ok": True}


@family.method("reactions.remove", "reactions:write")
def remove(call: MethodCall) -> Json:
    """Remove the bot's reaction."""
    name, message = _asked(call)
    if not call.workspace.messages.unreact(message, call.workspace.bot.id, name):
        raise Refusal("no_reaction")
    call.happened.append(ReactionChanged(message, call.workspace.bot.id, name, is_added=False))
    return {"ok": True}


@family.method("reactions.get", "reactions:read")
def get(call: MethodCall) -> Json:
    """Return a message with its reactions."""
    channel = call.channel()
    message = call.message(channel, "timestamp")
    return {"ok": True, "type": "message", "channel": channel.id, "message": message.as_json()}


def _asked(call: MethodCall) -> tuple[str, Message]:
    name = call.need("name")
    if not _NAME.fullmatch(name):
        raise Refusal("invalid_name")
    return name, call.message(call.channel(), "timestamp")


@family.method("reactions.list", "reactions:read")
def list_reactions(call: MethodCall) -> Json:
    """List the messages that a person or the bot has reacted to, newest first."""
    user = call.person().id if call.text("user") else call.workspace.bot.id
    mine = [one for one in visible(call, everything=True) if call.workspace.bot.id in one.members]
    found = [message for channel in mine for message in call.workspace.messages.of(channel.id)]
    reacted = [one for one in found if any(user in users for users in one.reactions.values())]
    reacted.sort(key=lambda one: one.ts, reverse=True)
    items = [{"type": "message", "channel": one.channel, "message": one.as_json()} for one in reacted]
    page, following = call.page(items)
    return paged("items", page, following)
