"""``assistant.threads.*`` and ``agents.sessions.*``: an agent's status in a thread.

https://docs.slack.dev/reference/methods/agents.sessions.setStatus
"""

from __future__ import annotations

from typing import Final

from bridge.playground.emulator.entities import Channel, Json
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.content import authorship
from bridge.playground.emulator.web_api.method import Family, MethodCall

family = Family()

_LIFECYCLES: Final = {"active", "processing", "suspended", "closed"}
_TITLE: Final = 200
_PROMPTS: Final = 4
_LOADING_MESSAGES: Final = 10


@family.method(
    "assistant.threads.setStatus",
    "chat:write",
    "assistant:write",
    differs="the old scope `assistant:write` works, too",
)
def set_thread_status(call: MethodCall) -> Json:
    """Set the agent's status until it posts or two minutes pass; empty clears it."""
    channel, thread_ts = _thread(call)
    if "status" not in call.args:
        raise Refusal("invalid_arguments", messages=["[ERROR] missing required field: status"])
    if len(call.json("loading_messages") or []) > _LOADING_MESSAGES:
        raise Refusal("invalid_arguments", messages=["[ERROR] no more than 10 items allowed: loading_messages"])
    call.workspace.set_status(channel.id, thread_ts, call.text("status"), call.method, **authorship(call))
    return {"ok": True}


@family.method("assistant.threads.setSuggestedPrompts", "assistant:write", "chat:write", tier=100)
def set_suggested_prompts(call: MethodCall) -> Json:
    """Suggest prompts in a direct message. With ``thread_ts`` nothing is shown and there is no error, as in Slack."""
    channel = call.channel("channel_id")
    prompts = call.json("prompts") or []
    if not 1 <= len(prompts) <= _PROMPTS:
        raise Refusal("invalid_arguments", messages=["[ERROR] between 1 and 4 items: prompts"])
    if not call.text("thread_ts"):
        call.workspace.change_session(channel.id, "", prompts=prompts, prompts_title=call.text("title"))
    return {"ok": True}


@family.method(
    "agents.sessions.setStatus",
    "chat:write",
    tier=50,
    differs="that `agent_status` is what people see now is a guess",
)
def set_session_status(call: MethodCall) -> Json:
    """Change the session's state, or start one with a title, which is ignored later."""
    status = call.need("status")
    if status not in _LIFECYCLES:
        raise Refusal("invalid_status")
    channel, thread_ts = _session_thread(call)
    is_new = f"{channel.id}/{thread_ts}" not in call.workspace.sessions
    title = call.text("title")
    if is_new:
        _check_title(title)
        if call.text("initiator_user_id", channel.members[0]) not in channel.members:
            raise Refusal("user_not_in_channel")
    cleared = {name: "" for name in ("username", "icon_emoji") if call.args.get(name, "") is None}
    call.workspace.set_lifecycle(channel.id, thread_ts, status, **cleared | authorship(call))
    if is_new and title:
        call.workspace.change_session(channel.id, thread_ts, title=title)
    answer: Json = {
        "ok": True,
        "status": status,
        "agent_status": call.workspace.status(channel.id, thread_ts),
        "title": call.workspace.session(channel.id, thread_ts).title,
    }
    if status == "processing" and not call.is_subscribed("agent_session_stopped"):
        answer["warning"] = "missing_agent_session_stopped_event_subscription"
    return answer


@family.method("agents.sessions.rename", "chat:write", tier=50)
def rename(call: MethodCall) -> Json:
    """Name the thread's session."""
    title = call.need("title")
    _check_title(title)
    channel, thread_ts = _session_thread(call)
    call.workspace.change_session(channel.id, thread_ts, title=title)
    return {"ok": True, "title": title}


def _check_title(title: str) -> None:
    if len(title) > _TITLE:
        raise Refusal("invalid_arguments", messages=["[ERROR] must be less than 201 characters: title"])


def _session_thread(call: MethodCall) -> tuple[Channel, str]:
    """The thread of a session, required except in channels made for a session."""
    if not call.text("thread_ts"):
        raise Refusal("thread_ts_required")
    return _thread(call, error="not_authorized")


def _thread(call: MethodCall, error: str = "not_in_channel") -> tuple[Channel, str]:
    """The thread; *error* is the one for a channel without the bot."""
    channel = call.channel("channel_id", member=False)
    if call.workspace.bot.id not in channel.members:
        raise Refusal(error)
    thread_ts = call.thread_ts(is_needed=True)
    if not call.workspace.messages.has_thread(channel.id, thread_ts):
        raise Refusal("invalid_thread_ts")
    return channel, thread_ts
