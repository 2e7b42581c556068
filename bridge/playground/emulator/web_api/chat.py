"""``chat.*``: https://docs.slack.dev/reference/methods?family=chat."""

from __future__ import annotations

from bridge.playground.emulator import limits
from bridge.playground.emulator.entities import Json, Message
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.content import authorship, content_of, own, target, thread
from bridge.playground.emulator.web_api.method import Family, MessageDeleted, MessageEdited, MessagePosted, MethodCall

family = Family()


@family.method(
    "chat.postMessage",
    "chat:write",
    differs=(
        "stray `&`, `<` and `>` are escaped, but nothing is unfurled or made a link; `link_names` and `icon_url` are"
        " ignored"
    ),
)
def post_message(call: MethodCall) -> Json:
    """Post a message, or a reply with ``thread_ts``."""
    channel = target(call)
    content, warnings = content_of(call)
    thread_ts = thread(call, channel)
    if thread_ts and call.flag("reply_broadcast"):
        content["subtype"] = "thread_broadcast"
    unfurls = call.flag("unfurl_links", default=True) or call.flag("unfurl_media", default=True)
    bot = call.workspace.bot.id
    content |= authorship(call)
    message = call.workspace.messages.post(bot, channel.id, thread_ts=thread_ts, unfurls=unfurls, **content)
    call.workspace.clear_status(channel.id, thread_ts or message.ts)
    call.happened.append(MessagePosted(message))
    answer: Json = {"ok": True, "channel": channel.id, "ts": message.ts, "message": message.as_json()}
    if warnings:
        answer |= {"warning": ",".join(warnings), "response_metadata": {"warnings": warnings}}
    return answer


@family.method("chat.update", "chat:write", tier=50, differs="no time window for edits")
def update(call: MethodCall) -> Json:
    """Replace the content of one of the bot's own messages; its name and icon stay."""
    channel = call.channel()
    message = own(call, channel, "cant_update_message")
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


@family.method("chat.delete", "chat:write", tier=50)
def delete(call: MethodCall) -> Json:
    """Delete one of the bot's own messages."""
    channel = call.channel()
    message = own(call, channel, "cant_delete_message")
    before = message.as_json()
    call.workspace.messages.delete(message)
    call.happened.append(MessageDeleted(message, before))
    return {"ok": True, "channel": channel.id, "ts": message.ts}


@family.method("chat.postEphemeral", "chat:write", tier=100, differs="also shown in threads without replies")
def post_ephemeral(call: MethodCall) -> Json:
    """Show a message to one person only."""
    channel = call.channel()
    person = call.person()
    if person.id not in channel.members:
        raise Refusal("user_not_in_channel")
    content, _ = content_of(call)
    bot, ts = call.workspace.bot, call.workspace.new_ts()
    content |= authorship(call)
    more = {**content, "bot_id": bot.bot_id, "app_id": bot.app_id, "thread_ts": call.thread_ts()}
    call.workspace.messages.show_privately(Message(channel.id, ts, bot.id, team=bot.team, to=person.id, **more))
    return {"ok": True, "message_ts": ts}
