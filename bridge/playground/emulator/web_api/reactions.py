"""``reactions.*``: https://docs.slack.dev/reference/methods?family=reactions."""

from __future__ import annotations

import re

from bridge.playground.emulator.entities import Json, Message
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.method import Family, MethodCall, ReactionChanged

family = Family()

_NAME = re.compile(r"[a-z0-9_+'-]+(::skin-tone-[2-6])?")


@family.method("reactions.add", "reactions:write", tier=50, differs="any well-formed name is an emoji")
def add(call: MethodCall) -> Json:
    """Add the bot's reaction."""
    name, message = _asked(call)
    if not call.workspace.messages.react(message, call.workspace.bot.id, name):
        raise Refusal("already_reacted")
    call.happened.append(ReactionChanged(message, call.workspace.bot.id, name, is_added=True))
    return {"ok": True}


@family.method("reactions.remove", "reactions:write", tier=20)
def remove(call: MethodCall) -> Json:
    """Remove the bot's reaction."""
    name, message = _asked(call)
    if not call.workspace.messages.unreact(message, call.workspace.bot.id, name):
        raise Refusal("no_reaction")
    call.happened.append(ReactionChanged(message, call.workspace.bot.id, name, is_added=False))
    return {"ok": True}


def _asked(call: MethodCall) -> tuple[str, Message]:
    name = call.need("name")
    if not _NAME.fullmatch(name):
        raise Refusal("invalid_name")
    return name, call.message(call.channel(), "timestamp")
