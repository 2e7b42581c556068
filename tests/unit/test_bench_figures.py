"""Benchmark figures: targets met, targets missed, and how they are formatted."""

from __future__ import annotations

import json
import math

import pytest

from bench.figures import at_least, at_most, exactly, failed, number, percentile, ratio_of_pairs, table, without_target


@pytest.mark.parametrize(("share", "expected"), [(0.5, 50), (0.99, 99), (0.991, 100), (1.0, 100), (0.0, 1)])
def test_a_percentile_is_a_value_that_was_measured(share: float, expected: int) -> None:
    values = [float(value) for value in range(100, 0, -1)]

    assert percentile(values, share) == expected


def test_the_percentile_of_nothing_is_nan() -> None:
    assert math.isnan(percentile([], 0.5))


def test_a_temporary_slowdown_does_not_change_the_ratio() -> None:
    theirs = [100.0, 50.0, 100.0]
    ours = [200.0, 100.0, 200.0]

    assert ratio_of_pairs(ours, theirs) == 2.0


def test_unequal_pairs_are_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        ratio_of_pairs([1.0, 2.0], [1.0])


@pytest.mark.parametrize(
    ("figure", "reached", "target"),
    [
        (at_least("f", 1.8, 1.8, "x", goal=2.5), True, "≥ 1.8 x (goal 2.5)"),
        (at_least("f", 1.79, 1.8), False, "≥ 1.8"),
        (at_most("f", 10.0, 10, "ms"), True, "≤ 10 ms"),
        (at_most("f", 10.1, 10, "ms"), False, "≤ 10 ms"),
        (exactly("f", 0, 0), True, "= 0"),
        (exactly("f", 1, 0), False, "= 0"),
        (without_target("f", 7.0, "MB"), None, ""),
    ],
)
def test_a_figure_knows_whether_it_was_reached(figure: object, reached: bool | None, target: str) -> None:  # noqa: FBT001
    assert (getattr(figure, "reached", "?"), getattr(figure, "target", "?")) == (reached, target)


def test_a_failed_measurement_misses_its_target() -> None:
    assert at_most("f", math.nan, 10).reached is False


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0, "0"), (1000.0, "1,000"), (5774.4, "5,774"), (0.3761, "0.376"), (2.0, "2"), (math.nan, "none")],
)
def test_a_number_has_three_significant_figures(value: float, written: str) -> None:
    assert number(value) == written


def test_the_tables_columns_are_aligned() -> None:
    lines = table([at_most("a", 1.5, 2, "ms"), without_target("longer", 3.0, beside="each")]).splitlines()

    assert lines[1].split() == ["a", "1.5", "ms", "≤", "2", "ms", "✓"]
    assert lines[2].split() == ["longer", "3", "each"]
    assert lines[1].index("1.5") == lines[2].index("3")


def test_a_failed_measurement_is_null_in_json() -> None:
    figure = failed("turns", "1 lost")

    assert (figure.is_failure, figure.reached) == (True, False)
    assert json.loads(json.dumps(figure.to_json(), allow_nan=False))["value"] is None
