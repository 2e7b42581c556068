"""Reports as they are asked for in words, and when they are due. Pure.

A person writes ``weekly mon 09:00 Europe/Berlin #sales --compare 7d --only runs,tags``: first how often, then the
options in any order. `bridge.errors.BadSchedule` names the part that is not understood, so that a form can show it at
the right field.

A report is due by the wall clock of a time zone. A schedule is one or more cron expressions, and each of their times
on the wall clock is one **slot**:

* a slot that the clock leaps over in spring is due in the first minute that exists after it (and together with
  another slot of that minute it is one);
* a slot that the clock shows twice in autumn is due the first time.

So the moment at which a slot is due names it: no two slots of a schedule share one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cronsim import CronSim, CronSimError
from pydantic import BaseModel, ConfigDict, ValidationError

from bridge.errors import BadSchedule, RecordNotUnderstood
from bridge.features.shared.numbers import PARTS

_MINUTE: Final = timedelta(minutes=1)
_CRON_FIELDS: Final = 5
_LONGEST_CRON: Final = 100  # characters, which is room enough for any expression that somebody means
_LONGEST_SPAN: Final = timedelta(days=400)  # for which snapshots are kept
_NOON: Final = 12
_DAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_WEEKDAYS: Final = {day[:length]: day[:3] for day in _DAYS for length in range(3, len(day) + 1)}
_CRONS: Final = {
    "daily": ("* * *",),
    "weekdays": ("* * 1-5",),
    **{f"weekly {day[:3]}": (f"* * {number}",) for number, day in enumerate(_DAYS)},
    **{f"monthly {day}": (f"{day} * *",) for day in range(1, 29)},
    "monthly 29": ("29 * *", "L 2 *"),  # a month that does not have the day takes its last one
    "monthly 30": ("30 * *", "L 2 *"),
    "monthly 31": ("L * *",),
    "monthly last": ("L * *",),
}
"""How often, in words and as the last three fields of cron expressions."""

_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}

_OPTIONS: Final = ("--compare 7d", "--only runs,tags")
_OPTION = re.compile(r"(?:--|—|–)(\w+)(?:=|\s+)?(\S*)")  # noqa: RUF001 - the dashes that phones make of two hyphens
_OPTION_BEGINS = ("--", "—", "–")  # noqa: RUF001
_QUOTED = re.compile(r"[\"“”„‟'‘’]([^\"“”„‟'‘’]*)[\"“”„‟'‘’]\s*")  # noqa: RUF001 - as phones write them
_TIME = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?\s*(am|pm)?", re.IGNORECASE | re.ASCII)
_SPAN = re.compile(r"(\d{1,4})([hdw])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Schedule:
    """How often, in *words* (``weekly mon 09:00``) and as the *crons* that they mean."""

    words: str
    crons: tuple[str, ...]


class ReportSpec(BaseModel):
    """What a person asked for.

    *compare* is how far back (``7d``), or ``""`` for the last report; *only* names the parts of the statistics to show,
    all if it is empty. As typed, *zone* and *channel* (``#name`` or an id) may be ``""``, and there is no owner.
    """

    model_config = ConfigDict(frozen=True)

    schedule: Schedule
    zone: str = ""
    channel: str = ""
    compare: str = ""
    only: tuple[str, ...] = ()
    team: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report, and its state.

    *due* is its next slot. *paused* is ``""`` for one that isn't, else why: ``asked``, ``no clock``, or Slack's error.
    *skipped* is the first slot that wasn't posted, *last* the last one that was, and *numbers* the snapshot of the
    statistics then (`bridge.features.shared.snapshots`).
    """

    id: str
    spec: ReportSpec
    due: datetime
    paused: str = ""
    skipped: datetime | None = None
    last: datetime | None = None
    numbers: str = ""

    @classmethod
    def from_redis(cls, id_: str, fields: Mapping[str, str]) -> StoredReport:
        """Read the ``report:`` hash. Raises `RecordNotUnderstood`."""
        try:
            return cls(
                id=id_,
                spec=ReportSpec.model_validate_json(fields["body"]),
                due=_moment(fields["due"]),
                paused=fields.get("paused", ""),
                skipped=_moment(fields["skipped"]) if fields.get("skipped") else None,
                last=_moment(fields["last"]) if "last" in fields else None,
                numbers=fields.get("numbers", ""),
            )
        except (KeyError, ValueError, ValidationError) as exc:
            raise RecordNotUnderstood("report") from exc

    @property
    def called(self) -> str:
        """What people call it: ``daily 09:00``."""
        return self.spec.schedule.words

    @property
    def clock(self) -> ZoneInfo:
        """Its time zone. Raises `RecordNotUnderstood` if this machine doesn't know it."""
        try:
            return ZoneInfo(self.spec.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
            raise RecordNotUnderstood("time zone") from exc


def _moment(ms: str) -> datetime:
    return datetime.fromtimestamp(int(float(ms)) / 1000, UTC)


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
    """Go through the slots whose time on the wall clock is later than *after*.

    Each is the first moment at which the clock shows that time, or else the first one that it shows after that.
    """
    for wall in CronSim(cron, after):  # a time without a zone: it counts on a clock that never changes
        while (due := wall.replace(tzinfo=zone).astimezone(UTC)).astimezone(zone).replace(tzinfo=None, fold=0) != wall:
            wall += _MINUTE  # noqa: PLW2901 - that minute is not on this clock
        yield due


def read_report(typed: str) -> ReportSpec:
    """Read what a person wrote. Raises `BadSchedule`."""
    schedule, rest = _schedule(typed)
    zone = channel = compare = ""
    only: tuple[str, ...] = ()
    while rest:
        word, left = _word(rest)
        if rest.startswith(_OPTION_BEGINS):
            found = _OPTION.match(rest)
            name, value = (found[1].casefold(), found[2]) if found else ("", "")
            if name == "compare":
                span_of(value)
                compare = value.casefold()
            elif name == "only":
                only = only_of(value)
            else:
                raise BadSchedule("option", word, _OPTIONS)
            rest = rest[found.end() if found else 0 :].strip()
            continue
        if word.startswith("#"):
            channel = word
        else:
            zone = zone_called(word)
        rest = left
    return ReportSpec(schedule=schedule, zone=zone, channel=channel, compare=compare, only=only)


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
    unknown = [word for word in wanted if word not in PARTS]
    if unknown or not wanted:
        raise BadSchedule("only", "".join(unknown[:1]), PARTS)
    return tuple(part for part in PARTS if part in wanted)


def _schedule(typed: str) -> tuple[Schedule, str]:
    """Read how often, and give the rest of what was typed."""
    word, rest = _word(typed)
    kind, part = word.casefold(), "often"
    if kind == "cron":
        return _cron(rest)
    if kind == "weekly":
        word, rest = _word(rest)
        kind, part = f"weekly {_WEEKDAYS.get(word.casefold(), '')}", "weekday"
    elif kind == "monthly":
        word, rest = _word(rest)
        kind, part = f"monthly {word.casefold().removeprefix('0')}", "monthday"
    if kind not in _CRONS:
        raise BadSchedule(part, word, _OPTIONS)
    hour, minute, rest = _clock(rest)
    return Schedule(f"{kind} {hour:02}:{minute:02}", tuple(f"{minute} {hour} {days}" for days in _CRONS[kind])), rest


def _cron(rest: str) -> tuple[Schedule, str]:
    """Read an expression of five fields that comes true one day; there are no seconds in it."""
    quoted = _QUOTED.match(rest)
    fields = quoted[1].split() if quoted else rest.split()[:_CRON_FIELDS]
    expression = " ".join(fields)
    try:
        is_cron = len(fields) == _CRON_FIELDS and len(expression) <= _LONGEST_CRON
        if not (is_cron and next(CronSim(expression, datetime(2000, 1, 1)), None)):  # noqa: DTZ001 - no zone
            raise BadSchedule("cron", expression)
    except CronSimError as exc:
        raise BadSchedule("cron", expression) from exc
    rest = rest[quoted.end() :] if quoted else " ".join(rest.split()[_CRON_FIELDS:])
    return Schedule(f'cron "{expression}"', (expression,)), rest


def _clock(rest: str) -> tuple[int, int, str]:
    """Read a time of day, and give the rest."""
    word, rest = _word(rest)
    if rest[:2].casefold() in {"am", "pm"} and not rest[2:3].strip():  # 9 am
        word, rest = word + rest[:2], rest[2:].strip()
    found = _TIME.fullmatch(word)
    if found is None or not (found[2] or found[3]):
        raise BadSchedule("time", word)
    hour, minute, half = int(found[1]), int(found[2] or 0), (found[3] or "").casefold()
    if half and not 1 <= hour <= _NOON:
        raise BadSchedule("time", word)
    hour = hour % _NOON + (_NOON if half == "pm" else 0) if half else hour
    if hour > 23 or minute > 59:  # noqa: PLR2004 - a day's hours and an hour's minutes
        raise BadSchedule("time", word)
    return hour, minute, rest


def _word(text: str) -> tuple[str, str]:
    """Take the first word off."""
    word, _, rest = text.strip().partition(" ")
    return word, rest.strip()


@cache
def _zones() -> dict[str, str]:
    """Every time zone by its folded name; read from the system's tables when the first report is made."""
    return {name.casefold(): name for name in available_timezones()}
