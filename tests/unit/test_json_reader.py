"""JSON from outside: standard, and not too deep."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridge.json_reader import DEEPEST, TooDeep, read_json
from support.tables import each


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
