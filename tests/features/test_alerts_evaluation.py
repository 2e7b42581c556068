"""Evaluating alerts: growth, what's usual, daylight saving, and previews."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from bridge.features.alerts.alert import AlertSpec, Period, preview
from bridge.features.alerts.conditions import read_condition
from bridge.features.alerts.readings import Evaluation, OwnFacts, Readings, hours_for, percentile
from bridge.features.statistics.past import Added, Past, Usual, added, usual_of, weeks_before
from bridge.features.statistics.snapshots import LargestNames, Snapshot, compare, hour_of, reading_of, snapshot_of
from bridge.features.statistics.work import EndedTurn
from bridge.project.models import Stats
from support.tables import each

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(weeks=1)
BERLIN = ZoneInfo("Europe/Berlin")


def snapshot(
    at: datetime,
    runs: float = 0,
    *,
    prompts: int = 10,
    tags: Mapping[str, int] | None = None,
    categories: Mapping[str, int] | None = None,
    updated: datetime | None = None,
) -> Snapshot:
    groups = {"tags": LargestNames(tags or {}), "categories": LargestNames(categories or {})}
    return Snapshot(at, {"runs": int(runs), "prompts": prompts}, groups, updated)


def hourly(until: datetime, length: timedelta, total: Callable[[datetime], float]) -> list[Snapshot]:
    """Snapshots of each hour up to *until*, with a *total* of runs for each."""
    hours = range(int(length / HOUR), -1, -1)
    return [snapshot(until - hour * HOUR, total(until - hour * HOUR)) for hour in hours]


def evaluate(
    condition: str, current: Snapshot | None, *past: Snapshot, zone: ZoneInfo = BERLIN, **more: object
) -> Evaluation:
    readings = Readings(NOON, current, Past(past), min((one.at for one in past), default=None), **more)  # type: ignore[arg-type]
    return readings.evaluate(read_condition(condition), zone=zone, target=7)


@each(
    ("condition", "holds", "said"),
    [
        ("runs < 5 in 24h", False, "12 runs in the last 24 h"),
        ("runs < 13 in 24h", True, "12 runs in the last 24 h"),
        ("runs < 1 in 2d", None, "there are no recorded numbers from 2 days ago to compare with yet"),
        ("runs > 100", True, "112 runs"),
        ("runs > 112", False, "112 runs"),
        ("prompts falls", True, "9 prompts (down from 10 in the last hour)"),
        ("prompts rises", False, "9 prompts (down from 10 in the last hour)"),
        ("tags change", True, "new tags: b; removed tags: old"),
        ("categories change", False, "no new or removed categories in the last hour"),
        ("category billing > 40%", True, "Billing: 75% (3 of 4)"),
        ("category BILLING > 75%", False, "BILLING: 75% (3 of 4)"),
        ("category sales > 0", True, "sales: 1"),
        ("category gone > 0", False, "gone: 0"),
        ("stale 6h", True, "last updated 7 h ago"),
        ("stale 8h", False, "last updated 7 h ago"),
        ("versions > 1", None, "the statistics don't have the number of versions"),
    ],
)
def test_statistics_are_compared_with_their_past(condition: str, *, holds: bool | None, said: str) -> None:
    now = snapshot(
        NOON, 112, prompts=9, tags={"a": 2, "b": 1}, categories={"Billing": 3, "sales": 1}, updated=NOON - 7 * HOUR
    )
    past = [
        snapshot(NOON - 24 * HOUR, 100),
        snapshot(NOON - HOUR, 111, tags={"a": 1, "old": 1}, categories={"Billing": 3, "sales": 1}),
    ]

    found = evaluate(condition, now, *past)

    assert (found.holds, found.detail.casefold()) == (holds, said.casefold())


BILLING, SALES = {"name": "billing", "count": 50}, {"name": "sales", "count": 5}


@each(
    "categories",
    [[{"name": "billing", "count": "many"}, SALES], [{"name": "billing"}, SALES], ["billing", SALES], "billing", None],
)
def test_names_that_cannot_be_read_are_neither_none_nor_removed(categories: object) -> None:
    before, now = (Stats.model_validate({"categories": one}) for one in ([BILLING, SALES], categories))
    then = snapshot_of(before, NOON - HOUR)

    for condition in ("category billing < 10", "category billing < 10%", "category sales > 50%", "categories change"):
        assert evaluate(condition, reading_of(now, NOON), then).holds is None, condition
    assert not compare(now, then).groups["categories"].vanished
    assert evaluate("categories change", reading_of(before, NOON), snapshot_of(now, NOON - HOUR)).holds is False


def test_statistics_that_cannot_be_read_change_nothing() -> None:
    assert evaluate("runs < 1", None).holds is None


@each(("condition", "holds"), [("runs > 6 in 1h", False), ("runs < 9 in 1h", True), ("runs < 8 in 1h", False)])
def test_a_period_between_snapshots_is_judged_with_care(condition: str, *, holds: bool) -> None:
    """With a snapshot 90 minutes and one 30 minutes ago, what came in between may be in the hour or not."""
    past = [snapshot(NOON - 1.5 * HOUR, 0), snapshot(NOON - 0.5 * HOUR, 4)]

    assert evaluate(condition, snapshot(NOON, 8), *past).holds is holds


@each(
    ("numbers", "usual"),
    [
        ([], None),
        ([5], None),
        ([5, 5], Usual(5, 0)),
        ([1, 3], Usual(2, 1)),
        ([10, 12, 11, 500], Usual(11.5, 1.0)),
        ([10, 12, 11, 9, 13, 10, 900, 11], Usual(11, 1)),
    ],
)
def test_usual_is_a_median_with_its_spread(numbers: list[float], usual: Usual | None) -> None:
    assert usual_of(numbers) == usual


@each(
    ("runs", "condition", "holds"),
    [
        (30, "runs > 3x usual", False),
        (31, "runs > 3x usual", True),
        (10, "runs > usual", False),
        (11, "runs > usual", True),
        (4, "runs < 0.5x usual", True),
        (5, "runs < 0.5x usual", False),
    ],
)
def test_a_number_is_compared_with_the_usual(runs: int, condition: str, *, holds: bool) -> None:
    past = hourly(NOON - HOUR, 3 * WEEK, lambda at: 10 * ((at - NOON) / HOUR + 1000))

    found = evaluate(condition, snapshot(NOON, past[-1].numbers["runs"] + runs), *past)

    assert found.holds is holds
    assert found.detail.endswith(f"{runs} runs in the last hour, usually 10 ± 0")


def test_nothing_is_usual_before_two_weeks() -> None:
    past = hourly(NOON - HOUR, 2 * WEEK - 2 * HOUR, lambda at: (at - NOON) / HOUR + 1000)

    found = evaluate("runs > 3x usual", snapshot(NOON, 9000), *past)

    assert found.holds is None
    assert found.detail == "what's usual isn't known yet: runs need two weeks of numbers since 2026-11-06"


@each(
    ("totals", "found"),
    [
        ([5, 7, 9], Added(4)),
        ([100, 10], Added(0, is_known=False)),
        ([100, 10, 15, 40], Added(30, is_known=False)),
        ([100, 10, 15, 5, 40], Added(35, is_known=False)),
        ([100, 0, 100], Added(0, is_known=False)),  # restored
        ([100, 0, 105], Added(5, is_known=False)),
    ],
)
def test_after_a_fall_only_what_came_since_is_known(totals: list[float], found: Added) -> None:
    assert added(totals) == found


@each(
    ("condition", "holds", "said"),
    [
        ("runs > 20 in 24h", True, "at least 26 runs in the last 24 h (their total fell meanwhile)"),
        ("runs > 26 in 24h", None, "it's unknown how many runs there were in the last 24 h: their total fell"),
        ("runs < 30 in 24h", None, "it's unknown how many runs there were in the last 24 h: their total fell"),
        ("runs < 26 in 24h", False, "at least 26 runs in the last 24 h (their total fell meanwhile)"),
        ("runs = 25 in 24h", False, "at least 26 runs in the last 24 h (their total fell meanwhile)"),
        ("runs = 26 in 24h", None, "it's unknown how many runs there were in the last 24 h: their total fell"),
        ("runs > 5 in 1h", False, "4 runs in the last hour"),
        ("runs < 1", False, "1,500 runs"),
        ("runs falls in 24h", True, "1,500 runs (down from 100,000 in the last 24 h)"),
        ("runs > 3x usual in 12h", True, "at least 26 runs in the last 12 h (their total fell meanwhile)"),
        ("runs < 0.5x usual in 12h", False, "at least 26 runs in the last 12 h (their total fell meanwhile)"),
    ],
)
def test_a_total_that_fell_is_no_negative_number_of_runs(condition: str, *, holds: bool | None, said: str) -> None:
    """A purge at four in the morning, with 26 runs since."""
    purged = NOON - 8 * HOUR
    past = hourly(
        NOON - HOUR, 3 * WEEK, lambda at: 100_000 if at < purged else 1474 + 22 * ((at - purged) / (7 * HOUR))
    )

    found = evaluate(condition, snapshot(NOON, 1500), *past)

    assert (found.holds, found.detail) == (holds, said)


def test_usual_leaves_out_hours_in_which_a_total_fell() -> None:
    purged = NOON - WEEK - HOUR / 2
    past = hourly(NOON - HOUR, 4 * WEEK, lambda at: (0 if at > purged else 100_000) + 10 * ((at - NOON) / HOUR + 1000))

    found = evaluate("runs > 3x usual", snapshot(NOON, 10_010), *past)

    assert (found.holds, found.detail) == (False, "20 runs in the last hour, usually 10 ± 0")


@each(
    ("condition", "ended"),
    [
        *((f"agent Support {of} {sign} 60s", "") for of in ("p95", "median") for sign in "<>"),
        *(
            (condition, "")
            for condition in ("workflow X fails", "failed runs > 0", "failed runs < 1", "workflow X p95 > 1s")
        ),
        ("workflow X fails", "Unknown"),
        *((f"category billing {compared}", "") for compared in ("< 40%", "> 40%", "< 5", "> 5")),
    ],
)
def test_without_facts_nothing_holds_or_fails_to(condition: str, ended: str) -> None:
    own = OwnFacts(ended=[EndedTurn(NOON, "workflow 7", 1, ended)] if ended else [])

    assert evaluate(condition, snapshot(NOON), snapshot(NOON - HOUR), own=own).holds is None


def test_a_single_run_at_a_quiet_hour_is_usual() -> None:
    past = hourly(NOON - HOUR, 3 * WEEK, lambda _at: 100)

    assert evaluate("runs > 3x usual", snapshot(NOON, 101), *past).holds is False
    assert evaluate("runs > 3x usual", snapshot(NOON, 104), *past).holds is True


@each(
    ("now", "zone", "hours"),
    [
        (datetime(2026, 11, 2, 8, 30, tzinfo=UTC), "UTC", [8, 8]),
        (datetime(2026, 11, 2, 8, 30, tzinfo=UTC), "Europe/Berlin", [8, 7]),  # winter time since 25 October
        (datetime(2026, 4, 6, 7, 0, tzinfo=UTC), "Europe/Berlin", [7, 8]),  # summer time since 29 March
        (datetime(2026, 3, 15, 6, 30, tzinfo=UTC), "America/New_York", [7, 7]),  # 2:30 didn't exist, 3:30 did
    ],
)
def test_the_hour_of_the_week_is_the_clocks(now: datetime, zone: str, hours: list[int]) -> None:
    found = weeks_before(now, ZoneInfo(zone))

    assert len(found) == 8
    assert [one.hour for one in found[:2]] == hours
    assert all(abs((now - week * WEEK) - one) <= HOUR for week, one in enumerate(found, start=1))


def test_only_the_hours_around_are_read() -> None:
    hours = list(range(hour_of(NOON) - 24 * 63, hour_of(NOON)))

    assert hours_for(read_condition("stale 6h"), hours, NOON, BERLIN) == set()
    assert hours_for(read_condition("runs < 1 in 24h"), hours, NOON, BERLIN) == {
        hour_of(NOON) - by for by in range(1, 26)
    }
    assert len(hours_for(read_condition("runs > 3x usual"), hours, NOON, BERLIN)) <= 8 * 6 + 3


@each(
    ("condition", "holds", "said"),
    [
        ("agent Support p95 > 60s", True, "p95 of 2 min in the last hour"),
        ("agent Support median > 60s", False, "median of 10 s in the last hour"),
        ("workflow Import p95 > 1s", None, "there were no runs in the last hour"),
        ("failed runs > 1 in 1h", True, "2 failed runs in the last hour"),
        ("failed runs > 2 in 24h", True, "3 failed runs in the last 24 h"),
        ('workflow "Daily digest" fails', None, "there were no runs in the last hour"),
        ('workflow "Daily digest" fails in 24h', True, "1 failed run in the last 24 h"),
        ("failed work > 0", True, "2 messages or commands failed"),
        ("dead letters > 2", False, "2 messages or commands failed"),
        ("oldest message > 10m", True, "the oldest message has been waiting for 11 min"),
        ("service down 5m", True, "the service has been down for 5 min"),
        ("service down 6m", False, "the service has been down for 5 min"),
    ],
)
def test_the_bridges_own_facts_are_compared(condition: str, *, holds: bool | None, said: str) -> None:
    ended = [
        *(EndedTurn(NOON - timedelta(minutes=5), "agent 7", took, "answered") for took in (10, 10, 10, 120)),
        EndedTurn(NOON - 2 * HOUR, "agent 7", 900, "answered"),
        EndedTurn(NOON, "agent 8", 900, "answered"),
        EndedTurn(NOON, "agent 7", 900, "answered", "orders"),
        *(EndedTurn(NOON - timedelta(minutes=5), "workflow 3", 1, how) for how in ("failed", "Error", "completed")),
        EndedTurn(NOON - 5 * HOUR, "workflow 7", 1, "failed"),
    ]
    own = OwnFacts(2, NOON - timedelta(minutes=11), ended)

    found = evaluate(condition, None, own=own, down_since=NOON - timedelta(minutes=5))

    assert (found.holds, found.detail) == (holds, said)


def test_nothing_waits_and_nothing_is_down() -> None:
    assert evaluate("oldest message > 10m", None).holds is False
    assert evaluate("service down 5m", None).holds is False


@each(("of", "found"), [(95, 19), (50, 10), (100, 20), (1, 1)])
def test_a_percentile_is_one_of_the_numbers(of: int, found: int) -> None:
    assert percentile(range(20, 0, -1), of) == found


SPEC = AlertSpec(condition="runs < 1 in 24h")


def test_a_preview_lists_the_periods() -> None:
    def total(at: datetime) -> float:
        """One run each hour, except on two days, one of which is today."""
        quiet = timedelta(0)
        for begin in (NOON - 10 * DAY, NOON - 2 * DAY):
            quiet += min(max(at - begin, timedelta(0)), 30 * HOUR)
        return 1000 + ((at - NOON) - quiet) / HOUR

    past = hourly(NOON, 40 * DAY, total)
    readings = Readings(NOON, past[-1], Past(past), past[0].at)

    found = preview(SPEC, past, readings)

    assert [one.begin for one in found.periods] == [NOON - 9 * DAY, NOON - DAY]
    assert [one.end for one in found.periods] == [NOON - 9 * DAY + 7 * HOUR, NOON - DAY + 7 * HOUR]
    assert found.since == NOON - 30 * DAY
    assert found.points[-1] == (NOON, 18)


def test_a_preview_needs_snapshots() -> None:
    empty = preview(SPEC, [], Readings(NOON, snapshot(NOON), Past(())))
    of_bridge = preview(AlertSpec(condition="failed work > 0"), [], Readings(NOON))

    assert (empty.since, empty.periods, of_bridge.since) == (None, [], None)


def test_periods_that_last_have_no_end() -> None:
    past = [snapshot(NOON - 2 * HOUR, 10), snapshot(NOON - HOUR, 20)]

    found = preview(AlertSpec(condition="runs > 15"), past, Readings(NOON, snapshot(NOON, 30), Past(past)))

    assert list(found.periods) == [Period(NOON - HOUR, None)]


def test_an_alert_as_earlier_versions_stored_it_has_todays_words() -> None:
    stored = AlertSpec.model_validate_json('{"condition": "dead letters > 2"}')

    assert (stored.condition, stored.parsed.words) == ("failed work > 2", "failed work > 2")
    assert stored.identity == AlertSpec(condition="failed work > 2").identity
