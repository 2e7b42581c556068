"""The ``rich_text`` block that Slack makes of a person's text, and of a bot's text without blocks."""

from __future__ import annotations

import re
from itertools import groupby

from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.escapes import unescaped

_FENCE = re.compile(r"```\n?(.*?)\n?```", re.DOTALL)
_STYLED = re.compile(r"(?<![\w])(?P<mark>[*_~`])(?P<inside>(?!\s)(?:(?!(?P=mark))[^\n])++(?<!\s))(?P=mark)(?!\w)")
_STYLES = {"*": "bold", "_": "italic", "~": "strike", "`": "code"}
_EMOJI = re.compile(r"(:[a-z0-9_+'-]+:)")
_QUOTE = "&gt;"
_TOKEN = re.compile(r"<(?P<mark>[@#!]?)(?P<body>[^<>|]+)(?:\|(?P<label>[^<>]*))?>")


def rich_text(text: str, *, block_id: str) -> list[Json]:
    """The blocks of a person's message with this *text*."""
    section = {"type": "rich_text_section", "elements": _elements(text)}
    return [{"type": "rich_text", "block_id": block_id, "elements": [section]}]


def from_mrkdwn(text: str, *, block_id: str) -> list[Json]:
    """The blocks of a bot's message with only *text*: its styles, quotations and code are parsed."""
    parts = _FENCE.split(text)  # every second part is fenced code
    elements: list[Json] = []
    for at, part in enumerate(parts):
        if at % 2:
            elements.append({"type": "rich_text_preformatted", "elements": _plain(part), "border": 0})
        else:
            elements += _paragraphs(part)
    return [{"type": "rich_text", "block_id": block_id, "elements": elements}]


def _paragraphs(text: str) -> list[Json]:
    """Alternating sections and quotations."""
    found: list[Json] = []
    for is_quoted, lines in groupby(text.split("\n"), lambda line: line.startswith(_QUOTE)):
        said = "\n".join(line.removeprefix(_QUOTE).lstrip() if is_quoted else line for line in lines)
        if said:
            kind = "rich_text_quote" if is_quoted else "rich_text_section"
            found.append({"type": kind, "elements": _styled(said, {})})
    return found


def _styled(text: str, style: dict[str, bool]) -> list[Json]:
    found: list[Json] = []
    end = 0
    for mark in _STYLED.finditer(text):
        found += _in_style(text[end : mark.start()], style)
        inner = style | {_STYLES[mark["mark"]]: True}
        found += _in_style(mark["inside"], inner) if mark["mark"] == "`" else _styled(mark["inside"], inner)
        end = mark.end()
    return found + _in_style(text[end:], style)


def _in_style(text: str, style: dict[str, bool]) -> list[Json]:
    found: list[Json] = []
    for element in _elements(text):
        found += _with_emoji(element["text"]) if element["type"] == "text" and "code" not in style else [element]
    return [{**element, "style": dict(style)} if style else element for element in found]


def _with_emoji(text: str) -> list[Json]:
    parts = _EMOJI.split(text)
    return [
        {"type": "emoji", "name": part[1:-1]} if at % 2 else {"type": "text", "text": part}
        for at, part in enumerate(parts)
        if part
    ]


def _elements(text: str) -> list[Json]:
    found: list[Json] = []
    end = 0
    for token in _TOKEN.finditer(text):
        found += _plain(text[end : token.start()])
        found.append(_special(token["mark"], token["body"], token["label"]))
        end = token.end()
    return found + _plain(text[end:])


def _plain(text: str) -> list[Json]:
    return [{"type": "text", "text": unescaped(text)}] if text else []


def _special(mark: str, body: str, label: str | None) -> Json:
    if mark == "@":
        return {"type": "user", "user_id": body}
    if mark == "#":
        return {"type": "channel", "channel_id": body}
    if mark == "!":
        kind, _, group = body.partition("^")
        return {"type": "usergroup", "usergroup_id": group} if group else {"type": "broadcast", "range": kind}
    link: Json = {"type": "link", "url": unescaped(body)}
    return link | {"text": unescaped(label)} if label else link


def names(value: object, user: str) -> bool:
    """Whether rich text mentions *user*, at any depth."""
    if isinstance(value, list):
        return any(names(one, user) for one in value)
    if not isinstance(value, dict):
        return False
    is_it = value.get("type") == "user" and value.get("user_id") == user
    return is_it or names([*value.values()], user)
