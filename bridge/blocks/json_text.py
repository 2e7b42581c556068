"""JSON as people type it and as they read it."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from bridge import words
from bridge.errors import BadInput

_AROUND = 40  # characters that are shown before and after a place
_TYPOGRAPHIC = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"') | {"\u00a0": " "})


def typed_json(text: str) -> Any:
    """Read JSON that a person typed; typographic quotes stand for straight ones where that makes it JSON.

    Raises `BadInput`, also for what only Python takes for JSON (``NaN``) and for what could not be sent on.
    """
    try:
        return _strict(text)
    except BadInput:
        return _strict(text.translate(_TYPOGRAPHIC))


def pretty(value: Any) -> str:
    """Write JSON for people: indented, with letters as they are."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):  # nested deeper than Python goes
        return words.NESTED_TOO_DEEPLY.format(kind=type(value).__name__)


def compact(value: Any) -> str:
    """Write JSON in as few characters as possible."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def pointed_at(text: str, line: int, column: int) -> str:
    """Show the part of *text* around a place in it, with a mark below the place."""
    lines = text.split("\n")
    shown = lines[line - 1] if line <= len(lines) else ""
    begin = max(0, column - 1 - _AROUND)
    part = "".join(one if one.isprintable() else " " for one in shown[begin : column - 1 + _AROUND])
    before = "…" if begin else ""
    after = "…" if column - 1 + _AROUND < len(shown) else ""
    return f"{before}{part}{after}\n{' ' * (len(before) + column - 1 - begin)}^"


def _strict(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except json.JSONDecodeError as exc:
        raise BadInput(_problem(exc.msg), exc.lineno, exc.colno) from exc
    except UnicodeEncodeError as exc:
        raise BadInput(words.HALF_A_CHARACTER, 1, 1) from exc
    except (ValueError, RecursionError) as exc:
        raise BadInput(words.CANNOT_BE_SENT, 1, 1) from exc
    return value


def _problem(message: str) -> str:
    """Say in plain words what Python's reader complains about, whose own words are the same since 3.5."""
    return next(
        (said for begins, said in words.JSON_PROBLEMS.items() if message.startswith(begins)), words.JSON_PROBLEM
    )


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
