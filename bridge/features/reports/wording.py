"""What a person writes to have a report: ``weekly mon 09:00 Europe/Berlin #sales --compare 7d --only runs,tags``.

First how often, then the options in any order. What is not understood is named (`bridge.errors.BadSchedule`), so that
a form can show it under the right field.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import Final, NamedTuple
from zoneinfo import available_timezones

from bridge import words
from bridge.errors import BadSchedule
from bridge.features.reports.schedule import Schedule, is_cron
from bridge.features.stats.numbers import PARTS

DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
LAST: Final = "last"

_OPTION = re.compile(r"(?:--|—|–)(\w+)(?:=|\s+)?(\S*)")  # noqa: RUF001 - the dashes that phones make of two hyphens
_OPTION_BEGINS = ("--", "—", "–")  # noqa: RUF001
_QUOTED = re.compile(r"[\"“”„‟'‘’]([^\"“”„‟'‘’]*)[\"“”„‟'‘’]\s*")  # noqa: RUF001 - as phones write them
_TIME = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?\s*(am|pm)?", re.IGNORECASE)
_SPAN = re.compile(r"(\d{1,4})([hdw])", re.IGNORECASE)
_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_LONGEST_SPAN: Final = timedelta(days=400)  # for which snapshots are kept
_NOON: Final = 12
_ALWAYS: Final = 28  # a day that every month has
_CRON_FIELDS: Final = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """A report as it was asked for. Of *zone*, *channel* (``#name`` or an id) and *compare* ``""`` stands for none."""

    schedule: Schedule
    zone: str = ""
    channel: str = ""
    compare: str = ""
    only: tuple[str, ...] = ()


class _Clock(NamedTuple):
    """A time of day."""

    hour: int
    minute: int

    def __str__(self) -> str:
        return f"{self.hour:02}:{self.minute:02}"

    @property
    def cron(self) -> str:
        return f"{self.minute} {self.hour}"


class _Read(NamedTuple):
    """What was read from the front of the words, and the *rest* of them."""

    schedule: Schedule
    rest: str


def read_wanted(typed: str) -> Wanted:
    """Read what a person wrote. Raises `BadSchedule`."""
    kind, _, rest = typed.strip().partition(" ")
    reader = _READERS.get(kind.casefold())
    if reader is None:
        raise BadSchedule("often", kind)
    schedule, rest = reader(rest.strip())
    return _with_options(Wanted(schedule), rest)


def zone_called(name: str) -> str:
    """Find a time zone, in whatever case it is written. Raises `BadSchedule`."""
    if found := _zones().get(name.casefold()):
        return found
    raise BadSchedule("zone", name)


def span_of(typed: str) -> timedelta:
    """Read ``24h``, ``7d`` or ``2w``. Raises `BadSchedule`."""
    found = _SPAN.fullmatch(typed)
    span = int(found[1]) * _UNITS[found[2].casefold()] if found else timedelta(0)
    if not timedelta(0) < span <= _LONGEST_SPAN:
        raise BadSchedule("compare", typed)
    return span


def only_of(typed: str) -> tuple[str, ...]:
    """Read ``runs,tags``. Raises `BadSchedule`."""
    wanted = [word for word in re.split(r"[,;\s]+", typed.casefold()) if word]
    for word in wanted:
        if word not in PARTS:
            raise BadSchedule("only", word)
    if not wanted:
        raise BadSchedule("only", "")
    return tuple(part for part in PARTS if part in wanted)


def _daily(rest: str) -> _Read:
    clock, rest = _clock(rest)
    return _Read(Schedule(words.REPORT_DAILY.format(time=clock), (f"{clock.cron} * * *",)), rest)


def _weekdays(rest: str) -> _Read:
    clock, rest = _clock(rest)
    return _Read(Schedule(words.REPORT_WEEKDAYS.format(time=clock), (f"{clock.cron} * * 1-5",)), rest)


def _weekly(rest: str) -> _Read:
    word, rest = _word(rest)
    day = word.casefold()[:3]
    if day not in DAYS or not _is_day_name(word):
        raise BadSchedule("weekday", word)
    clock, rest = _clock(rest)
    return _Read(
        Schedule(words.REPORT_WEEKLY.format(day=day, time=clock), (f"{clock.cron} * * {DAYS.index(day)}",)), rest
    )


def _monthly(rest: str) -> _Read:
    """Read a day of the month; a month that does not have it takes its last one."""
    word, rest = _word(rest)
    day = word.casefold()
    is_day = day.isascii() and day.isdecimal() and 1 <= int(day[:3]) <= 31  # noqa: PLR2004 - the days of a month
    if day != LAST and not is_day:
        raise BadSchedule("monthday", word)
    clock, rest = _clock(rest)
    day = day if day == LAST else str(int(day))
    return _Read(Schedule(words.REPORT_MONTHLY.format(day=day, time=clock), _crons_of(day, clock)), rest)


def _crons_of(day: str, clock: _Clock) -> tuple[str, ...]:
    if day in {LAST, "31"}:
        return (f"{clock.cron} L * *",)
    each = f"{clock.cron} {day} * *"
    return (each,) if int(day) <= _ALWAYS else (each, f"{clock.cron} L 2 *")


def _cron(rest: str) -> _Read:
    quoted = _QUOTED.match(rest)
    fields = quoted[1].split() if quoted else rest.split()[:_CRON_FIELDS]
    expression = " ".join(fields)
    if not is_cron(expression):
        raise BadSchedule("cron", expression)
    rest = rest[quoted.end() :] if quoted else " ".join(rest.split()[_CRON_FIELDS:])
    return _Read(Schedule(words.REPORT_CRON.format(expression=expression), (expression,)), rest)


_READERS: Final[dict[str, Callable[[str], _Read]]] = {
    "daily": _daily,
    "weekdays": _weekdays,
    "weekly": _weekly,
    "monthly": _monthly,
    "cron": _cron,
}


def _clock(rest: str) -> tuple[_Clock, str]:
    word, rest = _word(rest)
    if rest[:2].casefold() in {"am", "pm"} and not rest[2:3].strip():  # 9 am
        word, rest = word + rest[:2], rest[2:].strip()
    found = _TIME.fullmatch(word)
    if found is None or not word.isascii() or not (found[2] or found[3]):
        raise BadSchedule("time", word)
    hour, minute, half = int(found[1]), int(found[2] or 0), (found[3] or "").casefold()
    if half and not 1 <= hour <= _NOON:
        raise BadSchedule("time", word)
    hour = hour % _NOON + (_NOON if half == "pm" else 0) if half else hour
    if hour > 23 or minute > 59:  # noqa: PLR2004 - a day's hours and an hour's minutes
        raise BadSchedule("time", word)
    return _Clock(hour, minute), rest


def _is_day_name(word: str) -> bool:
    full = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
    return any(name.startswith(word.casefold()) for name in full)


def _with_options(wanted: Wanted, rest: str) -> Wanted:
    while rest:
        if rest.startswith(_OPTION_BEGINS):
            wanted, rest = _option(wanted, rest)
            continue
        word, rest = _word(rest)
        wanted = replace(wanted, channel=word) if word.startswith("#") else replace(wanted, zone=zone_called(word))
    return wanted


def _option(wanted: Wanted, rest: str) -> tuple[Wanted, str]:
    found = _OPTION.match(rest)
    name = found[1].casefold() if found else ""
    value = found[2] if found else ""
    if name == "compare":
        span_of(value)
        wanted = replace(wanted, compare=value.casefold())
    elif name == "only":
        wanted = replace(wanted, only=only_of(value))
    else:
        raise BadSchedule("option", rest.split(maxsplit=1)[0])
    return wanted, rest[found.end() if found else 0 :].strip()


def _word(text: str) -> tuple[str, str]:
    """Take the first word off."""
    word, _, rest = text.strip().partition(" ")
    return word, rest.strip()


@cache
def _zones() -> dict[str, str]:
    """Every time zone by its folded name; read from the system's tables when the first report is made."""
    return {name.casefold(): name for name in available_timezones()}
