"""What recorded totals say: what was added in between, and what's usual. Pure functions.

A total falls only if something is deleted, by a purge or a restored backup. Then what was added in that time is
unknown: at least what has come since.

What's **usual** is the median of the same hour of the week, by the clock in a time zone, over up to eight weeks; its
spread is the median of the distances from it (MAD). Times in which the total fell are left out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from bridge.features.statistics.snapshots import Snapshot, hour_of

WEEKS: Final = 8
LEARNS_FOR: Final = timedelta(weeks=2)
"""How long numbers must have been recorded until anything counts as usual."""

GAP: Final = timedelta(hours=3)
"""The longest time between two snapshots; the numbers in a longer one are unknown."""

_A_WEEK: Final = timedelta(weeks=1)
_LEAST_USUAL: Final = 2  # weeks that have numbers


class Added(NamedTuple):
    """What was added: *least*, and if it *is_known*, no more."""

    least: float
    is_known: bool = True


def added(totals: Sequence[float]) -> Added:
    """Return what was added between the first and the last of these *totals*, in order.

    What has come since a fall counts, except for what may have been restored.
    """
    last = totals[-1]
    fall = next((at for at in range(len(totals) - 1, 0, -1) if totals[at] < totals[at - 1]), 0)
    if not fall:
        return Added(last - totals[0])
    highest = max(totals[:fall])
    return Added(last - (highest if last >= highest else totals[fall]), is_known=False)


class Usual(NamedTuple):
    """What's usual, and its spread."""

    median: float
    spread: float


class Past:
    """Snapshots in the order of their time."""

    def __init__(self, snapshots: Iterable[Snapshot] = ()) -> None:
        self.snapshots = sorted(snapshots, key=lambda snapshot: snapshot.at)
        self._times = [snapshot.at for snapshot in self.snapshots]

    def before(self, moment: datetime, within: timedelta) -> Snapshot | None:
        """Return the last snapshot at *moment* or up to *within* before it."""
        index = bisect_right(self._times, moment) - 1
        return self.snapshots[index] if index >= 0 and moment - self._times[index] <= within else None

    def total(self, number: str, moment: datetime, now: Snapshot | None = None) -> float | None:
        """Return a number at a *moment* between two snapshots, as if it had grown steadily; None if it's unknown.

        The later one may be the current reading, *now*.
        """
        index = bisect_right(self._times, moment)
        earlier = self.snapshots[index - 1] if index else None
        if earlier is not None and earlier.at == moment:
            return earlier.numbers.get(number)
        later = self.snapshots[index] if index < len(self.snapshots) else now
        if earlier is None or later is None or number not in earlier.numbers or number not in later.numbers:
            return None
        begin, end = earlier.numbers[number], later.numbers[number]
        longest = later.at - earlier.at if later is not now else moment - earlier.at
        if end < begin or longest > GAP:
            return None
        share = (moment - earlier.at) / (later.at - earlier.at) if later.at > earlier.at else 1
        return begin + share * (end - begin)

    def added(self, number: str, begin: datetime, first: float, end: datetime, last: float) -> Added:
        """Return what was added between two moments, at which the total was *first* and *last*."""
        between = self.snapshots[bisect_right(self._times, begin) : bisect_right(self._times, end)]
        return added([first, *(then.numbers[number] for then in between if number in then.numbers), last])

    def usual(self, number: str, now: datetime, span: timedelta, zone: ZoneInfo) -> Usual | None:
        """Return what's usually added in a *span* that ends at this time of the week; None if that's unknown."""
        known = []
        for end in weeks_before(now, zone):
            last, first = self.total(number, end), self.total(number, end - span)
            if last is not None and first is not None:
                known.append(self.added(number, end - span, first, end, last))
        return usual_of([growth.least for growth in known if growth.is_known])


def usual_of(numbers: Sequence[float]) -> Usual | None:
    """Return the median of *numbers*, and their median distance from it; None if there are too few."""
    if len(numbers) < _LEAST_USUAL:
        return None
    middle = median(numbers)
    return Usual(middle, median(abs(number - middle) for number in numbers))


def weeks_before(now: datetime, zone: ZoneInfo) -> list[datetime]:
    """Return the same time of the week by the clock in *zone*, up to eight weeks back, whatever the clock did since."""
    wall = now.astimezone(zone).replace(tzinfo=None)
    return [(wall - week * _A_WEEK).replace(tzinfo=zone, fold=0).astimezone(UTC) for week in range(1, WEEKS + 1)]


def hours_between(hours: Sequence[int], begin: datetime, end: datetime) -> Sequence[int]:
    """Return which of the recorded *hours*, in order, say what the totals were from *begin* to *end*."""
    return hours[max(0, bisect_right(hours, hour_of(begin)) - 2) : bisect_right(hours, hour_of(end)) + 1]


def hours_of_usual(hours: Sequence[int], now: datetime, span: timedelta, zone: ZoneInfo) -> set[int]:
    """Return which of the recorded *hours* `Past.usual` needs."""
    return {hour for end in weeks_before(now, zone) for hour in hours_between(hours, end - span, end)}
