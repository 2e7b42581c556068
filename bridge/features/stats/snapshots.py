"""`Snapshot`: the statistics of a moment, as they are kept to be compared with later ones. Pure.

One is kept for an hour at most, and of each day that is more than a week ago the first one, for 400 days: at most some
600, of `MOST_BYTES` each, which is 2.4 MB when every one is full. A snapshot is compact JSON with the largest
categories and tags that fit; the others are counted and summed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from bridge.errors import RecordNotUnderstood
from bridge.project.models import NamedCount, Stats
from bridge.queue.keys import SNAPSHOTS

MOST_BYTES: Final = 4096
KEPT_HOURLY: Final = timedelta(days=7)
KEPT: Final = SNAPSHOTS

_VERSION: Final = 1
_RESERVED: Final = 400  # bytes for all but the names
_MOST_DIGITS: Final = 10**30  # a longer number is kept as this one
_HOUR: Final = 3600
_DAY: Final = 24

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Counts:
    """Categories or tags: the largest by name, and of the *others* how many there are and their sum."""

    named: Mapping[str, int] = field(default_factory=dict)
    others: int = 0
    sum_of_others: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The statistics as they were *at* a moment."""

    at: datetime
    prompts: int
    runs: int
    versions: int
    categories: Counts
    tags: Counts

    def to_text(self) -> str:
        """Write it, in at most `MOST_BYTES`."""
        numbers = [_bounded(number) for number in (self.prompts, self.runs, self.versions)]
        kept = {name: _to_json(counts) for name, counts in (("c", self.categories), ("t", self.tags))}
        return _compact({"v": _VERSION, "at": int(self.at.timestamp() * 1000), "n": numbers, **kept})

    @classmethod
    def from_text(cls, text: str) -> Snapshot:
        """Read what `to_text` wrote. Raises `RecordNotUnderstood`."""
        try:
            data = json.loads(text)
            prompts, runs, versions = (int(number) for number in data["n"])
            at = datetime.fromtimestamp(data["at"] / 1000, UTC)
            return cls(at, prompts, runs, versions, _from_json(data["c"]), _from_json(data["t"]))
        except (ValueError, TypeError, KeyError, AttributeError) as exc:
            raise RecordNotUnderstood("snapshot") from exc


def snapshot_of(stats: Stats, at: datetime) -> Snapshot:
    """Keep of *stats* what fits."""
    room = (MOST_BYTES - _RESERVED) // 2
    return Snapshot(
        at=at,
        prompts=stats.promptCount,
        runs=stats.runCount,
        versions=stats.versionCount,
        categories=_largest(counted(stats.categories), room),
        tags=_largest(counted(stats.tags), room),
    )


def counted(counts: Iterable[NamedCount]) -> dict[str, int]:
    """Sum up by name: nothing forbids the service to list one twice."""
    found: dict[str, int] = {}
    for one in counts:
        found[one.name] = found.get(one.name, 0) + one.count
    return found


def hour_of(moment: datetime) -> int:
    """Number the hour of a moment."""
    return int(moment.timestamp()) // _HOUR


def moment_of(hour: int) -> datetime:
    """Give the beginning of an hour."""
    return datetime.fromtimestamp(hour * _HOUR, UTC)


def too_many(hours: Iterable[int], now: datetime) -> set[int]:
    """Pick the hours whose snapshots are kept no longer: beyond a week all but the first of a day, in the end all."""
    oldest, hourly = hour_of(now - KEPT), hour_of(now - KEPT_HOURLY)
    days: set[int] = set()
    gone = set()
    for hour in sorted(hours):
        if hour < oldest or (hour < hourly and hour // _DAY in days):
            gone.add(hour)
        days.add(hour // _DAY)
    return gone


def nearest(hours: Iterable[int], moment: datetime, *, within: timedelta | None = None) -> int | None:
    """Pick the hour of a moment, else the nearest to it, which is not further from it than *within*."""
    wanted = hour_of(moment)
    found = min(hours, key=lambda hour: abs(hour - wanted), default=None)
    if found is None or (within is not None and abs(found - wanted) > within.total_seconds() / _HOUR):
        return None
    return found


def over_time(hours: Iterable[int], since: int, *, most: int) -> list[int]:
    """Pick at most *most* hours, evenly from *since* on: of more than three days, one of each day."""
    found = sorted(hour for hour in hours if hour >= since)
    if found and found[-1] - found[0] > 3 * _DAY:
        found = list({hour // _DAY: hour for hour in reversed(found)}.values())[::-1]
    return spread(found, most)


def spread(items: Sequence[T], most: int) -> list[T]:
    """Pick at most *most* of *items*, evenly, with the first and the last."""
    if len(items) <= most:
        return list(items)
    return [items[place * (len(items) - 1) // (most - 1)] for place in range(most)]


def _largest(counts: Mapping[str, int], room: int) -> Counts:
    named: dict[str, int] = {}
    largest = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    for name, count in largest:
        room -= len(_compact({name: _bounded(count)}).encode()) - 1  # a comma for two braces
        if room < 0:
            break
        named[name] = count
    others = [count for _name, count in largest[len(named) :]]
    return Counts(named, len(others), sum(others))


def _bounded(number: int) -> int:
    return max(-_MOST_DIGITS, min(_MOST_DIGITS, number))


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _to_json(counts: Counts) -> list[Any]:
    named = {name: _bounded(count) for name, count in counts.named.items()}
    return [named, counts.others, _bounded(counts.sum_of_others)]


def _from_json(data: Any) -> Counts:
    named, others, sum_of_others = data
    return Counts({str(name): int(count) for name, count in named.items()}, int(others), int(sum_of_others))
