"""When a report is due: pure, by the wall clock of a time zone.

A schedule is one or more cron expressions, and each of their times on the wall clock is one **slot**:

* a slot that the clock leaps over in spring is due in the first minute that exists after it (and together with
  another slot of that minute it is one);
* a slot that the clock shows twice in autumn is due the first time.

So the moment at which a slot is due names it: no two slots of a schedule share one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

_MINUTE = timedelta(minutes=1)
_FIELDS = 5
_LONGEST = 100  # characters of an expression, which is room enough for any that somebody means


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a person asked for, in *words* (``weekly mon 09:00``), and the *crons* that it means."""

    words: str
    crons: tuple[str, ...]


def is_cron(expression: str) -> bool:
    """Whether this is a cron expression, and one that comes true one day; there are no seconds in it."""
    if len(expression) > _LONGEST or len(expression.split()) != _FIELDS:
        return False
    try:
        return next(CronSim(expression, datetime(2000, 1, 1)), None) is not None  # noqa: DTZ001 - a wall clock has no zone
    except CronSimError:
        return False


def next_due(schedule: Schedule, zone: ZoneInfo, after: datetime) -> datetime:
    """Find the first moment later than *after* at which a report is due, in UTC."""
    local = after.astimezone(zone).replace(tzinfo=None, fold=0)
    return min(next(due for due in _slots(cron, zone, local) if due > after) for cron in schedule.crons)


def last_due(schedule: Schedule, zone: ZoneInfo, first: datetime, until: datetime) -> datetime:
    """Find the last slot up to *until*; *first* is one. However many lie between, few are looked at."""
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
    """Whether, at that moment, more than half of the time from *slot* to the next one is over."""
    return (at - slot) * 2 >= next_due(schedule, zone, slot) - slot


def _slots(cron: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Go through the slots whose time on the wall clock is later than *after*."""
    for wall in CronSim(cron, after):  # a time without a zone: it counts on a clock that never changes
        yield _on_the_clock(wall, zone)


def _on_the_clock(wall: datetime, zone: ZoneInfo) -> datetime:
    """The first moment at which the clock shows *wall*, or else the first one that it shows after that."""
    while (moment := wall.replace(tzinfo=zone).astimezone(UTC)).astimezone(zone).replace(tzinfo=None, fold=0) != wall:
        wall += _MINUTE
    return moment
