"""The ``rich_text`` block that Slack itself makes of what a person types."""

from __future__ import annotations

import html
import re

from bridge.playground.slack.entities import Json

_TOKEN = re.compile(r"<(?P<mark>[@#!]?)(?P<body>[^<>|]+)(?:\|(?P<label>[^<>]*))?>")


def rich_text(text: str, *, block_id: str) -> list[Json]:
    """The blocks of a message whose ``text`` is *text*."""
    section = {"type": "rich_text_section", "elements": _elements(text)}
    return [{"type": "rich_text", "block_id": block_id, "elements": [section]}]


def _elements(text: str) -> list[Json]:
    found: list[Json] = []
    end = 0
    for token in _TOKEN.finditer(text):
        found += _plain(text[end : token.start()])
        found.append(_special(token["mark"], token["body"], token["label"]))
        end = token.end()
    return found + _plain(text[end:])


def _plain(text: str) -> list[Json]:
    return [{"type": "text", "text": html.unescape(text)}] if text else []


def _special(mark: str, body: str, label: str | None) -> Json:
    if mark == "@":
        return {"type": "user", "user_id": body}
    if mark == "#":
        return {"type": "channel", "channel_id": body}
    if mark == "!":
        kind, _, group = body.partition("^")
        return {"type": "usergroup", "usergroup_id": group} if group else {"type": "broadcast", "range": kind}
    link: Json = {"type": "link", "url": html.unescape(body)}
    return link | {"text": html.unescape(label)} if label else link
