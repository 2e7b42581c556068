"""The sample agents' replies: no model, but each remembers its session."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

_ASKS_ABILITIES: Final = re.compile(r"what (?:can|do) you do|who are you", re.IGNORECASE)
_NAME: Final = re.compile(r"(?:my name is|i am called|i'm called|call me)\s+([^\s.,!?]+)", re.IGNORECASE)
_FACT: Final = re.compile(r"\bmy\s++([\w' -]{2,40}?(?<! ))\s++(?:is|are)\s++(?:called\s++)?([^.!?\n]+)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_NOT_SAID: Final = re.compile(
    r"^(?:.*:\n)?(?:>.*(?:\n>.*)*|(?P<fence>```+)\n(?s:.*?)\n(?P=fence)$)|^\[.*\]$", re.MULTILINE
)
"""What is quoted or fenced, with the line that introduces it, and notes in brackets: files, forwarded messages."""
_FILE: Final = re.compile(
    r"^(?>.*“(?P<name>[^“”\n]+)”).*:\n(?P<fence>```+)\n(?P<text>(?s:.*?))\n(?P=fence)$"
    r"|^(?>.*“(?P<clip>[^“”\n]+)”).*, as Slack transcribed it:\n(?P<words>>.*(?:\n>.*)*)",
    re.MULTILINE,
)
"""A file's text, or a clip's transcript, below a line that names it."""
_LONGEST_LINE: Final = 80
_ASKS_NAME: Final = re.compile(r"wh(?:at|o)(?:(?!wh(?:at|o)).)*?\b(?:my name|am i)\b", re.IGNORECASE)
_ASKS_FACT: Final = re.compile(
    r"\bwh(?:at|o|ich|ere)\b(?:(?!\bwh(?:at|o|ich|ere)\b).)*?\bmy\s++([\w' -]{2,40}?(?<! ))\s*+\??$", re.IGNORECASE
)
_ASKS_NUMBER: Final = re.compile(
    r"\bwh(?:at|ich)(?:(?!\bwh(?:at|ich)).)*?\bnumbers?\b|\bsum\b|\btotal\b", re.IGNORECASE
)
_ASKS_ALL: Final = re.compile(r"what do you (?:know|remember)|what have i told you|everything you know", re.IGNORECASE)
_FORGET: Final = re.compile(r"\bforget\b", re.IGNORECASE)


@dataclass
class Talk:
    """One session: the user's messages, and what the agent remembers."""

    id: int
    agent: int
    messages: list[str] = field(default_factory=list)
    name: str = ""
    numbers: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)  # "favorite color": "blue"


@dataclass(frozen=True)
class AgentReply:
    """An agent's reply; with a *status* other than 200, *message* is the error."""

    message: str
    tools_used: list[Any] | None = None
    status: int = 200


def reading(reply: Callable[[Talk, str], AgentReply]) -> Callable[[Talk, str], AgentReply]:
    """An agent that says what it read in a message's files, below its *reply* to the rest of it."""

    def read(talk: Talk, message: str) -> AgentReply:
        answer = reply(talk, message)
        files = [_read_aloud(match) for match in _FILE.finditer(message)]
        if not files:
            return answer
        rest = [answer.message] if _without_files(message) else []
        return replace(answer, message="\n\n".join([*rest, *files]))

    return read


def _read_aloud(file: re.Match[str]) -> str:
    name, text = file["name"] or file["clip"], file["text"] or (file["words"] or "").replace("> ", "")
    first, *more = text.strip().split("\n")
    begins = f"“{first[:_LONGEST_LINE]}{'…' * (len(first) > _LONGEST_LINE)}”"
    return f"I read {name}, {1 + len(more):,} lines that begin with {begins}." if more else f"I read {name}: {begins}"


def _without_files(message: str) -> str:
    return _FILE.sub("", message).strip()


def remember(talk: Talk, message: str) -> AgentReply:
    """Remember names, numbers and facts, and answer questions about them."""
    return AgentReply(_recalled(talk, message) or _learned(talk, message) or _small_talk(talk, message))


def _recalled(talk: Talk, message: str) -> str:
    """The answer to a question about earlier messages, else empty."""
    if _ASKS_ABILITIES.search(message):
        return (
            "I remember what you tell me in this conversation. Try *my name is Ada*, *remember 40 and 2* or "
            "*my favorite color is blue*, and ask me for it later: *what is my name?*, *what do you know about me?*"
        )
    if _ASKS_ALL.search(message):
        return _everything(talk)
    if _ASKS_NAME.search(message):
        return f"Your name is {talk.name}." if talk.name else "You haven't told me your name yet."
    if _ASKS_NUMBER.search(message):
        return _numbers(talk)
    if asked := _ASKS_FACT.search(message):
        known = talk.facts.get(asked[1].lower())
        return f"Your {asked[1]} is {known}." if known else f"You haven't told me about your {asked[1]} yet."
    return ""


def _learned(talk: Talk, message: str) -> str:
    """Remember what the message says; the reply to it, or empty."""
    if _FORGET.search(message):
        talk.name, talk.numbers, talk.facts = "", [], {}
        return "Forgotten. What's your name?"
    if match := _NAME.search(message):
        talk.name = match[1]
        return f"Nice to meet you, {talk.name}."
    if match := _FACT.search(message):
        talk.facts[match[1].lower()] = match[2].strip()
        return f"I'll remember that your {match[1]} is {match[2].strip()}."
    if numbers := _NUMBER.findall(_NOT_SAID.sub("", message)):
        talk.numbers += numbers
        return f"I'll remember {', '.join(numbers)}."
    return ""


def _small_talk(talk: Talk, message: str) -> str:
    name = f", {talk.name}" if talk.name else ""
    return f"That was message {len(talk.messages)} of our conversation{name}. You said: {_without_files(message)}"


def _numbers(talk: Talk) -> str:
    if not talk.numbers:
        return "You haven't told me a number yet."
    total = sum(float(number) for number in talk.numbers)
    return f"You told me {', '.join(talk.numbers)}; together that is {total:g}."


def _everything(talk: Talk) -> str:
    known = [f"your name is {talk.name}"] if talk.name else []
    known += [f"your {what} is {value}" for what, value in talk.facts.items()]
    known += [f"you told me {', '.join(talk.numbers)}"] if talk.numbers else []
    if not known:
        return "Nothing yet: tell me your name, a number, or what your favorite color is."
    return "I know that\n\n" + "\n".join(f"- {fact}" for fact in known)


def think(talk: Talk, message: str) -> AgentReply:
    """Answer slowly, with a reference to the first message."""
    if len(talk.messages) == 1:
        return AgentReply(f"I've thought about “{message}” for a while. Ask me more: I remember what we discussed.")
    return AgentReply(
        f"I've thought about “{message}” for a while. This is your message number {len(talk.messages)}; "
        f"we started with “{talk.messages[0]}”."
    )


def grumble(_talk: Talk, message: str) -> AgentReply:
    """Fail on request: ``fail``, or ``fail 503`` for a status."""
    if asked := re.search(r"\bfail(?:\s+([45]\d\d))?\b", message, re.IGNORECASE):
        return AgentReply("The agent failed, as requested.", status=int(asked[1] or 500))
    return AgentReply("Ask me to *fail* or *fail 503*, and I will. Otherwise, leave me alone.")


def scripted(text: str) -> Callable[[Talk, str], AgentReply]:
    """An agent that always says *text*, with ``{message}`` and ``{count}`` filled in."""

    def reply(talk: Talk, message: str) -> AgentReply:
        return AgentReply(text.replace("{message}", message).replace("{count}", str(len(talk.messages))))

    return reply
