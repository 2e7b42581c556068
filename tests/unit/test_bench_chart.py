"""The benchmark's table and chart in the documentation match its data."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bench import chart


def a_run(value: float, *, reached: bool | None = True, target: str = "≤ 3 ms", name: str = "idle") -> dict[str, Any]:
    figure = {"name": name, "value": value, "unit": "ms", "target": target, "reached": reached, "beside": ""}
    return {"scenarios": {"idle": [figure]}}


def test_the_page_and_the_chart_match_the_data() -> None:
    assert (chart.PAGE.read_text("utf-8"), chart.CHART.read_text("utf-8")) == chart.written(), "run make figures"


@pytest.mark.parametrize(
    ("runs", "spread", "mark"),
    [
        ([a_run(2.0)], "2 ms", "✅"),
        ([a_run(4.0, reached=False)], "4 ms", "❌"),
        ([a_run(2.0), a_run(4.0, reached=False)], "2 to 4 ms", "❌ in 1 of 2 runs"),
        ([a_run(2.0, reached=None, target="")], "2 ms", ""),
    ],
)
def test_several_runs_are_shown_with_their_lowest_and_highest_values(runs: Any, spread: str, mark: str) -> None:
    [figure] = chart.measured(runs)

    assert (figure.spread, figure.mark) == (spread, mark)


@pytest.mark.parametrize(
    ("target", "times_better"), [("≤ 3 ms", (1.5, 1.5)), ("≥ 4 /s (goal 5)", (0.5, 0.5)), ("= 2", None), ("", None)]
)
def test_a_ratio_above_one_is_better_than_the_target(target: str, times_better: object) -> None:
    [figure] = chart.measured([a_run(2.0, target=target)])

    assert figure.times_better() == times_better


def test_the_chart_is_an_image_that_loads_nothing_and_has_a_bar_for_each_ratio() -> None:
    drawn = chart.chart(chart.measured([a_run(2.0, name="a < b"), a_run(0.0, target="= 0", name="lost")]))

    bars = [one for one in ET.fromstring(drawn).iter() if one.tag.endswith("rect")]  # noqa: S314 - our own
    assert len(bars) == 1
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", drawn) == []
    assert "prefers-color-scheme: dark" in drawn
