"""Messages, modals and Home as JSON for the page's scripts."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import quote

from bridge.playground.emulator.entities import Json, Message, View
from bridge.playground.emulator.sample import OTHER_BOT
from bridge.playground.page.blocks import plain_html, shown_blocks
from bridge.playground.page.emojis import glyph
from bridge.playground.page.mrkdwn import mrkdwn_html
from bridge.playground.page.names import Names
from bridge.playground.page.typed import as_typed
from bridge.playground.page.viewer import Viewer

THINKING: Final = "is thinking…"  # Slack's own words while a session is processing
_COLOUR: Final = re.compile(r"#?([0-9A-Fa-f]{6})")
_COLOURS: Final = {"good": "#2eb67d", "warning": "#ecb22e", "danger": "#e01e5a"}


def shown_message(message: Message, viewer: Viewer, names: Names) -> Json:
    """A message as the person sees it."""
    is_app = bool(message.bot_id) and viewer.workspace.people[message.user].is_bot  # not with a person's token
    return {
        "ts": message.ts,
        "channel": message.channel,
        "thread_ts": message.thread_ts,
        "user": "" if message.username else message.user,
        "name": message.username or names.people.get(message.user, message.user),
        "icon": _icon(message.icon_emoji),
        "is_app": is_app,
        "is_other_app": message.user == OTHER_BOT,
        "is_mine": message.user == viewer.me.id,
        "text": as_typed(message.text, names),
        "html": mrkdwn_html(message.text, names),
        # A person's message is shown from its text: Slack's rich text says the same.
        "blocks": shown_blocks(_beside_text(message, is_app=is_app), names),
        "attachments": [
            _attachment(attachment, names, viewer) for attachment in message.attachments if isinstance(attachment, dict)
        ],
        "files": [_file(file, viewer) for file in message.files],
        "reactions": [_reaction(name, users, names) for name, users in message.reactions.items()],
        "edited": message.edited is not None,
        "is_broadcast": message.is_broadcast,
        "is_private": bool(message.to),
        "permalink": viewer.workspace.messages.permalink(message),
        "deleted": message.subtype == "tombstone",
        **_thread(message, viewer),
    }


def _icon(code: str) -> str:
    """The emoji of a shortcode; the shortcode of a workspace's own emoji."""
    return glyph(code.strip(":")) or code


def _beside_text(message: Message, *, is_app: bool) -> list[Json]:
    has_own_words = bool(message.text) and not is_app and not message.to
    return [block for block in message.blocks if not (has_own_words and block.get("type") == "rich_text")]


def _thread(message: Message, viewer: Viewer) -> Json:
    """A root's summary of its thread; empty on a reply."""
    if message.is_reply or message.to:
        return {"reply_count": 0, "last_reply_ts": "", "repliers": [], "status": None}
    summary = viewer.workspace.messages.reply_summary(message)
    return {
        "reply_count": summary.get("reply_count", 0),
        "last_reply_ts": summary.get("latest_reply", ""),
        "repliers": summary.get("reply_users", []),
        "status": _status(message, viewer),
    }


def _status(message: Message, viewer: Viewer) -> Json | None:
    """The agent's status. Slack has a Stop button for sessions only, not for the older kind of status."""
    status = viewer.workspace.status(message.channel, message.ts)
    if not status:
        return None
    is_session = status == "processing"
    session = viewer.workspace.session(message.channel, message.ts)
    who = {"name": session.username, "icon": _icon(session.icon_emoji)} if session.username else {}
    return {"text": THINKING if is_session else status, "can_stop": is_session, **who}


def _attachment(attachment: Json, names: Names, viewer: Viewer) -> Json:
    colour = str(attachment.get("color") or "")
    plain = _COLOUR.fullmatch(colour)
    blocks = attachment.get("blocks")
    text = "\n".join(str(attachment[name]) for name in ("pretext", "text") if attachment.get(name))
    title = str(attachment.get("title") or "")
    fallback = "" if title else str(attachment.get("fallback") or "")
    files = attachment.get("files")
    return {
        "author": str(attachment.get("author_name") or ""),
        "is_share": attachment.get("is_share") is True,
        "title": mrkdwn_html(title, names) if title else "",
        "fields": [_field(field, names) for field in attachment.get("fields") or [] if isinstance(field, dict)],
        "footer": mrkdwn_html(str(attachment.get("footer") or ""), names),
        "files": [_file(file, viewer) for file in files] if isinstance(files, list) else [],
        "color": _COLOURS.get(colour) or (f"#{plain[1]}" if plain else ""),
        "blocks": shown_blocks(blocks, names) if isinstance(blocks, list) else [],
        "html": mrkdwn_html(text or fallback, names),
    }


def _field(field: Json, names: Names) -> Json:
    return {name: mrkdwn_html(str(field.get(name) or ""), names) for name in ("title", "value")}


def _file(file: Json, viewer: Viewer) -> Json:
    key = str(file.get("id", ""))
    url = f"/page/file/{quote(key, safe='')}?as={quote(viewer.me.id)}"
    name = file.get("title") or file.get("name") or "A file from another company"
    shown: Json = {"id": key, "name": name, "size": file.get("size", 0), "url": url, "alt": file.get("alt_txt", "")}
    if file.get("subtype") != "slack_audio":
        return shown
    transcription = file.get("transcription", {})
    clip = {"seconds": round(file.get("duration_ms", 0) / 1000), "status": transcription.get("status", "none")}
    return shown | {"clip": clip | {"words": transcription.get("preview", {}).get("content", "")}}


def _reaction(name: str, users: list[str], names: Names) -> Json:
    return {
        "name": name,
        "emoji": glyph(name) or f":{name}:",
        "users": [names.people.get(user, user) for user in users],
        "count": len(users),
        "mine": names.me in users,
    }


def shown_view(view: View, names: Names) -> Json:
    return {
        "id": view.id,
        "type": view.content.get("type", "modal"),
        **{name: _text(view.content.get(name)) for name in ("title", "submit", "close")},
        "blocks": shown_blocks(view.blocks, names),
        "errors": dict(view.errors),
        "values": {
            block: {action: entered_value(state) for action, state in actions.items()}
            for block, actions in view.values.items()
        },
    }


def _text(text: Any) -> Json | None:
    return {**text, "html": plain_html(str(text.get("text", "")))} if isinstance(text, dict) else None


def shown_option(option: Json) -> Json:
    return {"value": option.get("value"), "text": _text(option.get("text"))}


def entered_value(state: Json) -> Any:
    """An input's value, from its part of a view's state: a string, several, or None."""
    if isinstance(state.get("selected_option"), dict):
        return state["selected_option"].get("value")
    if "selected_options" in state:
        return [option.get("value") for option in state["selected_options"] or []]
    chosen = next((value for name, value in state.items() if name.startswith("selected_")), state.get("value"))
    return str(chosen) if isinstance(chosen, int) else chosen
