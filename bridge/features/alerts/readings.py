"""What alerts are evaluated on, and the evaluation. Pure functions.

The statistics are read once for all alerts of a project (`Readings.current`), and compared with snapshots of the past
(`bridge.features.statistics.past`). A condition holds, doesn't hold, or that's unknown: without facts, it's unknown.

An unusual number is beyond the multiple of what's usual that was typed, and further from that than its spread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

from bridge.features.alerts.conditions import AlertCondition, number_shown
from bridge.features.episodes.episode import Finding
from bridge.features.statistics.numbers import NUMBERS
from bridge.features.statistics.past import (
    GAP,
    LEARNS_FOR,
    Added,
    Past,
    Usual,
    hours_between,
    hours_of_usual,
)
from bridge.features.statistics.snapshots import Snapshot
from bridge.features.statistics.work import EndedTurn
from bridge.names.folding import name_key
from bridge.slack.blockkit import kit

T = TypeVar("T")

_A_DAY: Final = timedelta(days=1)
_MOST_NAMES: Final = 5
_TITLES: Final = {number.name: number for number in NUMBERS}


@dataclass(frozen=True, slots=True)
class OwnFacts:
    """What only the bridge knows: *dead_letters*, the time of the *oldest* unanswered message, and *ended* turns."""

    dead_letters: int = 0
    oldest: datetime | None = None
    ended: Sequence[EndedTurn] = ()


class Evaluation(NamedTuple):
    """Whether a condition *holds* (None: that's unknown), the *detail* that's shown, and the *number* it depends on.

    It *is_quiet* if that's unknown only because nothing has happened.
    """

    holds: bool | None
    detail: str
    number: float | None = None
    is_quiet: bool = False

    @property
    def may_hold(self) -> bool:
        """Whether there's all that it takes to evaluate the condition, as soon as something happens."""
        return self.holds is not None or self.is_quiet

    def found(self, now: datetime) -> Finding | Literal["unknown"] | None:
        """Return what this finds *now*."""
        return "unknown" if self.holds is None else Finding("alert", now) if self.holds else None


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
                detail = f"the service has been down for {kit.spoken(length)}"
                return Evaluation(length.total_seconds() >= condition.value, detail, length.total_seconds())
            case "failed work":
                count = self.own.dead_letters
                noun = "message or command" if count == 1 else "messages or commands"
                return Evaluation(
                    condition.holds_for(count), f"{count:,} {noun} failed" if count else "no work failed", count
                )
            case "oldest" if self.own.oldest is None:
                return Evaluation(condition.holds_for(0), "no message is waiting", 0)
            case "oldest":
                age = max(self.now - (self.own.oldest or self.now), timedelta(0))
                detail = f"the oldest message has been waiting for {kit.spoken(age)}"
                return Evaluation(condition.holds_for(age.total_seconds()), detail, age.total_seconds())
            case "time" | "fails" | "failed runs":
                return self._of_turns(condition, target)
        if self.current is None:
            return Evaluation(None, "the statistics can't be read right now")
        match condition.subject:
            case "stale" if self.current.updated is None:
                return Evaluation(None, "the service doesn't say when its statistics were updated")
            case "stale":
                age = max(self.now - (self.current.updated or self.now), timedelta(0))
                detail = f"last updated {kit.spoken(age)} ago"
                return Evaluation(age.total_seconds() >= condition.value, detail, age.total_seconds())
            case "count":
                return self._count(condition, self.current)
            case "names":
                current, key = self.current, ("names", condition.of, condition.span)
                return self._once(key, lambda: self._names(condition, current))
            case _:
                return self._number(condition, self.current, zone)

    def _of_turns(self, condition: AlertCondition, target: int | None) -> Evaluation:
        span = condition.span or timedelta(hours=1)
        lately = _lately(span)
        of = f"{condition.of} {target}" if condition.of else ""
        if condition.subject == "time":
            key = ("time", of, span, condition.percentile)
            took = self._once(
                key,
                lambda: percentile(
                    [turn.took for turn in self._ended(of, span) if condition.of == "workflow" or turn.end == "good"],
                    condition.percentile,
                ),
            )
            if took is None:
                what = "answers" if condition.of == "agent" else "runs"
                return Evaluation(None, f"there were no {what} {lately}", is_quiet=True)
            name = "median" if condition.percentile == 50 else "p95"  # noqa: PLR2004
            detail = f"{name} of {kit.spoken(timedelta(seconds=took))} {lately}"
            return Evaluation(condition.holds_for(took), detail, took)
        kind, noun = ("agent", "answer") if condition.of == "agent" else ("workflow", "run")
        ends = self._once(
            ("ends", of, span),
            lambda: Counter(turn.end for turn in self._ended(of, span) if turn.of.startswith(f"{kind} ")),
        )
        if not ends["failed"] + ends["good"]:
            return Evaluation(None, f"there were no {noun}s {lately}", is_quiet=True)
        failed = ends["failed"]
        return Evaluation(condition.holds_for(failed), f"{kit.counted(failed, f'failed {noun}')} {lately}", failed)

    def _ended(self, of: str, span: timedelta) -> list[EndedTurn]:
        """Return what ended in the last *span*, of an agent or a workflow (``""``: of all)."""
        return [turn for turn in self._once(("ended",), self._all_ended).get(of, ()) if turn.at >= self.now - span]

    def _all_ended(self) -> dict[str, list[EndedTurn]]:
        """Return what has ended in this project, by agent and workflow, and all of it."""
        ended: dict[str, list[EndedTurn]] = {"": []}
        for turn in self.own.ended:
            if turn.project == self.project and turn.at <= self.now:
                ended.setdefault(turn.of, []).append(turn)
                ended[""].append(turn)
        return ended

    def _once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return what *make* returns, which many alerts share."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]  # type: ignore[no-any-return]

    def _count(self, condition: AlertCondition, current: Snapshot) -> Evaluation:
        counts = self._once(("counts", condition.of), lambda: counts_by_key(current, condition.of))
        count, called = counts.get(name_key(condition.name), 0), kit.named(condition.name, 80)
        total = self._once(("total", condition.of), lambda: sum(counts.values()))
        if not counts or (condition.is_share and total <= 0):
            return Evaluation(None, f"the statistics count no {condition.of}", is_quiet=True)
        if current.groups[condition.of].others and (condition.is_share or name_key(condition.name) not in counts):
            return _only_some(condition)
        if not condition.is_share:
            return Evaluation(condition.holds_for(count), f"{called}: {number_shown(count)}", count)
        share = 100 * count / total
        detail = f"{called}: {number_shown(share)}% ({number_shown(count)} of {number_shown(total)})"
        return Evaluation(condition.holds_for(share), detail, share)

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
        if now.others and not parts:
            return _only_some(condition)
        lately = _lately(span)
        detail = f"{'; '.join(parts)}" if parts else f"no new or removed {condition.of} {lately}"
        return Evaluation(bool(parts), detail, len(new) + len(gone))

    def _number(self, condition: AlertCondition, current: Snapshot, zone: ZoneInfo) -> Evaluation:
        number, span = _TITLES[condition.of], condition.span
        total = current.numbers.get(condition.of)
        if total is None:
            return Evaluation(None, f"the statistics don't have the number of {condition.of}")
        if span is None:
            return Evaluation(condition.holds_for(total), f"{number_shown(total)} {number.noun(total)}", total)
        if condition.is_usual:
            return self._unusual(condition, current, total, span, zone)
        then = self.past.before(self.now - span, _slack(span))
        if then is None or condition.of not in then.numbers:
            return self._not_recorded(span)
        lately, before = _lately(span), then.numbers[condition.of]
        if condition.sign in {"falls", "rises"}:
            moved = total < before if condition.sign == "falls" else total > before
            changed = f"{total - before:+,}" if total > before else "no change" if total == before else ""
            detail = f"{number_shown(total)} {number.noun(total)} ({changed or f'down from {before:,}'} {lately})"
            return Evaluation(moved, detail, total - before)
        begin, first = then.at, float(before)
        if condition.sign in {">", ">="}:  # no more than the span, if there may be too much
            between = self.past.total(condition.of, self.now - span, current)
            begin, first = (self.now - span, between) if between is not None else (begin, first)
        added = self.past.added(condition.of, begin, first, self.now, total)
        growth = int(added.least)  # whole ones
        if added.is_known:
            return Evaluation(
                condition.holds_for(growth), f"{number_shown(growth)} {number.noun(growth)} {lately}", growth
            )
        return self._after_a_fall(condition, added, condition.holds_for)

    def _after_a_fall(self, condition: AlertCondition, added: Added, holds: Callable[[float], bool]) -> Evaluation:
        """Evaluate what was added if the total fell meanwhile: what has come since may decide it alone."""
        noun, lately = _TITLES[condition.of].noun(round(added.least)), _lately(condition.span or _A_DAY)
        is_over = condition.sign in {">", ">="}
        at_least = added.least > condition.value if condition.sign == "=" else holds(added.least) is is_over
        if not at_least:  # more of them may change that
            return Evaluation(None, f"it's unknown how many {condition.of} there were {lately}: their total fell")
        detail = f"at least {number_shown(added.least)} {noun} {lately} (their total fell meanwhile)"
        return Evaluation(is_over, detail, added.least)

    def _unusual(
        self, condition: AlertCondition, current: Snapshot, total: int, span: timedelta, zone: ZoneInfo
    ) -> Evaluation:
        noun = _TITLES[condition.of].noun
        if self.since is None or self.now - self.since < LEARNS_FOR:
            since = f" since {self.since.astimezone(UTC):%Y-%m-%d}" if self.since else ""
            return Evaluation(None, f"what's usual isn't known yet: {condition.of} need two weeks of numbers{since}")
        moment, begin = self.now - span, self.past.total(condition.of, self.now - span, current)
        then = self.past.before(moment, GAP)
        is_between = begin is not None
        if begin is None and then is not None and condition.of in then.numbers:  # it may have fallen since
            moment, begin = then.at, then.numbers[condition.of]
        if begin is None:
            return self._not_recorded(span)
        added = self.past.added(condition.of, moment, begin, self.now, total)
        if added.is_known and not is_between:
            return self._not_recorded(span)
        usual = self._once(
            ("usual", condition.of, span, zone.key), lambda: self.past.usual(condition.of, self.now, span, zone)
        )
        if usual is None:
            return Evaluation(None, f"what's usual isn't known: too few {condition.of} were recorded at this hour")
        if not added.is_known:
            return self._after_a_fall(condition, added, lambda growth: is_unusual(growth, usual, condition))
        growth = added.least
        detail = f"{number_shown(growth)} {noun(round(growth))} {_lately(span)}"
        detail = f"{detail}, usually {number_shown(usual.median)} ± {number_shown(usual.spread)}"
        return Evaluation(is_unusual(growth, usual, condition), detail, growth)

    def _not_recorded(self, span: timedelta) -> Evaluation:
        return Evaluation(None, f"there are no recorded numbers from {kit.spoken(span)} ago to compare with yet")


def _only_some(condition: AlertCondition) -> Evaluation:
    return Evaluation(None, f"only some {condition.of} in the statistics can be read")


def is_unusual(number: float, usual: Usual, condition: AlertCondition) -> bool:
    """Whether *number* is beyond the multiple of what's *usual*, and further from that than its spread."""
    if condition.sign in {">", ">="}:
        least = condition.value * max(usual.median, 1.0)  # at hours without any, a single one is no news
        return condition.compares(number, least) and number > usual.median + usual.spread
    return condition.compares(number, condition.value * usual.median) and number < usual.median - usual.spread


def hours_for(condition: AlertCondition, hours: Sequence[int], now: datetime, zone: ZoneInfo) -> set[int]:
    """Return which of the recorded *hours*, in order, an evaluation needs."""
    span = condition.span
    if span is None or not condition.is_of_statistics:
        return set()
    wanted = hours_of_usual(hours, now, span, zone) if condition.is_usual else set()
    return wanted.union(hours_between(hours, now - span, now - span if condition.subject == "names" else now))


def counts_by_key(current: Snapshot, group: str) -> dict[str, int]:
    """Return the counts of a group by what all spellings of a name have in common."""
    counts: dict[str, int] = {}
    for name, count in (current.groups[group].named if group in current.groups else {}).items():
        counts[name_key(name)] = counts.get(name_key(name), 0) + count
    return counts


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
    return GAP if span <= 7 * _A_DAY else _A_DAY + GAP
