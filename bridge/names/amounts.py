"""Numbers, durations and times of day as people type them, in folded text. Pure functions.

`NUMBER`, `UNIT` and `DURATION` are regular expressions without groups, for the patterns of a language.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

NUMBER_WORDS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"
)  # fmt: skip
_UNITS: Final = {
    timedelta(weeks=1): ("w", "week", "weeks"),
    timedelta(days=1): ("d", "day", "days"),
    timedelta(hours=1): ("h", "hr", "hrs", "hour", "hours"),
    timedelta(minutes=1): ("m", "min", "mins", "minute", "minutes"),
    timedelta(seconds=1): ("s", "sec", "secs", "second", "seconds"),
}
_UNIT_OF: Final = {word: unit for unit, words in _UNITS.items() for word in words}
_LONGEST: Final = 1e10  # seconds; a longer duration counts as that long

NUMBER_WORD: Final = rf"(?:{'|'.join(NUMBER_WORDS)})\b"
_DIGITS: Final = r"(?:\d{1,3}(?:[,'\s]\d{3}){1,4}|\d{1,15})(?:\.\d{1,6}|,\d{1,2})?(?![.,']?\d)(?:k\b)?"
NUMBER: Final = rf"(?:{_DIGITS}|{NUMBER_WORD})"
"""Such as ``5,000``, ``5 000``, ``1.5``, ``5k`` or ``three``."""

UNIT: Final = rf"(?:{'|'.join(sorted(_UNIT_OF, key=len, reverse=True))})(?![a-z])"
DURATION: Final = rf"{NUMBER}\s*{UNIT}(?:(?<=h)\d{{1,2}}\b|\s*\d{{1,6}}\s*{UNIT})?"
"""Such as ``24h``, ``1.5 hours``, ``1m 30s`` or ``1h30``."""

_PART: Final = re.compile(rf"({NUMBER})\s*({UNIT})?")
_DURATION: Final = re.compile(DURATION)

_TIME: Final = re.compile(r"(\d{1,2})(?:[:.h](\d{2}))?(h|[ap]\.?m)?|(\d{2})(\d{2})", re.IGNORECASE | re.ASCII)
NAMED_TIMES: Final = {"noon": (12, 0), "midday": (12, 0), "midnight": (0, 0)}
NOON: Final = 12


def read_number(text: str) -> float:
    """Parse a `NUMBER`."""
    if text in NUMBER_WORDS:
        return NUMBER_WORDS.index(text)
    plain = re.sub(r"[,'\s](?=\d{3})", "", text)
    return float(plain.removesuffix("k").replace(",", ".")) * (1000 if plain.endswith("k") else 1)


def read_duration(text: str) -> timedelta | None:
    """Parse a duration, also ``a day``, ``hour`` or ``0s``; None for anything else."""
    if unit := _UNIT_OF.get(re.sub(r"^an?\s+", "", text)):
        return unit
    if not _DURATION.fullmatch(text):
        return None
    parts = [(read_number(part[1]), _UNIT_OF[part[2] or "m"]) for part in _PART.finditer(text)]  # 1h30
    is_falling = len(parts) == 1 or parts[0][1] > parts[1][1]
    seconds = sum(value * unit.total_seconds() for value, unit in parts)
    return timedelta(seconds=min(seconds, _LONGEST)) if is_falling else None


def read_time(text: str) -> tuple[int, int] | None:
    """Parse a time of day: ``9``, ``9:30``, ``8.30``, ``0930``, ``5pm`` or ``noon``; None for anything else."""
    if text in NAMED_TIMES:
        return NAMED_TIMES[text]
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour, minute, half = int(match[1] or match[4]), int(match[2] or match[5] or 0), (match[3] or "h").casefold()
    if half != "h":
        if not 1 <= hour <= NOON:
            return None
        hour = hour % NOON + (NOON if half.startswith("p") else 0)
    return (hour, minute) if hour <= 23 and minute <= 59 else None  # noqa: PLR2004 - a day's hours, an hour's minutes


def in_units(span: timedelta) -> str:
    """Write a duration as it's typed: ``24h``, ``7d``, ``90s``."""
    for unit, (name, *_words) in _UNITS.items():
        longer = timedelta(days=2) if unit == timedelta(days=1) else unit  # 24h stays
        if span >= longer and span % unit == timedelta(0) and unit != timedelta(weeks=1):
            return f"{span // unit}{name}"
    return f"{as_typed(span.total_seconds())}s"


def as_typed(value: float) -> str:
    """Write a number as it's typed, without separators and useless digits."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
