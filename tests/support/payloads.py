"""Recorded payloads of messages with more than text.

Names are changed. Sources: forwards in slack-web's golden files, clips in a client's tests (measured in
October 2026), tables in vercel/chat#803 and slackapi/slack-skills-plugin#126; the fields of a file as
slackapi/java-slack-sdk has them.
"""

from __future__ import annotations

from typing import Any, Final

Json = dict[str, Any]

SITE: Final = "https://files.slack.com"


def rich(*elements: Json) -> Json:
    """Make a rich text block from sections or section elements."""
    is_inline = bool(elements) and not str(elements[0].get("type", "")).startswith("rich_text_")
    pieces = [{"type": "rich_text_section", "elements": [*elements]}] if is_inline else [*elements]
    return {"type": "rich_text", "block_id": "nXUog", "elements": pieces}


def words(text: str, **style: bool) -> Json:
    return {"type": "text", "text": text, **({"style": style} if style else {})}


def forward(text: str = "The lamp is *red* &amp; blinks.", **more: Any) -> Json:
    """Make the attachment of a forwarded message."""
    inner = {"team": "T1", "channel": "C2", "ts": "1724952281.623809", "message": {"blocks": [rich(words(text))]}}
    return {
        "ts": "1724952281.623809", "author_id": "U2", "channel_id": "C2", "channel_team": "T1", "is_msg_unfurl": True,
        "message_blocks": [inner], "color": "D0D0D0", "is_share": True, "text": text, "author_name": "Ada Lovelace",
        "from_url": "https://acme.slack.com/archives/C2/p1724952281623809",
        "fallback": f"[August 29th, 2024 10:24 AM] ada: {text}", "author_link": "https://acme.slack.com/team/U2",
        "author_icon": "https://avatars.slack-edge.com/a_48.png", "author_subname": "Ada Lovelace",
        "mrkdwn_in": ["text"], "footer": "Slack Conversation",
    } | more  # fmt: skip


TABLE: Final[Json] = {
    "type": "table",
    "block_id": "t1",
    "rows": [
        [{"type": "raw_text", "text": "Item"}, {"type": "raw_text", "text": "Amount"}],
        [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [words("A | B", bold=True)]}]},
         {"type": "raw_number", "value": 1200, "text": "1,200"}],
    ],
}  # fmt: skip
PASTED: Final[Json] = {"id": 1, "blocks": [TABLE], "fallback": "[no preview available]"}
AS_MARKDOWN: Final = "| Item | Amount |\n| --- | --- |\n| **A \\| B** | 1,200 |"

PREVIEW: Final[Json] = {
    "fallback": "GitHub: Build and ship software", "from_url": "https://github.com/", "id": 1,
    "original_url": "https://github.com/", "service_name": "GitHub", "text": "Join the world's platform.",
    "title": "GitHub", "title_link": "https://github.com/", "image_url": "https://images.test/home.jpg",
}  # fmt: skip
OLD_ALERT: Final[Json] = {
    "id": 1, "color": "36a64f", "fallback": "[acme/shop] Pull request opened by ada",
    "pretext": "Pull request opened by <https://github.com/ada|ada>",
    "title": "#8 Mend the lamp", "title_link": "https://github.com/acme/shop/pull/8", "text": "It was *red*.",
    "fields": [{"title": "Branch", "value": "main", "short": True}, {"title": "", "value": "alone", "short": True}],
    "footer": "<https://github.com/acme/shop|acme/shop>", "mrkdwn_in": ["text"], "ts": 1730339957,
    "actions": [{"id": "1", "name": "comment", "text": "Comment", "type": "button", "value": "{}", "style": ""}],
}  # fmt: skip
BLOCKS: Final[list[Json]] = [
    {"type": "header", "text": {"type": "plain_text", "text": "Job Failed. :red_circle: a &amp; b < c", "emoji": True}},
    {"type": "section", "fields": [
        {"type": "mrkdwn", "text": "*Job*: build"}, {"type": "mrkdwn", "text": "*On*: main"}],
     "accessory": {"type": "image", "image_url": "https://example.com/a.png", "alt_text": "CircleCI logo"}},
    {"type": "divider"},
    {"type": "context", "elements": [{"type": "mrkdwn", "text": "by <@U2>"}, {"type": "plain_text", "text": "now"}]},
    {"type": "actions", "elements": [
        {"type": "button", "action_id": "zHNw", "text": {"type": "plain_text", "text": "View Job"},
         "url": "https://circleci.com/gh/1"},
        {"type": "button", "action_id": "retry", "text": {"type": "plain_text", "text": "Retry"}, "value": "1"}]},
]  # fmt: skip
BLOCKS_SAY: Final = (
    "Job Failed. :red_circle: a &amp; b &lt; c\n*Job*: build\n*On*: main\n[image: CircleCI logo]\nby <@U2> now\n"
    "<https://circleci.com/gh/1|View Job>\n[button: Retry]"
)


