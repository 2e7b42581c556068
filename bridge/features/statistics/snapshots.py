"""Hourly snapshots of the statistics, for comparisons.

There is one per hour and, after a week, one per day, for 400 days: about 600, of at most `MOST_BYTES` each (2.4 MB). A
snapshot is compact JSON with the largest counts of each group that fit, and the number of names left out. The numbers
alone are stored for each hour of nine weeks, to know what's usual at an hour of the week: about 150 kB.

Snapshots are in one hash and need no script: the first ``HSETNX`` wins, whichever process makes it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from bridge.engine.home import Reads
from bridge.errors import RecordNotUnderstood
from bridge.features.statistics.numbers import GROUPS, Changes, Difference, NamesChanged, by_count, numbers_of
from bridge.names.amounts import read_duration
from bridge.names.folding import name_key
from bridge.project.connection import DEFAULT
from bridge.project.models import Stats
from bridge.queue.keys import SNAPSHOTS, milliseconds
from bridge.queue.scripting import Scripts, epoch_ms, from_epoch_ms, pipelined

log = logging.getLogger(__name__)

MOST_BYTES: Final = 4096
HOURLY_FOR: Final = timedelta(days=7)
STORED_FOR: Final = SNAPSHOTS
NUMBERS_FOR: Final = timedelta(weeks=9)
"""How long the numbers of each hour are stored: eight weeks, and the longest usual period before."""

_VERSION: Final = 1
_RESERVED: Final = 400  # bytes for everything but the names
_LARGEST: Final = 10**30  # larger numbers are stored as this one
_HOUR: Final = 3600
_DAY: Final = 24
_NAMED: Final = {"yesterday": timedelta(days=1), "last week": timedelta(weeks=1)}


@dataclass(frozen=True, slots=True)
class LargestNames:
    """A group's largest counts by name, and the number of *others*; a list that lacks some counts as one more."""

    named: Mapping[str, int] = field(default_factory=dict)
    others: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The statistics *at* a moment; keys are the names in `NUMBERS` and `GROUPS`.

    *updated* is when the service last updated them, if it says so.
    """

    at: datetime
    numbers: Mapping[str, int]
    groups: Mapping[str, LargestNames]
    updated: datetime | None = None

    def to_text(self) -> str:
        """Return the stored form, at most `MOST_BYTES` long."""
        groups = {name: [_bounded(counts.named), counts.others] for name, counts in self.groups.items()}
        facts = {"v": _VERSION, "at": epoch_ms(self.at), "n": _bounded(self.numbers), "g": groups}
        return _compact({**facts, "u": epoch_ms(self.updated)} if self.updated else facts)

    @classmethod
    def from_text(cls, text: str) -> Snapshot:
        """Parse the stored form. Raises `RecordNotUnderstood`."""
        try:
            data = json.loads(text)
            groups = {
                str(name): LargestNames({str(member): int(count) for member, count in named.items()}, int(others))
                for name, (named, others) in data["g"].items()
            }
            numbers = {str(name): int(number) for name, number in data["n"].items()}
            updated = from_epoch_ms(data["u"]) if "u" in data else None
            return cls(from_epoch_ms(data["at"]), numbers, groups, updated)
        except (ValueError, TypeError, KeyError, AttributeError) as exc:
            raise RecordNotUnderstood("snapshot") from exc

    @classmethod
    def parse(cls, text: str | None) -> Snapshot | None:
        """Parse the stored form; None if there's none, or a later version wrote it."""
        try:
            return cls.from_text(text) if text else None
        except RecordNotUnderstood:
            log.warning("statistics snapshot can't be parsed")
            return None


def snapshot_of(stats: Stats, at: datetime) -> Snapshot:
    """Return a snapshot of *stats*, with as many names as fit."""
    groups = {}
    for group in GROUPS:
        counts, named, room = group.of(stats), dict[str, int](), (MOST_BYTES - _RESERVED) // len(GROUPS)
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            room -= len(_compact(_bounded({name: count})).encode()) - 1  # a comma for two braces
            if room < 0:
                break
            named[name] = count
        groups[group.name] = LargestNames(named, len(counts) - len(named) + group.is_part(stats))
    return Snapshot(at, numbers_of(stats), groups, stats.lastUpdated)


