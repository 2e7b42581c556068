"""Converts typed text to Slack's form, and back for editing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from bridge.playground.page.mrkdwn import plain_text
from bridge.playground.page.names import Names

_CODE: Final = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
_WORD: Final = re.compile(
    r"(?P<url>https?://[^\s<>`]*[^\s<>`.,;:!?)'\"*_~])|(?<![\w/])(?P<sigil>[@#])(?P<name>[\w.-]*\w)",
)
_TOKEN: Final = re.compile(r"<(?P<sigil>[@#!]?)(?P<target>[^<>|\n]+)(?:\|(?P<label>[^<>\n]*))?>")
_BROADCASTS: Final = frozenset({"here", "channel", "everyone"})


def as_slack_writes(typed: str, names: Names) -> str:
    """Escape *typed* text and replace known names with IDs, except in code."""
    parts = _CODE.split(escaped(typed))
    # Every second part is code.
    return "".join(part if at % 2 else _with_ids(part, names) for at, part in enumerate(parts))


def as_typed(text: str, names: Names) -> str:
    """A message's *text* as its author typed it."""

    def back(token: re.Match[str]) -> str:
        target, label = token["target"], token["label"]
        match token["sigil"]:
            case "@":
                return "@" + names.people.get(target, label or target)
            case "#":
                return "#" + names.channels.get(target, label or target)
            case "!":
                kind, _, key = target.partition("^")
                return "@" + names.groups.get(key, kind)
            case _:
                return target

    return plain_text(_TOKEN.sub(back, text))


def escaped(text: str) -> str:
    """Escape Slack's three control characters."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _with_ids(text: str, names: Names) -> str:
    people, channels, groups = _ids(names.people), _ids(names.channels), _ids(names.groups)

    def written(word: re.Match[str]) -> str:
        if word["url"]:
            return f"<{word['url']}>"
        name = word["name"].casefold()
        if word["sigil"] == "#":
            return f"<#{channels[name]}>" if name in channels else word[0]
        if name in _BROADCASTS:
            return f"<!{name}>"
        if name in groups:
            return f"<!subteam^{groups[name]}>"
        return f"<@{people[name]}>" if name in people else word[0]

    return _WORD.sub(written, text)


def _ids(names: Mapping[str, str]) -> dict[str, str]:
    return {name.casefold(): key for key, name in names.items()}
