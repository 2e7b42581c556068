"""When something is due by the wall clock of a time zone. Pure functions.

A schedule is one or more cron expressions; each of their times is a
**slot**. When clocks change, it's as in Debian's cron: an expression with a wildcard or a step in its minutes or hours
goes on in elapsed time, in the hour that comes twice as in any other; the times of any other happen once. One that the
clock skips is due in the first minute after the gap (and merges with another slot of that minute); one that occurs
twice is due the first time. So each slot has a unique moment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from bridge.errors import BadSchedule
from bridge.features.standing.phrases import describe, normalized
from bridge.names.folding import fold

_SECOND, _MINUTE, _A_DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)
_CRON_FIELDS: Final = 5
_LONGEST_CRON: Final = 100  # characters; enough for any real expression


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule in *words* (``every Monday at 09:00``), and as cron expressions."""

    words: str
    crons: tuple[str, ...]


def next_due(schedule: Schedule, zone: ZoneInfo, after: datetime) -> datetime:
    """Return the first moment later than *after* at which a task is due, in UTC."""
    return min(_next_slot(cron, zone, after.astimezone(UTC)) for cron in schedule.crons)


def last_due(schedule: Schedule, zone: ZoneInfo, first: datetime, until: datetime) -> datetime:
    """Return the last slot up to *until*, *first* or a later one, in few steps however many are in between."""
    back, due = _MINUTE, first
    while until - back > first:
        found = next_due(schedule, zone, until - back)
        if found <= until:
            due = found
            break
        back *= 2
    while (following := next_due(schedule, zone, due)) <= until:
        due = following
    return due


def is_too_late(schedule: Schedule, zone: ZoneInfo, slot: datetime, at: datetime) -> bool:
    """Whether *at* is past the middle between *slot* and the next one."""
    return (at - slot) * 2 >= next_due(schedule, zone, slot) - slot


def _next_slot(cron: str, zone: ZoneInfo, after: datetime) -> datetime:
    """Return the first slot of an expression later than *after*, both in UTC."""
    if not set("*/") & set("".join(cron.split()[:2])):
        slots = (slot.astimezone(UTC) for slot in CronSim(cron, after.astimezone(zone)))
        return next(slot for slot in slots if slot > after)
    # CronSim with a zone misses slots after a change by half an hour, so it gets the wall clock between two changes.
    while True:
        begin = after + _SECOND
        offset = _offset(zone, begin)
        slot = next(CronSim(cron, after.replace(tzinfo=None) + offset)).replace(tzinfo=UTC) - offset
        change = _change(zone, begin, slot)
        if change is None:
            return slot
        after = change - _SECOND


def _change(zone: ZoneInfo, begin: datetime, end: datetime) -> datetime | None:
    """Return when the clock changes first after *begin*, and not after *end*; None if it doesn't."""
    offset = _offset(zone, begin)
    while begin < end:
        later = min(begin + _A_DAY, end)
        if _offset(zone, later) != offset:
            while later - begin > _SECOND:
                middle = begin + (later - begin) // 2
                begin, later = (middle, later) if _offset(zone, middle) == offset else (begin, middle)
            return later.replace(microsecond=0)
        begin = later
    return None


def _offset(zone: ZoneInfo, moment: datetime) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta(0)


def read_cron(typed: str) -> str:
    """Return a cron expression with single spaces: five fields, without seconds, that match some day.

    Raises `BadSchedule`, which suggests what an expression with other dashes or digits means, or with Sunday at a
    range's end.
    """
    expression = " ".join(typed.split())
    if not _is_cron(expression):
        others, _, weekday = re.sub("-+", "-", fold(expression).text.upper()).rpartition(" ")
        near = f"{others} {re.sub('-SUN(?![A-Z])', '-7', weekday)}"
        raise BadSchedule("cron", expression, [describe(normalized(near))] if _is_cron(near) else [])
    return expression


def _is_cron(expression: str) -> bool:
    try:
        is_short = len(expression.split()) == _CRON_FIELDS and len(expression) <= _LONGEST_CRON
        return is_short and next(CronSim(expression, datetime(2000, 1, 1)), None) is not None  # noqa: DTZ001 - no zone
    except CronSimError:
        return False
