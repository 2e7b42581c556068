"""What agents and workflows did: counts and times, added up by day, and after two weeks by week. Pure functions.

A period's text has at most `MOST_BYTES`, however much happened: beyond that, those with the least are added up. So 90
days take less than 100 kB in Redis.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from string import ascii_letters
from typing import Final, NamedTuple, Self

from bridge.engine.distinct import Distinct
from bridge.features.run_status import status_icon
from bridge.queue.scripting import from_epoch_ms

MOST_BYTES: Final = 3500
DAILY_FOR: Final = 14  # days
KEPT_FOR: Final = 400  # days
MOST_OUTAGES: Final = 100
REST: Final = "*"
"""The ID of those that are added up."""

_SHORTEST: Final = 0.05  # seconds; the end of the first bucket of times
_STEPS: Final = 3  # buckets until a time is doubled
_TIMES: Final = re.compile(r"([a-zA-Z])(\d+)")
_WEEK: Final = 7
_NONE: Final = -1


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
        return cls(from_epoch_ms(entry["at"]), entry["of"], int(entry["ms"]) / 1000, entry["how"], entry["project"])

    @property
    def end(self) -> str:
        """How it ended, as a count of `Tally`."""
        return _end_of(self.of.partition(" ")[0], self.how)


@lru_cache(maxsize=1024)
def _end_of(kind: str, how: str) -> str:
    if kind == "workflow":
        return {"❌": "failed", "⚠️": "unknown"}.get(status_icon(how), "good")
    return how if how in {"failed", "stopped", "unknown"} else "good"


@dataclass
class Tally:
    """What an agent or a workflow did: how many turns ended well, *failed*, were *stopped*, or ended unknown.

    *times* counts turns that ended well by duration, in buckets. *people* and *threads* are counted without IDs.
    """

    good: int = 0
    failed: int = 0
    stopped: int = 0
    unknown: int = 0
    up: int = 0
    down: int = 0
    times: Counter[int] = field(default_factory=Counter)
    people: Distinct = field(default_factory=Distinct)
    threads: Distinct = field(default_factory=Distinct)

    @property
    def turns(self) -> int:
        """How many turns there were."""
        return self.good + self.failed + self.stopped + self.unknown

    def count(self, ended: EndedTurn, person: int, thread: int) -> None:
        """Count a turn, and the tokens of its person and its thread; `_NONE` is none."""
        setattr(self, ended.end, getattr(self, ended.end) + 1)
        if ended.end == "good":
            self.times[bucket_of(ended.took)] += 1
        for distinct, token in ((self.people, person), (self.threads, thread)):
            if token != _NONE:
                distinct.add(token)

    def add(self, other: Tally) -> None:
        """Add up."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.times.update(other.times)
        self.people.merge(other.people)
        self.threads.merge(other.threads)

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

    def to_text(self) -> str:
        """Return the stored form."""
        counts = ".".join(str(getattr(self, name)) for name in _COUNTS)
        times = "".join(f"{ascii_letters[bucket]}{count}" for bucket, count in sorted(self.times.items()))
        return f"{counts};{times};{self.people.to_text()};{self.threads.to_text()}".rstrip(";")

    @classmethod
    def from_text(cls, text: str) -> Tally:
        """Read a stored form. Raises ValueError."""
        counts, times, people, threads = (*text.split(";"), "", "", "")[:4]
        found = cls()
        for name, count in zip(_COUNTS, counts.split("."), strict=True):
            setattr(found, name, int(count))
        found.times.update({ascii_letters.index(one): int(count) for one, count in _TIMES.findall(times)})
        found.people, found.threads = Distinct.from_text(people), Distinct.from_text(threads)
        return found


_VOTES: Final = {"up": (1, 0), "down": (0, 1)}
_COUNTS: Final = ("good", "failed", "stopped", "unknown", "up", "down")


def bucket_of(seconds: float) -> int:
    """Return the bucket of a duration."""
    steps = math.ceil(_STEPS * math.log2(max(seconds, _SHORTEST) / _SHORTEST))
    return min(steps, len(ascii_letters) - 1)


Period = Mapping[str, Tally]
"""What was done in a day or a week, by `key_of`."""


def key_of(kind: str, id_: str, project: str) -> str:
    """Return the key of an agent or a workflow: ``a7``, or ``w3@shop`` in another project than the default one."""
    return f"{kind[:1]}{id_}" + (f"@{project}" if project else "")


