"""Scheduled messages: https://docs.slack.dev/reference/methods/chat.scheduleMessage."""

from __future__ import annotations

from typing import Final

from bridge.playground.emulator.entities import Json, Scheduled
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.content import content_of, target, thread
from bridge.playground.emulator.web_api.method import Family, MethodCall, paged

family = Family()

_FURTHEST: Final = 120 * 86_400  # seconds
_TOO_LATE_TO_DELETE: Final = 60


@family.method("chat.scheduleMessage", "chat:write")
def schedule_message(call: MethodCall) -> Json:
    """Schedule a message, at most 120 days ahead."""
    channel = target(call)
    content, _ = content_of(call)
    thread_ts = thread(call, channel)
    now, post_at = int(call.workspace.clock()), call.number("post_at", 0)
    if post_at <= now:
        raise Refusal("time_in_past")
    if post_at > now + _FURTHEST:
        raise Refusal("time_too_far")
    made = Scheduled(call.workspace.new_id("Q"), channel.id, post_at, now, content, thread_ts)
    call.workspace.schedule(made)
    answer = {"ok": True, "channel": channel.id, "scheduled_message_id": made.id, "post_at": post_at}
    return answer | {
        "message": {"text": content["text"], "type": "delayed_message", "bot_id": call.workspace.bot.bot_id}
    }


@family.method("chat.deleteScheduledMessage", "chat:write")
def delete_scheduled_message(call: MethodCall) -> Json:
    """Delete a scheduled message; in its last minute it is too late."""
    channel = call.channel()
    scheduled = call.workspace.scheduled.get(call.need("scheduled_message_id"))
    if scheduled is None or scheduled.channel != channel.id:
        raise Refusal("invalid_scheduled_message_id")
    if scheduled.post_at - call.workspace.clock() < _TOO_LATE_TO_DELETE:
        raise Refusal("invalid_scheduled_message_id")
    call.workspace.scheduled.drop(scheduled.id)
    return {"ok": True}


@family.method("chat.scheduledMessages.list")
def list_scheduled_messages(call: MethodCall) -> Json:
    """List scheduled messages, soonest first."""
    channel = call.channel().id if call.text("channel") else ""
    due = sorted(call.workspace.scheduled.values(), key=lambda one: one.post_at)
    page, following = call.page([one.as_json() for one in due if channel in {"", one.channel}])
    return paged("scheduled_messages", page, following)
