"""Streamed messages: https://docs.slack.dev/reference/methods/chat.startStream."""

from __future__ import annotations

from typing import Any, Final

from bridge.playground.emulator import limits
from bridge.playground.emulator.chunks import shown
from bridge.playground.emulator.entities import Json, Message
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.content import own
from bridge.playground.emulator.web_api.method import Family, MessageEdited, MessagePosted, MethodCall

family = Family()

_MARKDOWN: Final = 12_000
_KINDS: Final = {"markdown_text", "task_update", "plan_update", "blocks"}
_LIFECYCLES: Final = {"active", "processing", "suspended", "closed"}


@family.method("chat.startStream", "chat:write")
def start_stream(call: MethodCall) -> Json:
    """Start a stream in a thread; in a channel the recipient must be named."""
    channel = call.channel()
    thread_ts = call.thread_ts(is_needed=True)
    if not call.workspace.messages.has_thread(channel.id, thread_ts):
        raise Refusal("thread_not_found")
    for name in () if channel.is_im else ("recipient_team_id", "recipient_user_id"):
        if not call.text(name):
            raise Refusal(f"missing_{name}")
    mode = call.text("task_display_mode", "timeline")
    if mode not in {"timeline", "plan"}:
        raise Refusal("invalid_arguments", messages=["[ERROR] must be one of timeline, plan: task_display_mode"])
    chunks = _chunks(call)
    message = call.workspace.messages.post(
        call.workspace.bot.id,
        channel.id,
        "",
        thread_ts=thread_ts,
        streamed=chunks,
        task_display_mode=mode,
        streaming_since=call.workspace.clock(),
    )
    _show(call, message)
    call.workspace.clear_status(channel.id, thread_ts)
    call.happened.append(MessagePosted(message))
    return {"ok": True, "channel": channel.id, "ts": message.ts}


@family.method("chat.appendStream", "chat:write")
def append_stream(call: MethodCall) -> Json:
    """Append to a stream."""
    message = _streaming(call)
    chunks = _chunks(call)
    if not chunks:
        raise Refusal("no_text")
    _grow(call, message, chunks)
    return {"ok": True, "channel": message.channel, "ts": message.ts}


@family.method("chat.stopStream", "chat:write")
def stop_stream(call: MethodCall) -> Json:
    """Finish a stream, with blocks below it."""
    message = _streaming(call)
    blocks = call.json("blocks", error="invalid_blocks_format") or []
    limits.check_blocks(blocks)
    lifecycle = call.text("session_status")
    if lifecycle and lifecycle not in _LIFECYCLES:
        raise Refusal("invalid_arguments", messages=["[ERROR] must be one of active, processing, suspended, closed"])
    metadata = call.json("metadata", error="invalid_metadata_format")
    if metadata is not None:
        limits.check_metadata(metadata)
        message.metadata = metadata
    message.streaming_since = 0.0
    _grow(call, message, [*_chunks(call), *([{"type": "blocks", "blocks": blocks}] if blocks else [])])
    if lifecycle:
        call.workspace.set_lifecycle(message.channel, message.thread_ts, lifecycle)
    return {"ok": True, "channel": message.channel, "ts": message.ts, "message": message.as_json()}


def _streaming(call: MethodCall) -> Message:
    """The named message, if it is still streaming."""
    message = own(call, call.channel(), "message_not_owned_by_app")
    if message.is_stopped:
        raise Refusal("stopped_by_user")
    if not call.workspace.messages.is_streaming(message):
        raise Refusal("message_not_in_streaming_state")
    return message


def _chunks(call: MethodCall) -> list[Json]:
    """The validated chunks to append."""
    text, chunks = call.text("markdown_text"), call.json("chunks", error="invalid_chunks") or []
    if text and chunks:
        raise Refusal("invalid_arguments", messages=["[ERROR] markdown_text and chunks exclude one another"])
    if text:
        chunks = [{"type": "markdown_text", "text": text}]
    for chunk in chunks:
        _check(chunk)
    return list(chunks)


def _check(chunk: Any) -> None:
    if not isinstance(chunk, dict) or chunk.get("type") not in _KINDS:
        raise Refusal("invalid_chunks", messages=[f"[ERROR] must be one of {', '.join(sorted(_KINDS))}: type"])
    if chunk["type"] == "markdown_text" and len(chunk.get("text") or "") > _MARKDOWN:
        raise Refusal("msg_too_long")
    if chunk["type"] == "blocks":
        limits.check_blocks(chunk.get("blocks"))
    if chunk["type"] == "task_update" and not (chunk.get("id") and chunk.get("title")):
        raise Refusal("invalid_chunks", messages=["[ERROR] missing required field: id or title"])


def _grow(call: MethodCall, message: Message, chunks: list[Json]) -> None:
    before = message.as_json()
    message.streamed = [*message.streamed, *chunks]
    _show(call, message)
    call.happened.append(MessageEdited(message, before))


def _show(call: MethodCall, message: Message) -> None:
    text, blocks = shown(message.streamed, message.task_display_mode)
    changes = {"text": text, "blocks": call.workspace.messages.identified(blocks)}
    call.workspace.messages.edit(message, message.user, changes, is_edit=False)