def file(name: str = "report.txt", **more: Any) -> Json:
    """Make a file object: https://docs.slack.dev/reference/objects/file-object."""
    return {
        "id": "F04EEHX1EES", "created": 1670631527, "timestamp": 1670631527, "name": name, "title": name,
        "mimetype": "text/plain", "filetype": "text", "pretty_type": "Plain Text", "user": "U1", "user_team": "T1",
        "editable": True, "size": 12, "mode": "snippet", "is_external": False, "external_type": "", "is_public": False,
        "url_private": f"{SITE}/files-pri/T1-F04EEHX1EES/{name}",
        "url_private_download": f"{SITE}/files-pri/T1-F04EEHX1EES/download/{name}",
        "permalink": f"https://acme.slack.com/files/U1/F04EEHX1EES/{name}", "file_access": "visible",
    } | more  # fmt: skip


STUB: Final[Json] = {
    "id": "F12345678", "mode": "file_access", "file_access": "check_file_info", "created": 0, "timestamp": 0,
    "user": "",
}  # fmt: skip
SNIPPET: Final = file(preview="hug a kitten", lines=1, lines_more=0, preview_is_truncated=False)
MAIL: Final = file(
    "meow", mimetype="text/html", filetype="email", pretty_type="Email", mode="email", size=6212, subject="Lamps",
    to=[{"address": "", "name": "Email", "original": "Email <>"}],
    **{"from": [{"address": "ada@example.com", "name": "Ada", "original": "Ada <ada@example.com>"}]},
    cc=[], plain_text="Two lamps,\nplease.", preview="Two lamps", preview_plain_text="Two lamps", has_more=True,
    headers={"date": "Fri, 16 Dec 2022 18:58:30 +0000", "in_reply_to": None},
)  # fmt: skip
PDF: Final = file("a.pdf", mimetype="application/pdf", filetype="pdf", pretty_type="PDF", mode="hosted", size=34567)
IMAGE: Final = file(
    "a.png", mimetype="image/png", filetype="png", pretty_type="PNG", mode="hosted", size=137531, original_w=176,
    original_h=226, alt_txt="A red lamp",
)  # fmt: skip
VIDEO: Final = file("a.mp4", mimetype="video/mp4", filetype="mp4", pretty_type="MPEG 4 Video", mode="hosted", size=9999)
ZIP: Final = file("a.zip", mimetype="application/zip", filetype="zip", pretty_type="Zip", mode="hosted", size=4321)


def clip(status: str = "complete", content: str = "What day is it today?", *, has_more: bool = False) -> Json:
    """Make the file object of a voice clip."""
    transcription: Json = {"status": status, "locale": "en-US"}
    if status == "complete":
        transcription["preview"] = {"content": content, "has_more": has_more}
    return file(
        "audio_message.m4a", mimetype="audio/mp4", filetype="m4a", pretty_type="MPEG 4 Audio", mode="hosted",
        size=22000, subtype="slack_audio", media_display_type="audio", duration_ms=4200, transcription=transcription,
        vtt=f"{SITE}/files-tmb/T1-F04EEHX1EES-1/file.vtt",
    )  # fmt: skip


# Messages with a name of their own: of an app with ``chat:write.customize`` (from a button's payload of July 2022, in
# lannister's tests), and of an incoming webhook (in errbot's tests). Neither has a ``user``.
NAMED_BY_APP: Final[Json] = {
    "type": "message", "subtype": "bot_message", "text": "This content can't be displayed.", "ts": "1657567468.672319",
    "username": "lannister-bot", "icons": {"emoji": ":robot_face:"}, "bot_id": "B03NBN7SRME", "app_id": "A03MMSE5XR8",
    "blocks": [
        {"type": "header", "block_id": "KTo", "text": {"type": "plain_text", "text": "*Hey, ada, want to register?*"}},
        {"type": "divider", "block_id": "jMtTS"},
        {"type": "section", "block_id": "Cr6O9", "text": {"type": "mrkdwn", "text": "Bot will add your ID. Agreed?"}},
    ],
}  # fmt: skip
NAMED_BY_WEBHOOK: Final[Json] = {
    "type": "message", "subtype": "bot_message", "text": "", "ts": "1444416645.000641", "channel": "C0XXXXY6P",
    "username": "riemann", "bot_id": "B04HMXXXX",
    "icons": {"emoji": ":warning:", "image_64": "https://a.slack-edge.com/26a0.png"},
    "attachments": [{
        "id": 1, "title": "sometitle", "fallback": " *Host:* host-01", "color": "daa038",
        "fields": [{"title": "Metric", "value": "1", "short": True}], "title_link": "https://xx.com",
    }],
}  # fmt: skip