def reading_of(stats: Stats, at: datetime) -> Snapshot:
    """Return *stats* with all names."""
    groups = {g.name: LargestNames(_bounded(g.of(stats)), int(g.is_part(stats))) for g in GROUPS}
    return Snapshot(at, _bounded(numbers_of(stats)), groups, stats.lastUpdated)


def compare(now: Stats, then: Snapshot, *, called: str = "", between: Iterable[Snapshot] = ()) -> Changes:
    """Return the changes since *then*, which may be *called* ``yesterday``, with the snapshots *between*, in order."""
    later = [snapshot.numbers for snapshot in between if snapshot.at > then.at]
    groups = {}
    for group in GROUPS:
        if (before := then.groups.get(group.name)) is not None:
            counts, is_part = group.of(now), group.is_part(now)  # of a part, none is known to have vanished
            groups[group.name] = NamesChanged(
                # If the snapshot left out names, none count as new, as they may be among those.
                new=by_count((name, n) for name, n in counts.items() if name not in before.named and not before.others),
                vanished=by_count((name, n) for name, n in before.named.items() if not is_part and name not in counts),
                moved={name: Difference(counts[name], n) for name, n in before.named.items() if name in counts},
            )
    return Changes(
        since=then.at,
        numbers={
            name: Difference.over([then.numbers[name], *(row[name] for row in later if name in row), number])
            for name, number in numbers_of(now).items()
            if name in then.numbers
        },
        groups=groups,
        called=called,
    )


def hour_of(moment: datetime) -> int:
    """Return the number of hours from the epoch to a moment."""
    return int(moment.timestamp()) // _HOUR


def moment_of(hour: int) -> datetime:
    """Return the beginning of an hour."""
    return datetime.fromtimestamp(hour * _HOUR, UTC)


