"""``{{date}}`` and ``{{stats}}`` in a scheduled question or input: checked first, filled in at each slot."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from bridge.errors import BadSchedule
from bridge.features.statistics.numbers import NUMBERS
from bridge.names.nearness import nearest

DATE: Final = "date"
STATS: Final = "stats"
NAMES: Final = (DATE, STATS, *(f"{STATS}.{one.name}{part}" for one in NUMBERS for part in ("", ".change")))
"""What may be between the braces."""

HINT: Final = "{{date}}, {{stats}}, {{stats.runs}} and {{stats.runs.change}} are filled in each time."
"""How forms name them; prompts and versions work like runs."""

UNKNOWN: Final = "unknown"
"""What a number that isn't known becomes."""

_PLACEHOLDER: Final = re.compile(r"\{\{\s*([a-z][a-z0-9_.]*)\s*\}\}", re.IGNORECASE | re.ASCII)


def check_placeholders(value: Any) -> None:
    """Check the names in a text, or in the texts of a JSON *value*. Raises `BadSchedule`."""
    for name in _names_in(value):
        if name not in NAMES:
            near = nearest(name, NAMES)
            raise BadSchedule("placeholder", f"{{{{{name}}}}}", [f"{{{{{one}}}}}" for one in near])


def needs_statistics(value: Any) -> bool:
    """Whether the statistics must be read to fill in *value*."""
    return any(name != DATE for name in _names_in(value))


def filled(value: Any, known: Mapping[str, str]) -> Any:
    """Return *value* with all placeholders replaced, in each of its texts; `UNKNOWN` for those that aren't *known*."""
    return _each_text(value, lambda text: _PLACEHOLDER.sub(lambda found: known.get(found[1].casefold(), UNKNOWN), text))


def _names_in(value: Any) -> list[str]:
    names: list[str] = []

    def look(text: str) -> str:
        names.extend(found[1].casefold() for found in _PLACEHOLDER.finditer(text))
        return text

    _each_text(value, look)
    return names


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            return {name: _each_text(one, change) for name, one in value.items()}
        case list():
            return [_each_text(one, change) for one in value]
        case _:
            return value
