"""Converts typed text to Slack's form, and back for editing."""

from __future__ import annotations

import re
from typing import Final

from bridge.playground.emulator.escapes import entities, unescaped, with_ids
from bridge.playground.page.names import Names

_CODE: Final = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
_TOKEN: Final = re.compile(r"<(?P<sigil>[@#!]?)(?P<target>[^<>|\n]+)(?:\|(?P<label>[^<>\n]*))?>")


def as_slack_writes(typed: str, names: Names) -> str:
    """Escape *typed* text and replace known names with IDs, except in code."""
    channels = {name.casefold(): f"<#{key}>" for key, name in names.channels.items()}
    people = {name.casefold(): f"<@{key}>" for key, name in names.people.items()}
    groups = {name.casefold(): f"<!subteam^{key}>" for key, name in names.groups.items()}
    parts = _CODE.split(typed)
    # Every second part is code.
    return "".join(
        entities(part) if at % 2 else with_ids(part, channels=channels, people=people | groups)
        for at, part in enumerate(parts)
    )


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

    return unescaped(_TOKEN.sub(back, text))