def period_of(kind: str, entries: Iterable[Mapping[str, str]]) -> dict[date, dict[str, Tally]]:
    """Add up the entries of a stream of ended turns, or of votes (``vote``), by day; unreadable ones are left out."""
    found: defaultdict[date, defaultdict[str, Tally]] = defaultdict(lambda: defaultdict(Tally))
    for entry in entries:
        try:
            if kind == "vote":
                at, of, project = from_epoch_ms(entry["at"]), entry["of"], entry.get("project", "")
                (up, down), (was_up, was_down) = _VOTES[entry["how"]], _VOTES.get(entry.get("before", ""), (0, 0))
            else:
                ended = EndedTurn.from_entry(entry)
                at, of, project = ended.at, ended.of, ended.project
                who, where = (int(entry.get(one) or _NONE) for one in ("who", "in"))
        except (KeyError, ValueError):  # of another version
            continue
        name, _, id_ = of.partition(" ")
        work = found[at.date()][key_of(name, id_, project)]
        if kind == "vote":
            work.up += up - was_up
            work.down += down - was_down
        else:
            work.count(ended, who, where)
    return {day: dict(period) for day, period in found.items()}


def to_text(period: Period) -> str:
    """Return the stored form of a period, of at most `MOST_BYTES`."""
    left = dict(period)
    texts = {key: work.to_text() for key, work in left.items()}
    size = sum(len(key) + len(text) + 6 for key, text in texts.items()) + 2
    for key in sorted(left, key=lambda one: left[one].turns):
        if size <= MOST_BYTES - 2 * 300:  # of those that are added up
            break
        rest = Tally()
        size -= len(key) + len(texts.pop(key)) + 6
        rest.add(left.pop(key))
        others = f"{key[:1]}{REST}"
        if others in left:
            rest.add(left[others])
        left[others] = rest
    return json.dumps({key: work.to_text() for key, work in left.items()}, separators=(",", ":"))


def from_text(text: str) -> dict[str, Tally]:
    """Read the stored form of a period; nothing of what a later version wrote."""
    try:
        return {str(key): Tally.from_text(str(one)) for key, one in json.loads(text or "{}").items()}
    except (ValueError, AttributeError, TypeError):
        return {}


def add(total: dict[str, Tally], period: Period) -> None:
    """Add a period's work to the *total*."""
    for key, work in period.items():
        total.setdefault(key, Tally()).add(work)


def field_of(day: date, today: date) -> str:
    """Return the field of the period with *day*: ``d2026-11-25``, or long ago ``w2026-11-02``, its Monday."""
    is_daily = (today - day).days < DAILY_FOR
    return f"d{day}" if is_daily else f"w{day - timedelta(days=day.weekday())}"


def span_of_field(name: str) -> tuple[date, date] | None:
    """Return the first and the last day of a field's period; None if it isn't one."""
    try:
        first = date.fromisoformat(name[1:])
    except ValueError:
        return None
    return (first, first + timedelta(days=_WEEK - 1 if name[0] == "w" else 0)) if name[0] in "dw" else None


def folded(periods: Mapping[str, str], news: Mapping[date, Period], today: date) -> dict[str, str]:
    """Return the fields that change: with *news*, with days that became part of a week, and without what's too old.

    A field that's no longer needed is ``""``.
    """
    changed: dict[str, dict[str, Tally]] = {}
    for day, period in news.items():
        add(_of(changed, field_of(day, today), periods), period)
    gone: dict[str, str] = {}
    for name, text in periods.items():
        span = span_of_field(name)
        if span is None:
            continue
        if (today - span[1]).days > KEPT_FOR:
            gone[name] = ""
        elif name[0] == "d" and field_of(span[0], today) != name:
            add(_of(changed, field_of(span[0], today), periods), from_text(text))
            gone[name] = ""
    return {**{name: to_text(period) for name, period in changed.items()}, **gone}


def _of(changed: dict[str, dict[str, Tally]], name: str, periods: Mapping[str, str]) -> dict[str, Tally]:
    return changed.setdefault(name, from_text(periods.get(name, "")))


def outages_since(text: str, project: str, since: datetime) -> list[tuple[datetime, datetime]]:
    """Return when a project's service couldn't be reached, *since* a moment, from the stored form of all outages."""
    found = []
    for of, begin, end in _outages(text):
        ended = datetime.fromtimestamp(end, UTC)
        if of == project and ended > since:
            found.append((datetime.fromtimestamp(begin, UTC), ended))
    return found


def with_outage(text: str, project: str, began: datetime, ended: datetime) -> str:
    """Return the stored form of all outages with another one."""
    one = [project, int(began.timestamp()), int(ended.timestamp())]
    return json.dumps([*_outages(text), one][-MOST_OUTAGES:], separators=(",", ":"))


def _outages(text: str) -> list[tuple[str, int, int]]:
    try:
        return [(str(of), int(begin), int(end)) for of, begin, end in json.loads(text or "[]")]
    except (ValueError, TypeError):
        return []
