"""What is typed behind a workflow's name."""

from __future__ import annotations

from typing import Any

from bridge.errors import BadInput
from bridge.slack.blockkit.json_text import typed_json

_QUOTES = ('"', "“", "”", "„", "‟")
_BEGINS_JSON = ("{", "[", *_QUOTES)


def typed_input(text: str) -> Any:
    """Read a JSON object, array or double-quoted string as that value; anything else is the string as it was typed.

    So ``3``, ``true`` and what only begins with a quotation stay text: nobody is made to quote a sentence. What begins
    as an object or array and is none raises `BadInput`: it is more likely a slip than text.
    """
    if not text.startswith(_BEGINS_JSON):
        return text
    try:
        return typed_json(text)
    except BadInput:
        if text.startswith(_QUOTES):
            return text
        raise
