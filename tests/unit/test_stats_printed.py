"""`bridge stats`: its output for people and for programs."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta

from bridge.cli.stats import Compared, for_people, for_programs, for_sheets
from bridge.features.shared.snapshots import compare, snapshot_of
from bridge.project.models import Stats

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def stats_with(runs: int, tags: dict[str, int]) -> Stats:
    return Stats.model_validate({
        "promptCount": 1234567, "runCount": runs, "versionCount": 96, "categories": [{"name": "manual", "count": 6}],
        "tags": [{"name": name, "count": count} for name, count in tags.items()],
        "lastUpdated": "2026-11-20T12:00:00.000Z",
    })  # fmt: skip


THEN = snapshot_of(stats_with(1178, {"billing": 3, "gone": 2}), NOON - timedelta(days=7))
NOW = stats_with(1234, {"billing": 5, "=HYPERLINK(1)": 1})
COMPARED = Compared(NOW, compare(NOW, THEN), NOON - timedelta(days=30))


def test_people_read_numbers_names_and_changes() -> None:
    lines = for_people(COMPARED, asked_since=True).splitlines()

    assert "Runs                     1,234  (+56, +4.8%)" in lines
    assert "  billing                    5  (+2)" in lines
    assert "  =HYPERLINK(1)              1  (new)" in lines
    assert "Removed tags: gone (2)" in lines
    assert lines[-1] == "Changes since 2026-11-13T12:00:00Z"


def test_without_since_nothing_is_compared() -> None:
    text = for_people(Compared(NOW), asked_since=False)

    assert "1,234" in text
    assert "Changes" not in text
    assert "compare" not in text


def test_without_an_earlier_snapshot_it_says_when_to_try_again() -> None:
    said = for_people(Compared(NOW, None, NOON), asked_since=True)

    assert said.endswith(
        "Nothing to compare with yet: numbers are recorded once an hour, since 2026-11-20T12:00:00Z. "
        "Try again after 2026-11-20T13:00:00Z."
    )
    assert for_people(Compared(NOW), asked_since=True).endswith(
        "Nothing to compare with yet: a running bridge records numbers once an hour."
    )


def test_outside_text_cannot_disturb_the_screen() -> None:
    assert "\x1b" not in for_people(Compared(stats_with(1, {"\x1b[2J": 1})), asked_since=False)


def test_json_has_the_services_fields_and_differences() -> None:
    data = json.loads(for_programs(COMPARED))

    assert (data["runCount"], data["promptCount"]) == (1234, 1234567)
    assert data["tags"][0] == {"name": "billing", "count": 5}
    assert data["since"]["at"] == "2026-11-13T12:00:00+00:00"
    assert (data["since"]["runCount"], data["since"]["versionCount"]) == (56, 0)
    assert data["since"]["tags"] == {"new": {"=HYPERLINK(1)": 1}, "vanished": {"gone": 2}, "changed": {"billing": 2}}
    assert json.loads(for_programs(Compared(NOW)))["since"] is None


def test_csv_has_a_line_each_and_no_formulas() -> None:
    rows = list(csv.DictReader(io.StringIO(for_sheets(COMPARED))))

    assert rows[1] == {"kind": "number", "name": "runs", "count": "1234", "then": "1178", "change": "56"}
    assert {"kind": "tag", "name": "billing", "count": "5", "then": "3", "change": "2"} in rows
    assert {"kind": "tag", "name": "gone", "count": "0", "then": "2", "change": "-2"} in rows
    assert {"kind": "tag", "name": "'=HYPERLINK(1)", "count": "1", "then": "0", "change": "1"} in rows
    assert for_sheets(Compared(NOW)).splitlines()[0] == "kind,name,count"