def surplus(hours: Iterable[int], now: datetime) -> set[int]:
    """Return the hours to delete: after a week all but each day's first, after `STORED_FOR` all."""
    oldest, hourly = hour_of(now - STORED_FOR), hour_of(now - HOURLY_FOR)
    days: set[int] = set()
    gone = set()
    for hour in sorted(hours):
        if hour < oldest or (hour < hourly and hour // _DAY in days):
            gone.add(hour)
        days.add(hour // _DAY)
    return gone


def nearest_hour(hours: Iterable[int], moment: datetime, *, within: timedelta | None = None) -> int | None:
    """Return the hour nearest to a moment, at most *within* away; None if there is none."""
    wanted = hour_of(moment)
    hour = min(hours, key=lambda hour: abs(hour - wanted), default=None)
    if hour is None or (within is not None and abs(hour - wanted) > within.total_seconds() / _HOUR):
        return None
    return hour


def over_time(hours: Iterable[int], since: int, *, most: int) -> list[int]:
    """Return at most *most* hours from *since* on, evenly spaced, with both ends; beyond three days, one per day."""
    hours = sorted(hour for hour in hours if hour >= since)
    if hours and hours[-1] - hours[0] > 3 * _DAY:
        hours = list({hour // _DAY: hour for hour in reversed(hours)}.values())[::-1]
    if len(hours) <= most:
        return hours
    return [hours[place * (len(hours) - 1) // (most - 1)] for place in range(most)]


def _bounded(numbers: Mapping[str, int]) -> dict[str, int]:
    return {name: max(-_LARGEST, min(_LARGEST, number)) for name, number in numbers.items()}


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def parse_moment(text: str, now: datetime) -> datetime | None:
    """Parse ``7d``, ``90m``, ``2 weeks``, ``yesterday``, or a day, ``2026-11-01``, which starts at midnight UTC.

    None for anything else, for the future, and for moments too long ago.
    """
    typed = name_key(text).removesuffix(" ago")
    if (length := _NAMED.get(typed, read_duration(typed))) is not None:
        moment = now - length
    else:
        try:
            day = datetime.fromisoformat(typed.upper())
        except ValueError:
            return None
        moment = day.replace(tzinfo=UTC) if day.tzinfo is None else day.astimezone(UTC)
    return moment if now - STORED_FOR <= moment < now else None


class SnapshotStore:
    """The snapshots of one *project*, by its key. Methods may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts, project: str = "") -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys
        self._key = scripts.keys.project_snapshots(project) if project else scripts.keys.snapshots()
        self._hourly = scripts.keys.hourly(project or DEFAULT)

    async def hours(self) -> tuple[list[int], list[int]]:
        """Return the hours that have a snapshot, and those that have one or only numbers, in order."""
        hashes = await pipelined(self._redis, lambda pipe: [pipe.hkeys(key) for key in (self._key, self._hourly)])
        whole, numbers = ({int(field) for field in fields if field.isdecimal()} for fields in hashes)
        return sorted(whole), sorted(whole | numbers)

    async def read(self, hours: Iterable[int], *, or_numbers: bool = False) -> dict[int, Snapshot]:
        """Return the snapshots of these *hours*, without missing and unreadable ones.

        With *or_numbers*, hours that have only numbers are included.
        """
        whole = await self._of(self._key, hours)
        return whole | await self._of(self._hourly, set(hours) - whole.keys()) if or_numbers else whole

    async def numbers(self, hours: Iterable[int]) -> dict[int, Snapshot]:
        """Return the numbers of these *hours*, some of them with names, without missing and unreadable ones."""
        hourly = await self._of(self._hourly, hours)
        return hourly | await self._of(self._key, set(hours) - hourly.keys())

    async def _of(self, key: str, hours: Iterable[int]) -> dict[int, Snapshot]:
        wanted = sorted(set(hours))
        if not wanted:
            return {}
        texts: Any = await self._redis.hmget(key, [str(hour) for hour in wanted])
        return {hour: snapshot for hour, text in zip(wanted, texts, strict=True) if (snapshot := Snapshot.parse(text))}

    async def lately(self, reads: Reads, now: datetime) -> list[Snapshot]:
        """Return the numbers of the last week, oldest first, without those of this hour."""
        hours = [str(hour) for hour in range(hour_of(now - HOURLY_FOR), hour_of(now))]
        (texts,) = await reads.ask(lambda pipe: pipe.hmget(self._hourly, hours))
        return list(filter(None, map(Snapshot.parse, texts)))

    async def add(self, hour: int, snapshot: Snapshot) -> bool:
        """Store the snapshot of an hour. Returns False if the hour already had one.

        If a total has fallen since, its lowest is stored: what came afterwards is known.
        """
        async with self._redis.pipeline(transaction=True) as pipe:
            pipe.hsetnx(self._key, str(hour), snapshot.to_text())
            pipe.pexpire(self._key, milliseconds(SNAPSHOTS))
            pipe.hsetnx(self._hourly, str(hour), replace(snapshot, groups={}).to_text())
            pipe.pexpire(self._hourly, milliseconds(NUMBERS_FOR))
            pipe.hget(self._hourly, str(hour))
            is_first, *_, stored = await pipe.execute()
            known = Snapshot.parse(stored)
            if known and any(number < known.numbers.get(name, number) for name, number in snapshot.numbers.items()):
                pipe.hset(self._key, str(hour), snapshot.to_text())
                pipe.hset(self._hourly, str(hour), replace(snapshot, groups={}).to_text())
                await pipe.execute()
        return bool(is_first)

    async def drop(self, hours: Collection[int]) -> None:
        """Delete the snapshots of these *hours*."""
        if hours:
            await self._redis.hdel(self._key, *(str(hour) for hour in hours))

    async def drop_numbers(self, before: int) -> None:
        """Delete the numbers of the hours *before* this one."""
        fields: Any = await self._redis.hkeys(self._hourly)
        if old := [field for field in fields if field.isdecimal() and int(field) < before]:
            await self._redis.hdel(self._hourly, *old)
