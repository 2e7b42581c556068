"""Responses by response URL, or in the body of the response to a command.

https://docs.slack.dev/interactivity/handling-user-interaction#message_responses
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bridge.playground.emulator import limits
from bridge.playground.emulator.entities import Json, Message
from bridge.playground.emulator.escapes import escaped
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.tickets import ResponseTicket
from bridge.playground.emulator.web_api.method import Happening, MessageDeleted, MessageEdited, MessagePosted
from bridge.playground.emulator.workspace import Workspace


@dataclass(frozen=True)
class Response:
    """One response, sent *by* ``response_url`` or ``body``."""

    by: str
    user: str
    channel: str
    content: Json
    at: float


def show(workspace: Workspace, ticket: ResponseTicket, content: Json) -> tuple[str, list[Happening]]:
    """Carry out *content*. Returns the ``ts`` of a new message, if any, and the changes of public messages."""
    original = workspace.messages.find_any(ticket.channel, ticket.ts)
    if content.get("delete_original"):
        return "", _delete(workspace, original)
    shown = _checked(workspace, content)
    if content.get("replace_original") and original is not None:
        return "", _replace(workspace, original, shown)
    thread_ts = str(content.get("thread_ts") or "")
    if content.get("response_type") == "in_channel":
        bot = workspace.bot.id
        posted = workspace.messages.post(bot, ticket.channel, thread_ts=thread_ts, **shown)
        return posted.ts, [MessagePosted(posted)]
    message = Message(
        ticket.channel,
        workspace.new_ts(),
        workspace.bot.id,
        team=workspace.bot.team,
        bot_id=workspace.bot.bot_id,
        app_id=workspace.bot.app_id,
        thread_ts=thread_ts,  # without it the response is in the channel, even after a click in a thread
        to=ticket.user,
        **shown,
    )
    workspace.messages.show_privately(message)
    return message.ts, []


def _checked(workspace: Workspace, content: Json) -> dict[str, Any]:
    blocks = content.get("blocks") or []
    text = str(content.get("text") or "")
    if not text and not blocks and not content.get("attachments"):
        raise Refusal("no_text")
    limits.check_blocks(blocks)
    return {
        "text": escaped(text[: limits.TEXT_IS_CUT_AT]),
        "blocks": workspace.messages.identified(blocks),
        "attachments": content.get("attachments") or [],
    }


def _delete(workspace: Workspace, original: Message | None) -> list[Happening]:
    if original is None:
        return []
    before = original.as_json()
    workspace.messages.delete(original)
    return [] if original.to else [MessageDeleted(original, before)]


def _replace(workspace: Workspace, original: Message, shown: Json) -> list[Happening]:
    before = workspace.messages.edit(original, workspace.bot.id, shown)
    return [] if original.to else [MessageEdited(original, before)]
