"""What messages contain besides text, in recorded shapes; pure.

The fields of attachments: https://docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments. Those
that only Slack writes are as in slackapi/java-slack-sdk (``Attachment.java``, ``File.java``).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from bridge.playground.emulator import sample
from bridge.playground.emulator.entities import Channel, File, Json, Member, Message

_OF_AN_ALERT: Final = ("pretext", "title", "title_link", "text", "fields", "color")
NO_PREVIEW: Final = "[no preview available]"
_CUE_WORDS: Final = 8


def forwarded(message: Message, author: Member, channel: Channel, link: str) -> Json:
    """A forwarded message: an attachment with ``is_share``, unlike a link's preview."""
    shown: Json = {
        "ts": message.ts,
        **_author(message, author),
        "channel_id": channel.id,
        "channel_team": sample.TEAM,
        "is_msg_unfurl": True,
        "is_share": True,
        "fallback": _fallback(message, author),
        "text": message.text,
        "mrkdwn_in": ["text"],
        "footer": _footer(message, channel),
        "from_url": link,
        "original_url": link,
        "id": 1,
    }
    if message.is_reply:
        shown["is_reply_unfurl"] = True
    if message.attachments and not message.text:
        shown |= {name: message.attachments[0][name] for name in _OF_AN_ALERT if name in message.attachments[0]}
    if blocks := message.blocks or message.generated:
        inner = {"team": sample.TEAM, "channel": channel.id, "ts": message.ts, "message": {"blocks": blocks}}
        shown["message_blocks"] = [inner]
    return shown | ({"files": message.files} if message.files else {})


def _author(message: Message, author: Member) -> Json:
    if message.username:  # an incoming webhook has no user
        return {"author_name": message.username, "author_subname": message.username, "bot_id": message.bot_id}
    link = f"https://{sample.TEAM_DOMAIN}.slack.com/team/{author.id}"
    name = author.real_name
    return {"author_id": author.id, "author_name": name, "author_subname": name, "author_link": link}


def _fallback(message: Message, author: Member) -> str:
    at = datetime.fromtimestamp(float(message.ts), UTC)
    return f"[{at:%B %-d, %Y %-I:%M %p}] {message.username or author.name}: {message.text}"


def _footer(message: Message, channel: Channel) -> str:
    if not channel.name or channel.is_mpim:
        return "Direct message" if channel.is_im else "Group message"
    return f"{'Thread' if message.is_reply else 'Posted'} in #{channel.name}"


def table(rows: Sequence[Sequence[str | float]], *, block_id: str) -> Json:
    """A ``table`` block: https://docs.slack.dev/reference/block-kit/blocks/table-block."""
    return {"type": "table", "block_id": block_id, "rows": [[_cell(value) for value in row] for row in rows]}


def _cell(value: str | float) -> Json:
    if isinstance(value, str):
        return {"type": "raw_text", "text": value}
    return {"type": "raw_number", "value": value, "text": f"{value:g}"}


def pasted(block: Json) -> Json:
    """A pasted table: an attachment whose content appears nowhere else (vercel/chat#803)."""
    return {"id": 1, "blocks": [block], "fallback": NO_PREVIEW}


def stub(file: File) -> Json:
    """A stub of another company's file: https://docs.slack.dev/apis/slack-connect says to call ``files.info``."""
    unknown: Json = {"created": 0, "timestamp": 0, "user": ""}
    return {"id": file.id, "mode": "file_access", "file_access": "check_file_info", **unknown}


def subtitles(words: str, milliseconds: int) -> str:
    """A clip's WebVTT, with the byte order mark, blank and dash of Slack's own (recorded in 2026)."""
    spoken = words.split()
    cues = [spoken[at : at + _CUE_WORDS] for at in range(0, len(spoken), _CUE_WORDS)]
    times = [_time(milliseconds * at // max(1, len(cues))) for at in range(len(cues) + 1)]
    lines = [f"{times[at]} --> {times[at + 1]}\n{'' if at else '- '}{' '.join(cue)}" for at, cue in enumerate(cues)]
    return "\n\n".join(["\ufeffWEBVTT ", *lines]) + "\n\n\n"


def _time(milliseconds: int) -> str:
    minutes, rest = divmod(milliseconds, 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}.{rest % 1000:03}"
