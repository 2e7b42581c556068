"""How the sample's agents talk: no model behind them, but each keeps to what was said in its session."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

_NAME: Final = re.compile(r"(?:my name is|i am called|call me)\s+([^\s.,!?]+)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_ASKS_NAME: Final = re.compile(r"(?:what|who).*\b(?:my name|am i)\b", re.IGNORECASE)
_ASKS_NUMBER: Final = re.compile(r"\b(?:what|which).*\bnumbers?\b|\bsum\b|\btotal\b", re.IGNORECASE)


@dataclass
class Talk:
    """One session: what was said (by the user only), and what the agent has kept of it."""

    id: int
    agent: int
    said: list[str] = field(default_factory=list)
    name: str = ""
    numbers: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Reply:
    """What an agent answers; *status* other than 200 is a failure with *message* as its words."""

    message: str
    tools_used: list[Any] | None = None
    status: int = 200


def remember(talk: Talk, message: str) -> Reply:
    """Keep names and numbers, and give them back when asked."""
    if _ASKS_NAME.search(message):
        return Reply(f"Your name is {talk.name}." if talk.name else "You have not told me your name yet.")
    if _ASKS_NUMBER.search(message):
        return Reply(_numbers(talk))
    if found := _NAME.search(message):
        talk.name = found[1]
        return Reply(f"Nice to meet you, {talk.name}.")
    if numbers := _NUMBER.findall(message):
        talk.numbers += numbers
        return Reply(f"I will remember {', '.join(numbers)}.")
    return Reply(f"That was message {len(talk.said)} of our talk. You said: {message}")


def _numbers(talk: Talk) -> str:
    if not talk.numbers:
        return "You have not told me a number yet."
    total = sum(float(one) for one in talk.numbers)
    return f"You told me {', '.join(talk.numbers)}; together that is {total:g}."


def write(talk: Talk, message: str) -> Reply:
    """Show all that Markdown can do."""
    title = message.splitlines()[0][:60]
    return Reply(
        f"# About “{title}”\n\n"
        "Here is **what matters**, _in short_, with ~~nothing~~ little left out:\n\n"
        "1. First the facts\n2. Then the [manual](https://example.com/manual)\n   - and its details\n\n"
        "| Item | Count | Note |\n| --- | ---: | --- |\n"
        f"| Words | {len(message.split())} | in your message |\n| Messages | {len(talk.said)} | in this talk |\n\n"
        '```python\ndef answer() -> str:\n    return "42"\n```\n\n'
        "> A quotation, with `code` in it.\n\n- [x] written\n- [ ] read"
    )


def think(talk: Talk, message: str) -> Reply:
    """Answer as one who took time."""
    return Reply(f"I have thought about “{message}” for a while. It is your message number {len(talk.said)}.")


def look_up(_talk: Talk, message: str) -> Reply:
    """Answer with the tools that were used."""
    tools: list[Any] = ["search_docs"]
    if re.search(r"\b(?:time|when|now)\b", message, re.IGNORECASE):
        tools.append("current_time")
    return Reply(f"I looked it up: there are three pages about “{message}”.", tools_used=tools)


def grumble(_talk: Talk, message: str) -> Reply:
    """Fail when asked to: ``fail``, or ``fail 503`` for a certain status."""
    if asked := re.search(r"\bfail(?:\s+([45]\d\d))?\b", message, re.IGNORECASE):
        return Reply("The agent failed, as it was asked to.", status=int(asked[1] or 500))
    return Reply("I could fail, if you asked me to.")


def scripted(text: str) -> Callable[[Talk, str], Reply]:
    """An agent that always says *text*; ``{message}`` and ``{count}`` in it stand for what was said, and how often."""

    def reply(talk: Talk, message: str) -> Reply:
        return Reply(text.replace("{message}", message).replace("{count}", str(len(talk.said))))

    return reply
