"""Read JSON from outside: what Slack, the project service and people send.

Python's parser accepts nesting up to its recursion limit, where its writer already fails, so a value could be
read that can't be stored or sent. One limit far below that holds for all.
"""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

Json = dict[str, Any]
"""A JSON object."""

DEEPEST: Final = 100
"""How many arrays and objects may contain each other."""


class TooDeep(ValueError):
    """The JSON is nested more than `DEEPEST` levels deep."""


def read_json(text: str | bytes) -> Any:
    """Read standard JSON. Raises ValueError for anything else, `TooDeep` among them."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise TooDeep from None
    if is_too_deep(value, text):
        raise TooDeep
    return value


def is_too_deep(value: Any, text: str | bytes) -> bool:
    """Whether *value*, read from *text*, is nested too deeply; it's only searched if it could be."""
    brackets = text.count(b"[") + text.count(b"{") if isinstance(text, bytes) else text.count("[") + text.count("{")
    if brackets <= DEEPEST:
        return False
    level = [value]
    for _ in range(DEEPEST):
        inside = (part.values() if isinstance(part, dict) else part for part in level)
        level = [inner for inner_values in inside for inner in inner_values if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
