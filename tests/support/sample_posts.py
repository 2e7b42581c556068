"""The people and channels in tests of Slack texts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bridge.ids import TurnId
from bridge.playground.emulator import sample
from bridge.slack.api import Identity
from bridge.slack.blockkit.reply import Reply
from bridge.slack.parts import MessageTag, Place

HERE = Place(sample.GENERAL, "1699999999.000001")
TURN = TurnId("abcDEF123-_xyz00")
TAG = MessageTag("bridge_turn", TURN, agent=3, session=77)
US = Identity(
    team=sample.TEAM,
    enterprise="",
    bot_user=sample.BRIDGE,
    bot_id=sample.BRIDGE_BOT,
    scopes=frozenset({"files:write", "channels:history"}),
)
NO_FILES = Identity(team=sample.TEAM, enterprise="", bot_user=sample.BRIDGE, bot_id=sample.BRIDGE_BOT)
FOOTER = {"type": "context", "elements": [{"type": "plain_text", "text": "used search"}]}
SECTION = {"type": "section", "text": {"type": "plain_text", "text": "hi"}}
SINCE = datetime(2023, 11, 14, tzinfo=UTC)


def long_markdown(characters: int) -> str:
    """Return paragraphs of ten sentences."""
    ends = [" "] * 9 + ["\n\n"]
    sentences = (
        f"Sentence {number} has some words to be read.{ends[number % 10]}" for number in range(characters // 30)
    )
    return "".join(sentences)[:characters]


def answer(markdown: str, **more: Any) -> Reply:
    return Reply(text="An answer", markdown=markdown, **more)
