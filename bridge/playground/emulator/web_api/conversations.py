"""``conversations.*``: https://docs.slack.dev/reference/methods?family=conversations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bridge.playground.emulator.entities import Channel, Json, Message
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.method import Family, MethodCall, paged

family = Family()

READ = ("channels:read", "groups:read", "im:read", "mpim:read")
_SCOPE_OF: Final = {
    "public_channel": "channels:read",
    "private_channel": "groups:read",
    "mpim": "mpim:read",
    "im": "im:read",
}
_HISTORY = ("channels:history", "groups:history", "im:history", "mpim:history")


@family.method("conversations.info", *READ, tier=50, takes_json=False, differs="no locale")
def info(call: MethodCall) -> Json:
    """Describe a channel; the bot needn't be in a public one."""
    channel = call.channel(member=False)
    shown = channel.as_json(call.workspace.bot.id)
    if not call.flag("include_num_members"):
        shown.pop("num_members", None)
    return {"ok": True, "channel": shown}


def visible(call: MethodCall) -> list[Channel]:
    """The channels visible to the bot, of the given ``types``."""
    kinds = set(call.text("types", "public_channel").replace(" ", "").split(","))
    if not kinds <= _SCOPE_OF.keys():
        raise Refusal("invalid_types")
    missing = sorted(_SCOPE_OF[kind] for kind in kinds if _SCOPE_OF[kind] not in call.scopes)
    if missing:
        raise Refusal("missing_scope", needed=",".join(missing), provided=",".join(sorted(call.scopes)))
    archived = not call.flag("exclude_archived")
    channels = [channel for channel in call.workspace.channels.values() if _is_visible(call, channel, kinds)]
    return [channel for channel in channels if archived or not channel.is_archived]


def _is_visible(call: MethodCall, channel: Channel, kinds: set[str]) -> bool:
    kind = {"channel": "public_channel", "group": "private_channel"}.get(channel.kind, channel.kind)
    return kind in kinds and (kind == "public_channel" or call.workspace.bot.id in channel.members)


@family.method("conversations.members", *READ, tier=100, takes_json=False)
def members(call: MethodCall) -> Json:
    """List a channel's members."""
    page, following = call.page(call.channel(member=False).members)
    return paged("members", page, following)


@family.method(
    "conversations.history",
    *_HISTORY,
    tier=50,
    takes_json=False,
    differs="cursors move when messages are added",
)
def history(call: MethodCall) -> Json:
    """List a channel's messages, newest first."""
    channel = _readable(call)
    is_in_window = _window(call)
    messages = [message for message in reversed(call.workspace.messages.top_level(channel.id)) if is_in_window(message)]
    page, following = call.page(messages)
    return _messages(call, page, following)


@family.method(
    "conversations.replies", *_HISTORY, tier=50, takes_json=False, differs="cursors move when messages are added"
)
def replies(call: MethodCall) -> Json:
    """List a thread, its root first, then oldest first."""
    channel = _readable(call)
    asked = call.workspace.messages.find(channel.id, call.need("ts"))
    if asked is None:
        raise Refusal("thread_not_found")
    root, *rest = call.workspace.messages.thread(channel.id, asked.thread_ts or asked.ts)
    page, following = call.page([root, *filter(_window(call), rest)], default=1000)
    return _messages(call, page, following)


def _readable(call: MethodCall) -> Channel:
    """The channel, which needs the scope of its kind: as seen in zaratanDotWorld/choreWheel#173."""
    kind = call.channel(member=False).kind
    needed = f"{kind}:history" if kind in {"im", "mpim"} else f"{kind}s:history"
    if needed not in call.scopes:
        raise Refusal("missing_scope", needed=needed, provided=",".join(sorted(call.scopes)))
    return call.channel()


def _window(call: MethodCall) -> Callable[[Message], bool]:
    """Whether a message lies between ``oldest`` and ``latest``."""
    low, high = _moment(call, "oldest", "0"), _moment(call, "latest", "9999999999.999999")
    if call.flag("inclusive"):
        return lambda message: low <= float(message.ts) <= high
    return lambda message: low < float(message.ts) < high


def _moment(call: MethodCall, name: str, default: str) -> float:
    try:
        return float(call.text(name) or default)
    except ValueError:
        raise Refusal(f"invalid_ts_{name}") from None


def _messages(call: MethodCall, page: list[Message], following: str) -> Json:
    with_metadata = call.flag("include_all_metadata")
    summary = call.workspace.messages.reply_summary
    shown = [{**message.as_json(with_metadata=with_metadata), **summary(message)} for message in page]
    return paged("messages", shown, following) | {"has_more": bool(following)}
