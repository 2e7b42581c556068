"""Snapshots of the statistics: bounded, thinned, found and compared."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings, strategies as st

from bridge.errors import RecordNotUnderstood
from bridge.features.schedules.schedule import read_report
from bridge.features.statistics.layout import stats_card
from bridge.features.statistics.numbers import NUMBERS, Number
from bridge.features.statistics.snapshots import (
    MOST_BYTES,
    STORED_FOR,
    LargestNames,
    Snapshot,
    compare,
    hour_of,
    moment_of,
    nearest_hour,
    over_time,
    parse_moment,
    snapshot_of,
    surplus,
)
from bridge.project.models import Stats
from support.tables import each

NOON = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def stats_with(tags: dict[str, int], runs: int = 10) -> Stats:
    return Stats.model_validate({
        "promptCount": 3, "runCount": runs, "versionCount": 1, "categories": [],
        "tags": [{"name": name, "count": count} for name, count in tags.items()],
        "lastUpdated": "2026-11-20T12:00:00.000Z",
    })  # fmt: skip


def hours_back(*back: float) -> list[int]:
    return [hour_of(NOON - HOUR * hours) for hours in back]


@settings(max_examples=60)
@given(
    st.dictionaries(st.text(max_size=300), st.integers(min_value=0, max_value=10**40), max_size=300),
    st.integers(min_value=0, max_value=10**200),
)
def test_a_snapshot_never_exceeds_its_limit(tags: dict[str, int], runs: int) -> None:
    taken = snapshot_of(stats_with(tags, runs), NOON)

    assert len(taken.to_text().encode()) <= MOST_BYTES
    assert len(taken.groups["tags"].named) + taken.groups["tags"].others == len(tags)


def test_a_snapshot_is_read_back_as_it_was_written() -> None:
    taken = snapshot_of(stats_with({"billing": 3, "Ünïcode ✓": 2, "": 1}), NOON)

    assert Snapshot.from_text(taken.to_text()) == taken


def test_a_full_snapshot_names_the_largest() -> None:
    taken = snapshot_of(stats_with({f"tag number {number}": number for number in range(1000)}), NOON).groups["tags"]

    assert "tag number 999" in taken.named
    assert "tag number 1" not in taken.named
    assert taken.others > 800


@each("text", ["", "[]", "{}", '{"at":"x","n":{},"g":{}}', '{"at":1,"n":[1],"g":{}}', '{"at":1,"n":{},"g":{"tags":0}}'])
def test_an_invalid_record_is_not_understood(text: str) -> None:
    with pytest.raises(RecordNotUnderstood):
        Snapshot.from_text(text)


def test_beyond_a_week_a_day_keeps_its_first_snapshot() -> None:
    oldest = hour_of(NOON - STORED_FOR) - 48
    kept: set[int] = set()

    for hour in range(oldest, hour_of(NOON) + 1, 4):  # the bridge removes the surplus every hour
        kept.update(range(hour, min(hour + 4, hour_of(NOON) + 1)))
        kept -= surplus(kept, moment_of(max(kept)) + HOUR / 2)

    week = hour_of(NOON - 7 * DAY)
    assert {hour for hour in kept if hour >= week} == set(range(week, hour_of(NOON) + 1))
    older = sorted(hour for hour in kept if hour < week)
    assert [hour % 24 for hour in older if hour // 24 > older[0] // 24] == [0] * (len(older) - 1)
    assert older[0] >= hour_of(NOON - STORED_FOR)
    assert len(kept) <= 600


def test_a_day_keeps_its_first_snapshot_at_any_hour() -> None:
    day = hour_of(datetime(2026, 11, 1, tzinfo=UTC))

    assert surplus([day + 5, day + 6, day + 30], NOON) == {day + 6}
    assert surplus([], NOON) == set()


@each(
    ("back", "wanted", "within", "found"),
    [
        ((1, 24, 48), 23, None, 24),
        ((1, 24, 48), 200, None, 48),
        ((1, 24, 48), 200, 24 * HOUR, None),
        ((1, 24, 48), 30, 12 * HOUR, 24),
        ((), 1, None, None),
    ],
)
def test_the_nearest_snapshot_within_reach_is_found(
    back: tuple[float, ...], wanted: float, within: timedelta | None, found: float | None
) -> None:
    hour = nearest_hour(hours_back(*back), NOON - HOUR * wanted, within=within)

    assert hour == (None if found is None else hours_back(found)[0])


def test_a_line_over_a_month_has_one_point_a_day() -> None:
    month = hours_back(*range(1, 24 * 30))

    found = over_time(month, min(month), most=19)

    assert found == sorted(found)
    assert len(found) == len({hour // 24 for hour in found}) == 19


def test_a_line_over_a_few_hours_has_them_all() -> None:
    assert over_time(hours_back(9, 3, 2, 1), hours_back(5)[0], most=19) == sorted(hours_back(3, 2, 1))


@each(("count", "picked"), [(3, [0, 1, 2]), (10, [0, 3, 6, 9]), (0, [])])
def test_points_are_sampled_evenly_with_both_ends(count: int, picked: list[int]) -> None:
    assert over_time(range(count), 0, most=4) == picked


def test_changes_are_listed_by_number_and_by_name() -> None:
    then = snapshot_of(stats_with({"alpha": 1, "beta": 5}, runs=8), NOON - HOUR)

    changes = compare(stats_with({"beta": 7, "gamma": 2, "delta": 3}, runs=10), then, called="yesterday")

    assert (changes.called, changes.since) == ("yesterday", NOON - HOUR)
    assert {name: one.by for name, one in changes.numbers.items()} == {"prompts": 0, "runs": 2, "versions": 0}
    tags = changes.groups["tags"]
    assert (tags.new, tags.vanished) == ((("delta", 3), ("gamma", 2)), (("alpha", 1),))
    assert {name: one.by for name, one in tags.moved.items()} == {"beta": 2}


def test_a_name_that_may_have_been_too_rare_is_not_new() -> None:
    then = Snapshot(NOON, {}, {"tags": LargestNames({"alpha": 9}, others=3)})

    changes = compare(stats_with({"alpha": 9, "beta": 1}), then)

    assert (changes.groups["tags"].new, changes.groups["tags"].vanished) == ((), ())


def test_a_number_that_an_older_snapshot_lacks_is_not_compared() -> None:
    changes = compare(stats_with({"alpha": 9}), Snapshot(NOON, {"runs": 1}, {}))

    assert (list(changes.numbers), dict(changes.groups)) == (["runs"], {})


def test_a_name_listed_twice_counts_once() -> None:
    stats = Stats.model_validate(stats_with({}).model_dump() | {"tags": [{"name": "a", "count": 1}] * 2})

    assert snapshot_of(stats, NOON).groups["tags"].named == {"a": 2}


@each(
    ("text", "expected"),
    [
        ("7d", NOON - 7 * DAY),
        ("24h", NOON - DAY),
        ("90m", NOON - timedelta(minutes=90)),
        ("30 minutes ago", NOON - timedelta(minutes=30)),
        ("2 Weeks ago", NOON - 14 * DAY),
        ("yesterday", NOON - DAY),
        ("last week", NOON - 7 * DAY),
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T09:00+01:00", datetime(2026, 11, 1, 8, tzinfo=UTC)),
        *dict.fromkeys(("2026-11-21", "2020-01-01", "401d", "0d", "9999w", "-1d", "tuesday", "3 months", "")).items(),
    ],
)
def test_a_time_is_read_as_people_type_it(text: str, expected: datetime | None) -> None:
    assert parse_moment(text, NOON) == expected


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.name)
def test_each_number_of_the_table_is_stored_compared_and_offered(number: Number) -> None:
    known = stats_with({}).model_copy(update={one.field: 1 for one in NUMBERS})
    then = Snapshot.from_text(snapshot_of(known, NOON).to_text())
    grown = known.model_copy(update={number.field: 1000})

    changes = compare(grown, then)

    assert {name for name, one in changes.numbers.items() if one.by} == {number.name}
    assert f"1,000 {number.name} (" in stats_card(grown, changes=[changes]).text
    assert read_report(f"daily 09:00 --only {number.name}").only == (number.name,)
