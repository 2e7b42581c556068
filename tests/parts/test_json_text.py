"""JSON, written and read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridge.json_reader import DEEPEST, TooDeep, read_json
from bridge.slack.blockkit.json_text import beginning, first_lines, line_count
from support.tables import each


@each(
    ("text", "shown"),
    [
        ("", ""),
        ("a\nb\nc", "a\nb\nc"),
        ("\na\nb\n", "a\nb"),
        ("a\nb\nc\nd", "a\nb\nc\n… 1 more line"),
        ("\n".join("abcdefg"), "a\nb\nc\n… 4 more lines"),
        ("a\n" * 2000, "a\na\na\n… 1,997 more lines"),
        ("x" * 100, "x" * 100),
        ("x" * 101, "x" * 70 + "…"),
        ("x" * 101 + "\nb", "x" * 70 + "…\n… 1 more line"),
        ("{\n" + "x" * 101 + "\n}", "{\n" + "x" * 68 + "…\n… 1 more line"),
        ("{\n" + "x" * 60 + "\n" + "y" * 60, "{\n" + "x" * 60 + "\n… 1 more line"),
    ],
)
def test_first_lines_are_whole_and_the_rest_is_counted(text: str, shown: str) -> None:
    assert first_lines(text, 3, 100) == shown


ROWS = [
    {"row": number, "tags": [], "customer": {"name": f"Customer {number}, Ltd", "seen": None}} for number in range(3)
]


@each("value", ["a, b", 1, None, [], {}, [[]], {"a": [{}, []]}, ROWS, {"rows": ROWS * 50}])
def test_line_count_is_that_of_indented_json(value: Any) -> None:
    assert line_count(value) == json.dumps(value, indent=2).count("\n") + 1


@each("rows", [10, 100, 5_000])
def test_json_of_every_size_begins_with_the_same_lines(rows: int) -> None:
    value = {"rows": (ROWS * rows)[:rows]}
    shown = first_lines(beginning(value, 1001), 10, 1000, line_count(value))

    assert shown.split("\n")[:10] == json.dumps(value, indent=2).split("\n")[:10]
    assert shown.endswith(f"\n… {8 * rows - 6:,} more lines")


def nested(depth: int, kind: str) -> str:
    return {"lists": "[" * depth + "]" * depth, "objects": '{"a":' * depth + "1" + "}" * depth}[kind]


@pytest.mark.parametrize("kind", ["lists", "objects"])
@pytest.mark.parametrize("as_bytes", [True, False])
def test_a_hundred_levels_are_read_and_written(kind: str, *, as_bytes: bool) -> None:
    text = nested(DEEPEST, kind)
    assert json.dumps(read_json(text.encode() if as_bytes else text), separators=(",", ":")) == text


@pytest.mark.parametrize("depth", [101, 500, 968, 969, 970, 10_000, 1_000_000])
@pytest.mark.parametrize("kind", ["lists", "objects"])
def test_more_levels_are_refused(depth: int, kind: str) -> None:
    with pytest.raises(TooDeep):
        read_json(nested(depth, kind))


def test_many_brackets_that_are_not_nested_are_read() -> None:
    value = [{"a": [[]]}] * 1000 + ["[[{{" * 1000]
    assert read_json(json.dumps(value)) == value


@each("text", ["", "x", "NaN", "[Infinity]", "[-Infinity]", "[1,]", "{'a': 1}", "9" * 5000, b"\xff"])
def test_only_standard_json_is_read(text: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of several kinds, from Python
        read_json(text)
