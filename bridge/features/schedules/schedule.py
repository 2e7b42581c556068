"""Parse reports as people type them, and find when they're due. Pure functions.

A person types ``every monday at 9 berlin #sales --compare 7d --only runs,tags``, in any order.
`bridge.errors.BadSchedule` names the part that can't be understood, so that a form can show it at the right field.

A report is due by the wall clock of a time zone. A schedule is one or more cron expressions; each of their times is a
**slot**. A slot that the clock skips in spring is due in the first minute after the gap (and merges with another slot
of that minute); one that occurs twice in autumn is due the first time. So each slot has a unique moment.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import BaseModel, ValidationError

from bridge.errors import BadSchedule, RecordNotUnderstood
from bridge.features.schedules.phrases import describe, find_zone, normalized, read_schedule
from bridge.features.statistics.numbers import PARTS
from bridge.slack.blockkit.folding import fold

_MINUTE: Final = timedelta(minutes=1)
_CRON_FIELDS: Final = 5
_LONGEST_CRON: Final = 100  # characters; enough for any real expression
_LONGEST_SPAN: Final = timedelta(days=400)  # as far back as snapshots go
_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}

_OPTIONS: Final = ("compare", "only")
_PIECE: Final = re.compile(  # of folded text
    r"""
    (?P<blank> [\s;()]+ )
    | (?: cron (?= \s | $ | ["'] ) \s* )? ["'] (?P<quoted> [^"']* ) ["']
    | cron (?= \s | $ ) \s* (?P<bare> (?: \S+ \s* ){0,5} )
    | -- (?P<option> \w+ ) (?: = | \s+ )? (?P<value> [^\s()]* )
    | (?P<channel> \# [^\s;,()]+ )
    | (?P<word> , | [^\s;,()]+ )
    """,
    re.VERBOSE,
)
_SPAN = re.compile(r"(\d{1,4})([hdw])")


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule in *words* (``every Monday at 09:00``), and as cron expressions."""

    words: str
    crons: tuple[str, ...]


class ReportSpec(BaseModel, frozen=True):
    """A report as a person described it.

    *compare* is an age (``7d``) to compare with, or ``""`` for the last report; *only* names the parts of the
    statistics to show, all if it's empty. *project* is the key of the project that they're about. As typed, *zone* and
    *channel* (``#name`` or an ID) may be ``""``, and there is no owner.
    """

    schedule: Schedule
    zone: str = ""
    channel: str = ""
    compare: str = ""
    only: tuple[str, ...] = ()
    team: str = ""
    owner: str = ""
    project: str = ""


@dataclass(frozen=True, slots=True)
class StoredTask:
    """A report, and its state.

    *due* is its next slot. *paused* is the reason why it's paused (``asked``, ``no clock``, or Slack's error), or
    ``""``; ``project``: its project was removed, which isn't stored. *project_name* is the project's, if there are
    several. *skipped* is the first slot that wasn't posted, *last* the last one that was, and *numbers* the snapshot of
    the statistics at that time (`bridge.features.statistics.snapshots`).
    """

    id: str
    spec: ReportSpec
    due: datetime
    paused: str = ""
    skipped: datetime | None = None
    last: datetime | None = None
    numbers: str = ""
    project_name: str = ""

    @classmethod
    def from_redis(cls, id_: str, fields: Mapping[str, str]) -> StoredTask:
        """Parse the ``report:`` hash. Raises `RecordNotUnderstood`."""
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

    def is_same(self, spec: ReportSpec) -> bool:
        """Whether this report shows what *spec* would, at the same times and in the same channel."""
        mine = self.spec
        when = (mine.schedule.crons, mine.zone) == (spec.schedule.crons, spec.zone)
        what = (set(mine.only or PARTS), mine.compare) == (set(spec.only or PARTS), spec.compare)
        where = (mine.team, mine.channel, mine.project) == (spec.team, spec.channel, spec.project)
        return when and what and where

    @property
    def called(self) -> str:
        """The schedule in words: ``every Monday at 09:00 (Europe/Berlin)``."""
        return f"{self.when} ({self.spec.zone})"

    @property
    def when(self) -> str:
        """The schedule without its time zone. Earlier versions stored other words for the same expressions."""
        return describe(self.spec.schedule.crons)

    @property
    def clock(self) -> ZoneInfo:
        """The report's time zone. Raises `RecordNotUnderstood` if this machine doesn't know it."""
        try:
            return ZoneInfo(self.spec.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
            raise RecordNotUnderstood("time zone") from exc


def _moment(ms: str) -> datetime:
    return datetime.fromtimestamp(int(float(ms)) / 1000, UTC)


def next_due(schedule: Schedule, zone: ZoneInfo, after: datetime) -> datetime:
    """Return the first moment later than *after* at which a report is due, in UTC."""
    local = after.astimezone(zone).replace(tzinfo=None, fold=0)
    return min(next(due for due in _slots(cron, zone, local) if due > after) for cron in schedule.crons)


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


def _slots(cron: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Yield the slots, in UTC, whose wall-clock time is later than *after*.

    Each is the first moment at which the clock shows the slot's time or, if it skips that, the first time it shows
    afterwards.
    """
    for wall in CronSim(cron, after):  # without a zone, so no time is skipped or repeated
        while (due := wall.replace(tzinfo=zone).astimezone(UTC)).astimezone(zone).replace(tzinfo=None, fold=0) != wall:
            wall += _MINUTE  # noqa: PLW2901 - the clock skips that minute
        yield due


def read_report(typed: str) -> ReportSpec:
    """Parse a report as typed. Raises `BadSchedule`."""
    zone = channel = compare = cron = ""
    only: tuple[str, ...] = ()
    words: list[str] = []
    at, folded = 0, fold(typed)
    while found := _PIECE.match(folded.text, at):
        at = found.end()
        said = folded.between(*found.span(found.lastgroup or 0))
        match found.lastgroup:
            case "quoted" | "bare":
                if cron:
                    raise BadSchedule("cron", folded.between(*found.span()))
                cron = read_cron(said)
            case "value":
                name, value = found["option"], said.rstrip(",;")
                if name == "compare":
                    span_of(value)
                    compare = fold(value).text
                elif name == "only":
                    only = only_of(value)
                else:
                    near = difflib.get_close_matches(name, _OPTIONS, n=1)
                    raise BadSchedule("option", f"--{name}", [f"--{one}" for one in near])
            case "channel":
                channel = said
            case "word":
                words.append(said)
    if cron:
        crons: tuple[str, ...] = normalized(cron)
        zone = find_zone(" ".join(words)) if words else ""
    else:
        crons, zone = read_schedule(words)
    return ReportSpec(schedule=Schedule(describe(crons), crons), zone=zone, channel=channel, compare=compare, only=only)


def span_of(typed: str) -> timedelta:
    """Parse ``24h``, ``7d`` or ``2w``. Raises `BadSchedule`."""
    found = _SPAN.fullmatch(fold(typed).text)
    span = int(found[1]) * _UNITS[found[2]] if found else timedelta(0)
    if not timedelta(0) < span <= _LONGEST_SPAN:
        raise BadSchedule("compare", typed)
    return span


def only_of(typed: str) -> tuple[str, ...]:
    """Parse ``runs,tags``, in the order of `PARTS`. Raises `BadSchedule`."""
    wanted = [word for word in re.split(r"[,;\s]+", fold(typed).text) if word]
    unknown = [word for word in wanted if word not in PARTS]
    if unknown or not wanted:
        raise BadSchedule("only", "".join(unknown[:1]), PARTS)
    return tuple(part for part in PARTS if part in wanted)


def read_cron(typed: str) -> str:
    """Return a cron expression with single spaces: five fields, without seconds, that match some day."""
    fields = (typed if typed.isascii() else fold(typed).text.upper()).split()
    expression = " ".join(fields)
    try:
        is_cron = len(fields) == _CRON_FIELDS and len(expression) <= _LONGEST_CRON
        if not (is_cron and next(CronSim(expression, datetime(2000, 1, 1)), None)):  # noqa: DTZ001 - no zone
            raise BadSchedule("cron", expression)
    except CronSimError as exc:
        raise BadSchedule("cron", expression) from exc
    return expression
