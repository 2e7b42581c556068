"""Signed requests as Slack sends them, made from templates.

A message's text identifies it (``ask 1790000000.000001 3``: thread and number) and the agent's answer repeats that
(``answer …``), so the fakes can match requests to messages by their bytes.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field

TEAM, CHANNEL, PERSON, BOT = "T0BENCH", "C0BENCH", "U0PERSON", "U0BRIDGE"
SIGNING_SECRET = "s1gning-secret-of-the-benchmark"
BOT_TOKEN = "xoxb-token-of-the-benchmark"
EVENTS_PATH = "/slack/events"

_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A person's message, numbered within its *thread* from 0, the root."""

    thread: str
    number: int

    @property
    def words(self) -> str:
        """The text, without a mention."""
        return f"ask {self.thread} {self.number}"

    @property
    def answer(self) -> str:
        """The agent's answer."""
        return f"answer {self.thread} {self.number}"


@dataclass(slots=True)
class Clock:
    """Unique message timestamps."""

    start: int = field(default_factory=lambda: int(time.time()))
    used: int = 0

    def next(self) -> str:
        """The next timestamp, in Slack's format."""
        self.used += 1
        return f"{self.start + self.used // _MICROSECONDS}.{self.used % _MICROSECONDS:06d}"


def mention(message: ChatMessage, kind: str = "app_mention", *, project: str = "") -> bytes:
    """The request for a mention that starts a thread; Slack delivers it as ``app_mention`` and ``message``.

    It may name a *project*.
    """
    words = f"@{project} {message.words}" if project else message.words
    return signed(_envelope(message, message.thread, f"{_AT_BOT} {words}", kind))


def reply(message: ChatMessage, ts: str) -> bytes:
    """The request for a reply without a mention, with the timestamp *ts*."""
    return signed(_envelope(message, ts, message.words, "message"))


def chatter(ts: str) -> bytes:
    """The request for a channel message that doesn't concern the bot; every server accepts and ignores it."""
    return signed(_envelope(ChatMessage(ts, 0), ts, "good morning", "message"))


def signed(body: bytes) -> bytes:
    """A complete request with *body*, signed now."""
    at = str(int(time.time()))
    digest = hmac.new(SIGNING_SECRET.encode(), f"v0:{at}:".encode() + body, hashlib.sha256).hexdigest()
    head = (
        f"POST {EVENTS_PATH} HTTP/1.1\r\nHost: bench\r\nUser-Agent: Slackbot 1.0 (+https://api.slack.com/robots)\r\n"
        f"Accept: */*\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"X-Slack-Request-Timestamp: {at}\r\nX-Slack-Signature: v0={digest}\r\n\r\n"
    )
    return head.encode() + body


def _template() -> str:
    """An event as long as Slack's own, with placeholders."""
    text = {"type": "rich_text_section", "elements": ["MENTION", {"type": "text", "text": "WORDS"}]}
    event = {
        "type": "KIND",
        "user": PERSON,
        "client_msg_id": "6b2f4f1e-6f0e-4d5a-9f3e-EVENT",
        "text": "TEXT",
        "ts": "OWN",
        "team": TEAM,
        "blocks": [{"type": "rich_text", "block_id": "b1ock", "elements": [text]}],
        "channel": CHANNEL,
        "event_ts": "OWN",
        "channel_type": "channel",
        "thread_ts": "THREAD",
        "parent_user_id": PERSON,
    }
    envelope = {
        "token": "unused",
        "team_id": TEAM,
        "context_team_id": TEAM,
        "context_enterprise_id": None,
        "api_app_id": "A0BENCH",
        "event": event,
        "type": "event_callback",
        "event_id": "EvEVENT",
        "event_time": 1790000000,
        "authorizations": [
            {"enterprise_id": None, "team_id": TEAM, "user_id": BOT, "is_bot": True, "is_enterprise_install": False}
        ],
        "is_ext_shared_channel": False,
        "event_context": "4-eyJldCI6ImFwcF9tZW50aW9uIiwidGlkIjoiVDBCRU5DSCIsImFpZCI6IkEwQkVOQ0gifQ",
    }
    return json.dumps(envelope)


_AT_BOT = f"<@{BOT}>"
_MENTION = json.dumps({"type": "user", "user_id": BOT})
_REPLY = _template()
_ROOT = _REPLY.replace(f', "thread_ts": "THREAD", "parent_user_id": "{PERSON}"', "")


def _envelope(message: ChatMessage, ts: str, text: str, kind: str) -> bytes:
    template = _ROOT if ts == message.thread else _REPLY
    event = f"{kind[:1]}{ts.replace('.', '')}"
    filled = template.replace('"MENTION", ', f"{_MENTION}, " if text.startswith(_AT_BOT) else "")
    filled = filled.replace("WORDS", text.removeprefix(_AT_BOT)).replace("KIND", kind)
    filled = filled.replace("TEXT", text).replace("OWN", ts)
    return filled.replace("THREAD", message.thread).replace("EVENT", event).encode()
