"""What agents and workflows did: counts and times, by day and by week. Pure functions.

Each finished turn counts for its day, which is stored for three weeks, and for its week, which is stored for 400 days.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from string import ascii_letters
from typing import Final, NamedTuple, Self

from bridge.features.run_status import status_icon
from bridge.queue.scripting import from_epoch_ms

DAILY_FOR: Final = timedelta(days=14)
MOST_OUTAGES: Final = 100

_SHORTEST: Final = 0.05  # seconds; the end of the first bucket of times
_STEPS: Final = 3  # buckets until a time is doubled
_WEEK: Final = timedelta(days=7)
_VOTES: Final = {"up", "down"}


class EndedTurn(NamedTuple):
    """A finished turn of an agent or a workflow: *of* is ``agent 7``, *how* its end in a word; it *took* seconds."""

    at: datetime
    of: str
    took: float
    how: str = ""
    project: str = ""

    @classmethod
    def from_entry(cls, entry: Mapping[str, str]) -> Self:
        """Read a stream's entry. Raises KeyError and ValueError if it's of another version."""
        took = entry["took"] if "took" in entry else entry["ms"]  # as the release before wrote it
        return cls(from_epoch_ms(entry["at"]), entry["of"], int(took) / 1000, entry["how"], entry["project"])

    @property
    def end(self) -> str:
        """How it ended, as a count of `Tally`."""
        return _end_of(self.of.partition(" ")[0], self.how)

    @property
    def key(self) -> str:
        """The `key_of` its agent or workflow."""
        return key_of(self.of, self.project)

    @property
    def counts(self) -> Iterable[str]:
        """What it counts for, besides its agent or workflow."""
        return (self.end, str(bucket_of(self.took))) if self.end == "good" else (self.end,)


@lru_cache(maxsize=1024)
def _end_of(kind: str, how: str) -> str:
    if kind == "workflow":
        return {"❌": "failed", "⚠️": "unknown"}.get(status_icon(how), "good")
    return how if how in {"failed", "stopped", "unknown"} else "good"


@dataclass
class Tally:
    """What an agent or a workflow did: how many turns ended well, *failed*, were *stopped*, or ended unknown.

    *times* counts turns that ended well by duration, in buckets. *people* and *threads* are numbers.
    """

    good: int = 0
    failed: int = 0
    stopped: int = 0
    unknown: int = 0
    up: int = 0
    down: int = 0
    people: int = 0
    threads: int = 0
    times: Counter[int] = field(default_factory=Counter)

    @property
    def turns(self) -> int:
        """How many turns there were."""
        return self.good + self.failed + self.stopped + self.unknown

    def count(self, what: str, number: int) -> None:
        """Count one of `EndedTurn.counts`, or a vote; what a later version wrote is left out."""
        if what.isdecimal():
            self.times[int(what)] += number
        elif what in COUNTS:
            setattr(self, what, getattr(self, what) + number)

    def add(self, other: Tally) -> None:
        """Add up, as if no one and no thread were in both."""
        for name in (*COUNTS, "people", "threads"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.times.update(other.times)

    def percentile(self, share: float) -> float | None:
        """Return how long the fastest *share* of turns took at most, in seconds; None if there are none."""
        total = sum(self.times.values())
        left = share * total
        for bucket, count in sorted(self.times.items()):
            if count >= left:
                begins, ends = (_SHORTEST * 2 ** ((bucket - more) / _STEPS) for more in (1, 0))
                return begins + (ends - begins) * left / count
            left -= count
        return None


COUNTS: Final = ("good", "failed", "stopped", "unknown", "up", "down")


def bucket_of(seconds: float) -> int:
    """Return the bucket of a duration."""
    steps = math.ceil(_STEPS * math.log2(max(seconds, _SHORTEST) / _SHORTEST))
    return min(steps, len(ascii_letters) - 1)


def key_of(of: str, project: str) -> str:
    """Return the key of ``agent 7`` or ``workflow 3``: ``a7``, or ``w3@shop`` in another than the default project."""
    kind, _, id_ = of.partition(" ")
    return f"{kind[:1]}{id_}" + (f"@{project}" if project else "")


def votes_of(vote: str, before: str) -> list[tuple[str, int]]:
    """Return what a vote counts for, if the person had voted *before*."""
    return [(vote, 1), (before, -1)] if before in _VOTES else [(vote, 1)]


def periods_of(day: date) -> tuple[str, str]:
    """Return the names of a day and of its week: ``d2026-11-25``, and ``w2026-11-23`` by its Monday."""
    return f"d{day}", f"w{_monday(day)}"


def periods_since(first: date, today: date) -> list[str]:
    """Return the names of the days, and before those of the weeks, that have all that was done since a day."""
    daily = _monday(today - DAILY_FOR)
    weeks = range(0, max(0, (daily - _monday(first)).days), _WEEK.days)
    begins = max(first, daily)
    days = range((today - begins).days + 1)
    return [f"w{_monday(first) + timedelta(days=n)}" for n in weeks] + [f"d{begins + timedelta(days=n)}" for n in days]


def span_of(name: str) -> tuple[date, date] | None:
    """Return the first and the last day of a period; None if it isn't one."""
    try:
        first = date.fromisoformat(name[1:])
    except ValueError:
        return None
    return (first, first + (_WEEK - timedelta(days=1) if name[0] == "w" else timedelta(0))) if name[0] in "dw" else None


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def outages_since(text: str, project: str, since: datetime) -> list[tuple[datetime, datetime]]:
    """Return when a project's service couldn't be reached, *since* a moment, from the stored form of all outages."""
    outages = []
    for of, begin, end in _outages(text):
        ended = datetime.fromtimestamp(end, UTC)
        if of == project and ended > since:
            outages.append((datetime.fromtimestamp(begin, UTC), ended))
    return outages


def with_outage(text: str, project: str, began: datetime, ended: datetime) -> str:
    """Return the stored form of all outages with another one."""
    outage = [project, int(began.timestamp()), int(ended.timestamp())]
    return json.dumps([*_outages(text), outage][-MOST_OUTAGES:], separators=(",", ":"))


def _outages(text: str) -> list[tuple[str, int, int]]:
    try:
        return [(str(of), int(begin), int(end)) for of, begin, end in json.loads(text or "[]")]
    except (ValueError, TypeError):
        return []
