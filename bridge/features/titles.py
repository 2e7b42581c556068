"""Titles of conversations and of what's scheduled, without likely secrets."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from bridge.slack.blockkit import kit, markdown

TITLE: Final = 60
_TITLE_WORDS: Final = 9

_SECRET = re.compile(
    r"^(?:xox|xapp|sk-|pk-|gh[oprsu]_|glpat|AKIA|eyJ|Bearer$)|:[^:@]*+@|=|^\d{9,}$|[A-Za-z+/_-]{28,}"
    r"|(?<![\w+/.~-])(?=[\w+/.~-]*?\d)(?=[\w+/.~-]*?[A-Za-z])[\w+/.~-]{16,}+$"
)
_SECRET_NAME = re.compile(
    r"(?i)\b(?:pass(?:word|phrase|wort)?|pwd|token|secret|api-?key|key|pin)[:=]?(?: (?:is|was|ist|:))?$"
)
_JSON_MARKS: Final = str.maketrans(dict.fromkeys('{}[]"'))
_JOINS = frozenset({"is", "was", "ist", ":"})  # between a secret's name and the secret


def title_of(message: str) -> str:
    """Return a title for a conversation: the first words of its first message, without likely secrets."""
    shown: list[str] = []
    for word in kit.one_line(message, 400).split()[:_TITLE_WORDS]:
        is_secret = word not in _JOINS and _SECRET_NAME.search(" ".join(shown[-2:])) is not None
        shown.append("…" if is_secret or _SECRET.search(word) else word)
    return markdown.harmless_title(kit.cut(" ".join(shown), TITLE))


def title_of_input(value: Any) -> str:
    """Return the beginning of a workflow's input, without likely secrets: ``day: monday, to: Zoe``."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False).translate(_JSON_MARKS)
    return title_of(text) if text.strip() else ""
