"""The rows of a check: what is shown of them, and what the settings' problems become."""

from __future__ import annotations

import json

import pytest

from bridge.ops.rows import Row, State, is_well, settings_rows, table, to_json

ROWS = [
    Row("Slack", "bot token", State.OK, "bot “bridge”"),
    Row("Slack", "clock", State.WARNING, "90 s behind Slack's", "set this machine's clock (NTP)"),
    Row("Redis", "reachable", State.FAILURE, "nobody answers there", "see that it runs"),
]


def test_the_table_shows_areas_signs_and_cures() -> None:
    assert table(ROWS).splitlines() == [
        "Slack",
        "  ✓ bot token  bot “bridge”",
        "  ! clock      90 s behind Slack's",
        "               → set this machine's clock (NTP)",
        "",
        "Redis",
        "  ✗ reachable  nobody answers there",
        "               → see that it runs",
        "",
        "1 does not hold, 1 warning.",
    ]


def test_long_lines_are_broken_below_their_own_column() -> None:
    shown = table([Row("Slack", "scopes", State.WARNING, "word " * 60, "cure " * 60)])

    lines = shown.splitlines()
    assert all(len(line) <= 110 for line in lines)
    assert lines[2].startswith(" " * 12 + "word")
    assert [line for line in lines if "→" in line] == [line for line in lines if line.startswith(" " * 12 + "→ cure")]


@pytest.mark.parametrize(
    ("states", "summary"),
    [
        ([State.OK, State.OK], "All is well."),
        ([State.OK, State.WARNING, State.WARNING], "2 warnings."),
        ([State.FAILURE, State.FAILURE], "2 do not hold."),
    ],
)
def test_the_last_line_sums_up(states: list[State], summary: str) -> None:
    assert table([Row("Redis", "x", state, "y") for state in states]).splitlines()[-1] == summary


def test_a_warning_is_no_failure() -> None:
    assert is_well(ROWS[:2])
    assert not is_well(ROWS)


def test_programs_get_the_same_as_json() -> None:
    read = json.loads(to_json(ROWS))

    assert read["ok"] is False
    assert read["rows"][2] == {
        "area": "Redis",
        "what": "reachable",
        "state": "failure",
        "detail": "nobody answers there",
        "cure": "see that it runs",
    }
    assert to_json(ROWS).isascii()


def test_problems_of_the_settings_are_rows_with_their_cures() -> None:
    rows = settings_rows(
        ["REDIS_URL is not an address of Redis: use redis://host:6379/0, rediss://… or unix:///path"],
        ["BRIDGE_PROT is not a setting: did you mean BRIDGE_PORT?", "BRIDGE_X is not a setting"],
    )

    assert rows == [
        Row(
            "Settings",
            "REDIS_URL",
            State.FAILURE,
            "is not an address of Redis",
            "use redis://host:6379/0, rediss://… or unix:///path",
        ),
        Row("Settings", "BRIDGE_PROT", State.WARNING, "is not a setting", "did you mean BRIDGE_PORT?"),
        Row("Settings", "BRIDGE_X", State.WARNING, "is not a setting", "correct its name, or remove it"),
    ]


def test_settings_without_problems_are_one_row() -> None:
    assert [row.state for row in settings_rows([], [])] == [State.OK]
