"""What alerts are evaluated on, and the evaluation. Pure functions.

The statistics are read once for all alerts of a project (`Readings.current`), and compared with snapshots of the past.

What's **usual** is the median of the same hour of the week, by the clock of the alert's owner, over up to eight weeks;
its spread is the median of the distances from it (MAD). An unusual number is beyond the multiple of it that was typed,
and further from it than the spread.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any, Final, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

from bridge.engine.limits import UsedLimit
from bridge.features.alerts.conditions import AlertCondition, shown
from bridge.features.statistics.numbers import NUMBERS
from bridge.features.statistics.snapshots import Snapshot, hour_of
from bridge.features.statistics.work import EndedTurn
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.folding import name_key

T = TypeVar("T")

WEEKS: Final = 8
LEARNS_FOR: Final = timedelta(weeks=2)
"""How long numbers must have been recorded until anything counts as usual."""

_A_WEEK: Final = timedelta(weeks=1)
_LEAST_USUAL: Final = 2  # weeks that have numbers
_GAP: Final = timedelta(hours=3)  # between two snapshots, beyond which the numbers between are unknown
_A_DAY: Final = timedelta(days=1)
_MOST_NAMES: Final = 5
_TITLES: Final = {one.name: one for one in NUMBERS}


@dataclass(frozen=True, slots=True)
class OwnFacts:
    """What only the bridge knows: *dead_letters*, the time of the *oldest* unanswered message, and *ended* turns.

    *limits* are those that something counts for, and *limited* what there are limits for.
    """

    dead_letters: int = 0
    oldest: datetime | None = None
    ended: Sequence[EndedTurn] = ()
    limits: Sequence[UsedLimit] = ()
    limited: Collection[str] = ()


class Evaluation(NamedTuple):
    """Whether a condition *holds* (None: that's unknown), what's *said* about it, and the *number* it depends on."""

    holds: bool | None
    said: str
    number: float | None = None


class Past:
    """Snapshots in the order of their time."""

    def __init__(self, snapshots: Iterable[Snapshot]) -> None:
        self.snapshots = sorted(snapshots, key=lambda one: one.at)
        self._times = [one.at for one in self.snapshots]

    def before(self, moment: datetime, within: timedelta) -> Snapshot | None:
        """Return the last snapshot at *moment* or up to *within* before it."""
        place = bisect_right(self._times, moment) - 1
        return self.snapshots[place] if place >= 0 and moment - self._times[place] <= within else None

    def total(self, number: str, moment: datetime) -> float | None:
        """Return a number at a *moment* between two snapshots, as if it had grown steadily; None if it's unknown."""
        place = bisect_right(self._times, moment)
        if place == 0:
            return None
        earlier = self.snapshots[place - 1]
        if earlier.at == moment:
            return earlier.numbers.get(number)
        if place == len(self.snapshots):
            return None
        later = self.snapshots[place]
        if number not in earlier.numbers or number not in later.numbers or later.at - earlier.at > _GAP:
            return None
        share = (moment - earlier.at) / (later.at - earlier.at)
        return earlier.numbers[number] + share * (later.numbers[number] - earlier.numbers[number])


class Usual(NamedTuple):
    """What's usual, and its spread."""

    median: float
    spread: float


@dataclass(frozen=True, slots=True)
class Readings:
    """What's known *now* of one project, and of the bridge.

    *current* are its statistics, None if they can't be read. *since* is when recording began; *down_since* is since
    when the service can't be reached, None if it can.
    """

    now: datetime
    current: Snapshot | None = None
    past: Past = field(default_factory=lambda: Past(()))
    since: datetime | None = None
    down_since: datetime | None = None
    own: OwnFacts = field(default_factory=OwnFacts)
    project: str = ""
    _made: dict[tuple[object, ...], Any] = field(default_factory=dict)

    def evaluate(self, condition: AlertCondition, *, zone: ZoneInfo, target: int | None = None) -> Evaluation:
        """Evaluate a *condition* of a person in a time *zone*; *target* is the ID of its agent or workflow."""
        match condition.subject:
            case "down" if self.down_since is None:
                return Evaluation(False, "the service answers", 0)
            case "down":
                length = self.now - (self.down_since or self.now)
                said = f"the service has been down for {kit.spoken(length)}"
                return Evaluation(length.total_seconds() >= condition.value, said, length.total_seconds())
            case "dead letters":
                count = self.own.dead_letters
                return Evaluation(condition.holds_for(count), kit.counted(count, "dead letter"), count)
            case "oldest" if self.own.oldest is None:
                return Evaluation(condition.holds_for(0), "no message is waiting", 0)
            case "oldest":
                age = max(self.now - (self.own.oldest or self.now), timedelta(0))
                said = f"the oldest message has been waiting for {kit.spoken(age)}"
                return Evaluation(condition.holds_for(age.total_seconds()), said, age.total_seconds())
            case "limits":
                return self._limits(condition)
            case "time" | "fails" | "failed runs":
                return self._of_turns(condition, target)
        if self.current is None:
            return Evaluation(None, "the statistics can't be read right now")
        match condition.subject:
            case "stale":
                return self._stale(condition, self.current)
            case "count":
                return self._count(condition, self.current)
            case "names":
                current, key = self.current, ("names", condition.of, condition.span)
                return self._once(key, lambda: self._names(condition, current))
            case _:
                return self._number(condition, self.current, zone)

    def _limits(self, condition: AlertCondition) -> Evaluation:
        what = {"": "anything", "turns": "messages"}.get(condition.of, condition.of)
        if not (condition.of in self.own.limited if condition.of else self.own.limited):
            return Evaluation(None, f"no limit of {what} is set")
        found = [one for one in self.own.limits if condition.of in {"", one.unit}]
        if not found:
            return Evaluation(condition.holds_for(0), f"no limit of {what} is in use", 0)
        fullest = max(found, key=lambda one: one.share)
        others = sum(condition.holds_for(one.share) for one in found) - 1
        more = f", and so {'is' if others == 1 else 'are'} {kit.counted(others, 'other')}" if others > 0 else ""
        said = f"{shown(fullest.share)}% of {fullest.words} is used{more}"
        return Evaluation(condition.holds_for(fullest.share), said, fullest.share)

    def _of_turns(self, condition: AlertCondition, target: int | None) -> Evaluation:
        span = condition.span or timedelta(hours=1)
        lately = _lately(span)
        of = f"{condition.of} {target}" if condition.of else ""
        if condition.subject == "time":
            key = ("time", of, span, condition.percentile)
            took = self._once(
                key, lambda: percentile([one.took for one in self._ended(of, span)], condition.percentile)
            )
            if took is None:
                what = "answers" if condition.of == "agent" else "runs"
                return Evaluation(False, f"no {what} {lately}")
            name = "median" if condition.percentile == 50 else "p95"  # noqa: PLR2004
            said = f"{name} of {kit.spoken(timedelta(seconds=took))} {lately}"
            return Evaluation(condition.holds_for(took), said, took)
        failed = self._once(
            ("failed", of, span),
            lambda: sum(one.of.startswith("workflow ") and one.end == "failed" for one in self._ended(of, span)),
        )
        return Evaluation(condition.holds_for(failed), f"{kit.counted(failed, 'failed run')} {lately}", failed)

    def _ended(self, of: str, span: timedelta) -> list[EndedTurn]:
        """Return what ended in the last *span*, of an agent or a workflow (``""``: of all)."""
        return [one for one in self._once(("ended",), self._all_ended).get(of, ()) if one.at >= self.now - span]

    def _all_ended(self) -> dict[str, list[EndedTurn]]:
        """Return what has ended in this project, by agent and workflow, and all of it."""
        found: dict[str, list[EndedTurn]] = {"": []}
        for one in self.own.ended:
            is_answer_or_run = not one.of.startswith("agent ") or one.end == "good"
            if one.project == self.project and one.at <= self.now and is_answer_or_run:
                found.setdefault(one.of, []).append(one)
                found[""].append(one)
        return found

    def _once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return what *make* returns, which many alerts share."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]  # type: ignore[no-any-return]

    def _stale(self, condition: AlertCondition, current: Snapshot) -> Evaluation:
        if current.updated is None:
            return Evaluation(None, "the service doesn't say when its statistics were updated")
        age = max(self.now - current.updated, timedelta(0))
        said = f"last updated {kit.spoken(age)} ago"
        return Evaluation(age.total_seconds() >= condition.value, said, age.total_seconds())

    def _count(self, condition: AlertCondition, current: Snapshot) -> Evaluation:
        counts = self._once(("counts", condition.of), lambda: counts_by_key(current, condition.of))
        count, called = counts.get(name_key(condition.name), 0), kit.named(condition.name, 80)
        if not condition.is_share:
            return Evaluation(condition.holds_for(count), f"{called}: {shown(count)}", count)
        total = self._once(("total", condition.of), lambda: sum(counts.values()))
        share = 100 * count / total if total > 0 else 0.0
        said = f"{called}: {shown(share)}% ({shown(count)} of {shown(total)})"
        return Evaluation(condition.holds_for(share), said, share)

    def _names(self, condition: AlertCondition, current: Snapshot) -> Evaluation:
        span = condition.span or timedelta(hours=1)
        then = self.past.before(self.now - span, _slack(span))
        if then is None or condition.of not in then.groups or condition.of not in current.groups:
            return self._not_recorded(span)
        now, before = current.groups[condition.of], then.groups[condition.of]
        new = [] if before.others else sorted(now.named.keys() - before.named.keys())
        gone = [] if now.others else sorted(before.named.keys() - now.named.keys())
        parts = [
            f"{word} {condition.of}: {kit.first_of([kit.named(name, 60) for name in names], _MOST_NAMES)}"
            for word, names in (("new", new), ("removed", gone))
            if names
        ]
        lately = _lately(span)
        said = f"{'; '.join(parts)}" if parts else f"no new or removed {condition.of} {lately}"
        return Evaluation(bool(parts), said, len(new) + len(gone))

    def _number(self, condition: AlertCondition, current: Snapshot, zone: ZoneInfo) -> Evaluation:
        number, span = _TITLES[condition.of], condition.span
        total = current.numbers.get(condition.of)
        if total is None:
            return Evaluation(None, f"the statistics don't have the number of {condition.of}")
        if span is None:
            return Evaluation(condition.holds_for(total), f"{shown(total)} {number.noun(total)}", total)
        if condition.is_usual:
            return self._unusual(condition, total, span, zone)
        growth = self._growth(condition, total, span)
        if growth is None:
            return self._not_recorded(span)
        lately = _lately(span)
        if condition.sign in {"falls", "rises"}:
            moved = growth < 0 if condition.sign == "falls" else growth > 0
            changed = f"{growth:+,}" if growth else "no change"
            return Evaluation(moved, f"{shown(total)} {number.noun(total)} ({changed} {lately})", growth)
        return Evaluation(condition.holds_for(growth), f"{shown(growth)} {number.noun(growth)} {lately}", growth)

    def _growth(self, condition: AlertCondition, total: int, span: timedelta) -> int | None:
        """Return the growth in the last *span*: of at least that length, but of no more if there may be too much."""
        then = self.past.before(self.now - span, _slack(span))
        if then is None or condition.of not in then.numbers:
            return None
        if condition.sign in {">", ">="}:
            between = self._total_between(condition.of, total, self.now - span)
            if between is not None:
                return int(total - between)  # whole ones
        return total - then.numbers[condition.of]

    def _total_between(self, number: str, total: int, moment: datetime) -> float | None:
        """Return a number at a recent *moment*, of which the next reading may be the current one."""
        found = self.past.total(number, moment)
        then = self.past.before(moment, _GAP)
        if found is not None or then is None or number not in then.numbers:
            return found
        share = (moment - then.at) / (self.now - then.at) if self.now > then.at else 1
        return then.numbers[number] + share * (total - then.numbers[number])

    def _unusual(self, condition: AlertCondition, total: int, span: timedelta, zone: ZoneInfo) -> Evaluation:
        noun = _TITLES[condition.of].noun
        if self.since is None or self.now - self.since < LEARNS_FOR:
            since = f" since {self.since.astimezone(UTC):%Y-%m-%d}" if self.since else ""
            return Evaluation(None, f"what's usual isn't known yet: {condition.of} need two weeks of numbers{since}")
        begin = self._total_between(condition.of, total, self.now - span)
        if begin is None:
            return self._not_recorded(span)
        usual = self._usual_of(condition.of, span, zone)
        if usual is None:
            return Evaluation(None, f"what's usual isn't known: too few {condition.of} were recorded at this hour")
        growth = total - begin
        said = f"{shown(growth)} {noun(round(growth))} {_lately(span)}"
        said = f"{said}, usually {shown(usual.median)} ± {shown(usual.spread)}"
        return Evaluation(is_unusual(growth, usual, condition), said, growth)

    def _usual_of(self, number: str, span: timedelta, zone: ZoneInfo) -> Usual | None:
        def make() -> Usual | None:
            growths = []
            for end in weeks_before(self.now, zone):
                last, first = self.past.total(number, end), self.past.total(number, end - span)
                growths += [last - first] if last is not None and first is not None else []
            return usual_of(growths)

        return self._once(("usual", number, span, zone.key), make)

    def _not_recorded(self, span: timedelta) -> Evaluation:
        return Evaluation(None, f"there are no recorded numbers from {kit.spoken(span)} ago to compare with yet")


def is_unusual(number: float, usual: Usual, condition: AlertCondition) -> bool:
    """Whether *number* is beyond the multiple of what's *usual*, and further from that than its spread."""
    if condition.sign in {">", ">="}:
        least = condition.value * max(usual.median, 1.0)  # at hours without any, a single one is no news
        return condition.compares(number, least) and number > usual.median + usual.spread
    return condition.compares(number, condition.value * usual.median) and number < usual.median - usual.spread


def usual_of(numbers: Sequence[float]) -> Usual | None:
    """Return the median of *numbers*, and their median distance from it; None if there are too few."""
    if len(numbers) < _LEAST_USUAL:
        return None
    middle = median(numbers)
    return Usual(middle, median(abs(one - middle) for one in numbers))


def weeks_before(now: datetime, zone: ZoneInfo) -> list[datetime]:
    """Return the same time of the week by the clock in *zone*, up to eight weeks back, whatever the clock did since."""
    wall = now.astimezone(zone).replace(tzinfo=None)
    return [(wall - week * _A_WEEK).replace(tzinfo=zone, fold=0).astimezone(UTC) for week in range(1, WEEKS + 1)]


def hours_for(condition: AlertCondition, hours: Sequence[int], now: datetime, zone: ZoneInfo) -> set[int]:
    """Return which of the recorded *hours*, in order, an evaluation needs."""
    span = condition.span
    if span is None or not condition.is_of_statistics:
        return set()
    ends = weeks_before(now, zone) if condition.is_usual else []
    wanted: set[int] = set()
    for moment in (now - span, *ends, *(end - span for end in ends)):
        place = bisect_right(hours, hour_of(moment))
        wanted.update(hours[max(0, place - 2) : place + 1])
    return wanted


def counts_by_key(current: Snapshot, group: str) -> dict[str, int]:
    """Return the counts of a group by what all spellings of a name have in common."""
    found: dict[str, int] = {}
    for name, count in (current.groups[group].named if group in current.groups else {}).items():
        found[name_key(name)] = found.get(name_key(name), 0) + count
    return found


def percentile(numbers: Sequence[float], of: int) -> float | None:
    """Return the smallest of *numbers* that at least *of* percent of them don't exceed; None if there are none."""
    ordered = sorted(numbers)
    if not ordered:
        return None
    return ordered[max(0, -(-len(ordered) * of // 100) - 1)]


def _lately(span: timedelta) -> str:
    return "in the last hour" if span == timedelta(hours=1) else f"in the last {kit.spoken(span)}"


def _slack(span: timedelta) -> timedelta:
    """Return how much older than *span* a snapshot may be: they are hourly, and after a week may be daily."""
    return _GAP if span <= 7 * _A_DAY else _A_DAY + _GAP
