"""``chat.*``: https://docs.slack.dev/reference/methods?family=chat."""

from __future__ import annotations

from typing import Any, Final

from bridge.playground.slack import limits, sample
from bridge.playground.slack.entities import Channel, Json, Message
from bridge.playground.slack.refusal import Refusal
from bridge.playground.slack.web_api.method import Call, Deleted, Edited, Family, Posted

family = Family()

_CUT_NOTE: Final = "message_truncated"


@family.method("chat.postMessage", "chat:write")
def post_message(call: Call) -> Json:
    """Post a message, in a thread where ``thread_ts`` says so."""
    channel = _target(call)
    content, warnings = _content(call)
    thread_ts = _thread(call, channel)
    if thread_ts and call.flag("reply_broadcast"):
        content["subtype"] = "thread_broadcast"
    unfurls = call.flag("unfurl_links", default=True) or call.flag("unfurl_media", default=True)
    bot = call.workspace.bot.id
    message = call.workspace.post(bot, channel.id, thread_ts=thread_ts, unfurls=unfurls, **content)
    call.workspace.clear_status(channel.id, thread_ts or message.ts)
    call.happened.append(Posted(message))
    answer: Json = {"ok": True, "channel": channel.id, "ts": message.ts, "message": message.as_json()}
    if warnings:
        answer |= {"warning": ",".join(warnings), "response_metadata": {"warnings": warnings}}
    return answer


@family.method("chat.update", "chat:write")
def update(call: Call) -> Json:
    """Replace the content of one of the bot's own messages."""
    channel = call.channel()
    message = _own(call, channel, "cant_update_message")
    if len(call.text("text")) > limits.TEXT_OF_AN_UPDATE:
        raise Refusal("msg_too_long")
    content, _ = _content(call)
    if "blocks" not in call.args and "markdown_text" not in call.args and call.text("text"):
        content["blocks"] = []  # text alone takes the blocks away
    if "metadata" not in call.args:
        content.pop("metadata")
    before = call.workspace.edit(message, call.workspace.bot.id, content)
    call.happened.append(Edited(message, before))
    return {"ok": True, "channel": channel.id, "ts": message.ts, "text": message.text, "message": message.as_json()}


@family.method("chat.delete", "chat:write")
def delete(call: Call) -> Json:
    """Delete one of the bot's own messages."""
    channel = call.channel()
    message = _own(call, channel, "cant_delete_message")
    before = message.as_json()
    call.workspace.delete(message)
    call.happened.append(Deleted(message, before))
    return {"ok": True, "channel": channel.id, "ts": message.ts}


@family.method("chat.postEphemeral", "chat:write")
def post_ephemeral(call: Call) -> Json:
    """Show a message to one person only."""
    channel = call.channel()
    person = call.person()
    if person.id not in channel.members:
        raise Refusal("user_not_in_channel")
    content, _ = _content(call)
    bot, ts = call.workspace.bot, call.workspace.new_ts()
    more = {**content, "bot_id": bot.bot_id, "app_id": bot.app_id, "thread_ts": call.text("thread_ts")}
    call.workspace.show_privately(Message(channel.id, ts, bot.id, team=bot.team, to=person.id, **more))
    return {"ok": True, "message_ts": ts}


@family.method("chat.getPermalink")
def get_permalink(call: Call) -> Json:
    """Give a message's address."""
    channel = call.channel(member=False)
    message = call.message(channel, "message_ts")
    address = f"https://{sample.TEAM_DOMAIN}.slack.com/archives/{channel.id}/p{message.ts.replace('.', '')}"
    if message.is_reply:
        address += f"?thread_ts={message.thread_ts}&cid={channel.id}"
    return {"ok": True, "channel": channel.id, "permalink": address}


def _target(call: Call) -> Channel:
    """The channel to post to; a user's id means the direct message with that person."""
    person = call.workspace.people.get(call.text("channel"))
    channel = call.workspace.direct_message(person.id) if person is not None else call.channel()
    if channel.is_archived:
        raise Refusal("is_archived")
    return channel


def _thread(call: Call, channel: Channel) -> str:
    thread_ts = call.text("thread_ts")
    if thread_ts and not call.workspace.has_thread(channel.id, thread_ts):
        raise Refusal("thread_not_found")
    return thread_ts


def _own(call: Call, channel: Channel, error: str) -> Message:
    message = call.message(channel)
    if message.user != call.workspace.bot.id:
        raise Refusal(error)
    return message


def _content(call: Call) -> tuple[dict[str, Any], list[str]]:
    """Text, blocks, attachments and metadata, checked; and the warnings that go with the answer."""
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
        "text": text[: limits.TEXT_IS_CUT_AT],
        "blocks": call.workspace.identified(blocks),
        "attachments": attachments,
        "metadata": metadata,
    }
    return content, [_CUT_NOTE] if len(text) > limits.TEXT_IS_CUT_AT else []
