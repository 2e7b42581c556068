"""Writes that belong to a step of a turn: they are made by the very script that writes the step, or not at all.

A closed list, which the scripts' prelude carries out (`apply`); the scripts know no feature. Each write names its key,
and how long that lives from then on (``None``: as long as it would).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta

Write = tuple[str | int, ...]
"""How, key, lifetime in ms (0: unchanged), and what else the write needs."""


def set_value(key: str, value: str, lives: timedelta) -> Write:
    """SET."""
    return ("set", key, _ms(lives), value)


def delete(key: str) -> Write:
    """DEL."""
    return ("delete", key, 0)


def set_field(key: str, field: str, value: str | int, lives: timedelta | None = None) -> Write:
    """HSET."""
    return ("field", key, _ms(lives), field, str(value))


def set_field_if(key: str, field: str, value: str | int, expected: str | int, lives: timedelta) -> Write:
    """HSET, if the field still has the value that was *expected* (``""``: none). A mismatch changes nothing."""
    return ("field if", key, _ms(lives), field, str(value), str(expected))


def raise_field(key: str, field: str, number: str, lives: timedelta) -> Write:
    """HSET, if *number* is greater than what the field has."""
    return ("field max", key, _ms(lives), field, number)


def push(key: str, value: str, keep: int, lives: timedelta) -> Write:
    """LPUSH; the first *keep* stay."""
    return ("push", key, _ms(lives), value, keep)


def rank(key: str, member: str, score: int, keep: int, lives: timedelta) -> Write:
    """ZADD; the *keep* highest stay. Answered with ``1`` where the member is new."""
    return ("rank", key, _ms(lives), member, score, keep)


def append(key: str, fields: dict[str, str], keep: int, lives: timedelta) -> Write:
    """XADD; some *keep* entries stay."""
    flat = [part for field in fields.items() for part in field]
    return ("append", key, _ms(lives), keep, *flat)


def to_json(writes: Iterable[Write]) -> str:
    """The form in which a script takes them; ``""`` for none. Half a character becomes a question mark."""
    listed = list(writes)
    return json.dumps(listed, ensure_ascii=False).encode(errors="replace").decode() if listed else ""


def _ms(lives: timedelta | None) -> int:
    return int(lives.total_seconds() * 1000) if lives else 0
