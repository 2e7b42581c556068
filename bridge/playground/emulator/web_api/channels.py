"""The ``conversations.*`` methods that change something: https://docs.slack.dev/reference/methods?family=conversations."""

from __future__ import annotations

import re
from typing import Final

from bridge.playground.emulator import sample
from bridge.playground.emulator.entities import Channel, Json
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.method import Family, MessagePosted, MethodCall

family = Family()

_MANAGE: Final = ("channels:manage", "groups:write", "im:write", "mpim:write")
_TOPIC: Final = 250
_NAME = re.compile(r"[\w-]{1,80}")


@family.method("conversations.create", *_MANAGE)
def create(call: MethodCall) -> Json:
    """Create a channel with the bot as its only member."""
    name = _name(call)
    bot = call.workspace.bot.id
    created = int(call.workspace.clock())
    is_private = call.flag("is_private")
    channel = Channel(call.workspace.new_id("C"), name, [bot], is_private=is_private, created=created)
    call.workspace.add_channel(channel)
    return _shown(call, channel)


@family.method("conversations.join", "channels:join")
def join(call: MethodCall) -> Json:
    """Join a public channel."""
    channel = _channel(call, member=False)
    if call.workspace.enter(call.workspace.bot.id, channel):
        _say(call, channel, call.workspace.bot.id, "has joined the channel", "channel_join")
        return _shown(call, channel)
    return _shown(call, channel) | {"warning": "already_in_channel"}


@family.method("conversations.leave", *_MANAGE)
def leave(call: MethodCall) -> Json:
    """Leave a channel."""
    channel = _channel(call, member=False)
    if channel.name == "general":
        raise Refusal("cant_leave_general")
    has_left = call.workspace.leave(call.workspace.bot.id, channel)
    return {"ok": True} if has_left else {"ok": True, "not_in_channel": True}


@family.method("conversations.invite", *_MANAGE)
def invite(call: MethodCall) -> Json:
    """Invite people."""
    channel = _channel(call)
    users = [one for one in call.text("users").split(",") if one]
    if not users:
        raise Refusal("no_user")
    for user in users:
        _check_guest(call, channel, user)
    for user in users:
        call.workspace.enter(user, channel)
        _say(call, channel, user, "has joined the channel", "channel_join")
    return _shown(call, channel)


def _check_guest(call: MethodCall, channel: Channel, user: str) -> None:
    person = call.workspace.people.get(user)
    if person is None or person.deleted:
        raise Refusal("user_not_found")
    if user == call.workspace.bot.id:
        raise Refusal("cant_invite_self")
    if user in channel.members:
        raise Refusal("already_in_channel")
    if person.is_ultra_restricted:
        raise Refusal("ura_max_channels")


@family.method("conversations.kick", *_MANAGE)
def kick(call: MethodCall) -> Json:
    """Remove a person."""
    channel = _channel(call)
    person = call.person()
    if person.id == call.workspace.bot.id:
        raise Refusal("cant_kick_self")
    if channel.name == "general":
        raise Refusal("cant_kick_from_general")
    if not call.workspace.leave(person.id, channel):
        raise Refusal("not_in_channel")
    return {"ok": True}


@family.method("conversations.rename", *_MANAGE)
def rename(call: MethodCall) -> Json:
    """Rename a channel."""
    channel = _channel(call)
    call.workspace.change_channel(channel, name=_name(call))
    return _shown(call, channel)


@family.method("conversations.setTopic", *_MANAGE)
def set_topic(call: MethodCall) -> Json:
    """Set the topic."""
    channel = _channel(call)
    topic = call.text("topic")
    if len(topic) > _TOPIC:
        raise Refusal("too_long")
    call.workspace.change_channel(channel, topic=topic)
    _say(call, channel, call.workspace.bot.id, f"set the channel topic: {topic}", "channel_topic")
    return _shown(call, channel)


@family.method("conversations.setPurpose", *_MANAGE)
def set_purpose(call: MethodCall) -> Json:
    """Set the purpose."""
    channel = _channel(call)
    purpose = call.text("purpose")
    if len(purpose) > _TOPIC:
        raise Refusal("too_long")
    call.workspace.change_channel(channel, purpose=purpose)
    _say(call, channel, call.workspace.bot.id, f"set the channel description: {purpose}", "channel_purpose")
    return {"ok": True, "purpose": purpose}


@family.method("conversations.archive", *_MANAGE)
def archive(call: MethodCall) -> Json:
    """Archive a channel."""
    channel = call.channel()
    if channel.is_im:
        raise Refusal("method_not_supported_for_channel_type")
    if channel.name == "general":
        raise Refusal("cant_archive_general")
    if channel.is_archived:
        raise Refusal("already_archived")
    call.workspace.change_channel(channel, is_archived=True)
    return {"ok": True}


@family.method("conversations.unarchive", *_MANAGE)
def unarchive(call: MethodCall) -> Json:
    """Unarchive a channel."""
    channel = call.channel(member=False)
    if not channel.is_archived:
        raise Refusal("not_archived")
    call.workspace.change_channel(channel, is_archived=False)
    return {"ok": True}


@family.method("conversations.mark", *_MANAGE)
def mark(call: MethodCall) -> Json:
    """Set the bot's read marker."""
    channel = call.channel()
    call.workspace.mark_read(call.workspace.bot.id, channel, call.need("ts"))
    return {"ok": True}


@family.method("conversations.close", "im:write", "mpim:write")
def close(call: MethodCall) -> Json:
    """Close a direct message, until the next message."""
    channel = call.channel()
    if not channel.is_im:
        raise Refusal("method_not_supported_for_channel_type")
    return {"ok": True, "no_op": True, "already_closed": True}


def _channel(call: MethodCall, *, member: bool = True) -> Channel:
    """The named channel, unless it is a direct message or archived."""
    channel = call.channel(member=member)
    if channel.is_im:
        raise Refusal("method_not_supported_for_channel_type")
    if channel.is_archived:
        raise Refusal("is_archived")
    return channel


def _name(call: MethodCall) -> str:
    name = call.need("name")
    if name != name.lower() or not _NAME.fullmatch(name):
        raise Refusal("invalid_name_specials")
    if any(one.name == name for one in call.workspace.channels.values()):
        raise Refusal("name_taken")
    return name


def _say(call: MethodCall, channel: Channel, user: str, what: str, subtype: str) -> None:
    message = call.workspace.messages.post(user, channel.id, f"<@{user}> {what}", subtype=subtype)
    call.happened.append(MessagePosted(message))


def _shown(call: MethodCall, channel: Channel) -> Json:
    shown = channel.as_json(call.workspace.bot.id) | {"context_team_id": sample.TEAM}
    return {"ok": True, "channel": shown}
