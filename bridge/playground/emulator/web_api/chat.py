"""``chat.*``: https://docs.slack.dev/reference/methods?family=chat."""

from __future__ import annotations

import html

from bridge.playground.emulator import limits
from bridge.playground.emulator.entities import Json, Message
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.content import content_of, own, target, thread
from bridge.playground.emulator.web_api.method import Family, MessageDeleted, MessageEdited, MessagePosted, MethodCall

family = Family()


@family.method("chat.postMessage", "chat:write")
def post_message(call: MethodCall) -> Json:
    """Post a message, or a reply with ``thread_ts``."""
    channel = target(call)
    content, warnings = content_of(call)
    thread_ts = thread(call, channel)
    if thread_ts and call.flag("reply_broadcast"):
        content["subtype"] = "thread_broadcast"
    unfurls = call.flag("unfurl_links", default=True) or call.flag("unfurl_media", default=True)
    bot = call.workspace.bot.id
    message = call.workspace.messages.post(bot, channel.id, thread_ts=thread_ts, unfurls=unfurls, **content)
    call.workspace.clear_status(channel.id, thread_ts or message.ts)
    call.happened.append(MessagePosted(message))
    answer: Json = {"ok": True, "channel": channel.id, "ts": message.ts, "message": message.as_json()}
    if warnings:
        answer |= {"warning": ",".join(warnings), "response_metadata": {"warnings": warnings}}
    return answer


@family.method("chat.update", "chat:write")
def update(call: MethodCall) -> Json:
    """Replace the content of one of the bot's own messages."""
    channel = call.channel()
    message = own(call, channel, "cant_update_message")
    if call.workspace.messages.is_streaming(message):
        raise Refusal("streaming_state_conflict")
    if len(call.text("text")) > limits.TEXT_OF_AN_UPDATE:
        raise Refusal("msg_too_long")
    content, _ = content_of(call)
    if "blocks" not in call.args and "markdown_text" not in call.args and call.text("text"):
        content["blocks"] = []  # text alone removes the blocks
    if "metadata" not in call.args:
        content.pop("metadata")
    before = call.workspace.messages.edit(message, call.workspace.bot.id, content)
    call.happened.append(MessageEdited(message, before))
    return {"ok": True, "channel": channel.id, "ts": message.ts, "text": message.text, "message": message.as_json()}


@family.method("chat.delete", "chat:write")
def delete(call: MethodCall) -> Json:
    """Delete one of the bot's own messages."""
    channel = call.channel()
    message = own(call, channel, "cant_delete_message")
    before = message.as_json()
    call.workspace.messages.delete(message)
    call.happened.append(MessageDeleted(message, before))
    return {"ok": True, "channel": channel.id, "ts": message.ts}


@family.method("chat.postEphemeral", "chat:write")
def post_ephemeral(call: MethodCall) -> Json:
    """Show a message to one person only."""
    channel = call.channel()
    person = call.person()
    if person.id not in channel.members:
        raise Refusal("user_not_in_channel")
    content, _ = content_of(call)
    bot, ts = call.workspace.bot, call.workspace.new_ts()
    more = {**content, "bot_id": bot.bot_id, "app_id": bot.app_id, "thread_ts": call.thread_ts()}
    call.workspace.messages.show_privately(Message(channel.id, ts, bot.id, team=bot.team, to=person.id, **more))
    return {"ok": True, "message_ts": ts}


@family.method("chat.getPermalink")
def get_permalink(call: MethodCall) -> Json:
    """Return a message's link."""
    channel = call.channel(member=False)
    message = call.message(channel, "message_ts")
    return {"ok": True, "channel": channel.id, "permalink": call.workspace.messages.permalink(message)}


@family.method("chat.meMessage", "chat:write")
def me_message(call: MethodCall) -> Json:
    """Post a ``/me`` message."""
    channel = target(call)
    message = call.workspace.messages.post(call.workspace.bot.id, channel.id, call.need("text"), subtype="me_message")
    call.happened.append(MessagePosted(message))
    return {"ok": True, "channel": channel.id, "ts": message.ts}


@family.method("chat.unfurl", "links:write")
def unfurl(call: MethodCall) -> Json:
    """Unfurl a message's links, as attachments below it."""
    unfurls = call.json("unfurls")
    if not isinstance(unfurls, dict) or not unfurls:
        raise Refusal("missing_unfurls")
    message = call.message(call.channel())
    if any(html.escape(url, quote=False) not in message.text for url in unfurls):
        raise Refusal("cannot_unfurl_url")
    shown = [{"from_url": url, **content} for url, content in unfurls.items()]
    before = call.workspace.messages.edit(
        message, message.user, {"attachments": [*message.attachments, *shown]}, is_edit=False
    )
    call.happened.append(MessageEdited(message, before))
    return {"ok": True}
