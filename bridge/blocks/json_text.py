"""JSON as people type it and as they read it."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from bridge import words
from bridge.errors import BadInput

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


def _strict(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except json.JSONDecodeError as exc:
        raise BadInput(exc.msg, exc.lineno, exc.colno) from exc
    except UnicodeEncodeError as exc:
        raise BadInput(words.HALF_A_CHARACTER, 1, 1) from exc
    except (ValueError, RecursionError) as exc:
        raise BadInput(words.CANNOT_BE_SENT, 1, 1) from exc
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
