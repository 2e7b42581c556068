"""Arguments shared by methods that write messages: channel, thread, and content with its limits."""

from __future__ import annotations

from typing import Any, Final

from bridge.playground.emulator import limits
from bridge.playground.emulator.entities import Channel, Message
from bridge.playground.emulator.escapes import escaped
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.method import MethodCall

CUT: Final = "message_truncated"


def target(call: MethodCall) -> Channel:
    """The channel to post to, by ID or name; a user ID means the direct message."""
    asked = call.text("channel")
    if asked in call.workspace.people:
        channel = call.workspace.direct_message(asked)
    else:
        name = asked.lstrip("#")
        named = (channel.id for channel in call.workspace.channels.values() if channel.name and channel.name == name)
        call.args["channel"] = next(named, asked)
        channel = call.channel()
    if channel.is_archived:
        raise Refusal("is_archived")
    return channel


def thread(call: MethodCall, channel: Channel) -> str:
    """The thread to post in; empty for the channel, where Slack also shows replies to a message that was deleted.

    https://github.com/slack-go/slack/issues/1571
    """
    thread_ts = call.thread_ts()
    root = call.workspace.messages.find(channel.id, thread_ts)
    if root is not None and root.is_reply:
        raise Refusal("thread_not_found")
    return thread_ts if root is not None else ""


def authorship(call: MethodCall) -> dict[str, Any]:
    """The name and icon that the app chose. Without the scope Slack ignores them, and says nothing.

    https://docs.slack.dev/reference/scopes/chat.write.customize names the methods that take them. That they're ignored
    without it was seen in papercups-io/papercups#522 and linyows/dewy#362.
    """
    names = ("username", "icon_emoji") if "chat:write.customize" in call.scopes else ()
    return {name: value for name in names if (value := call.text(name))}


def own(call: MethodCall, channel: Channel, error: str) -> Message:
    """The named message, which must be the bot's own, else *error*."""
    message = call.message(channel)
    if message.user != call.workspace.bot.id:  # whatever its name: internally, a customized message has its user, too
        raise Refusal(error)
    return message


def content_of(call: MethodCall) -> tuple[dict[str, Any], list[str]]:
    """The validated text, blocks, attachments and metadata, and the response's warnings."""
    text, markdown = call.text("text"), call.text("markdown_text")
    blocks = call.json("blocks", error="invalid_blocks_format") or []
    attachments = call.json("attachments", error="invalid_attachments") or []
    if markdown and (text or blocks):
        raise Refusal("markdown_text_conflict")
    if markdown:
        blocks = [{"type": "markdown", "text": markdown}]
    if not (text or blocks or attachments):
        raise Refusal("no_text")
    limits.check_blocks(blocks)
    metadata = call.json("metadata", error="invalid_metadata_format")
    if metadata is not None:
        limits.check_metadata(metadata)
    content = {
        "text": escaped(text[: limits.TEXT_IS_CUT_AT]),
        "blocks": call.workspace.messages.identified(blocks),
        "attachments": attachments,
        "metadata": metadata,
    }
    return content, [CUT] if len(text) > limits.TEXT_IS_CUT_AT else []
