"""How commands print: columns for people, in which nothing from outside can move the cursor; JSON for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any


def printable(words: str) -> str:
    """*words* without what could move the cursor or ring the bell: they may come from outside."""
    return "".join(character if character.isprintable() else "?" for character in words)


def columns(form: str, *words: str) -> str:
    """Write one line of a table whose columns *form* sets."""
    return form.format(*map(printable, words)).rstrip()


def to_json(value: object, indent: int | None = None) -> str:
    """Write *value* in ASCII; moments are in ISO 8601, dataclasses are objects."""

    def plain(other: Any) -> Any:
        return other.isoformat() if isinstance(other, datetime) else asdict(other)

    return json.dumps(value, indent=indent, default=plain)
