"""Slack's charts and data tables, as plain dicts: slack_sdk has no classes for them.

A chart is made only if it can show each name and number completely. If it can't, or wouldn't be informative, the
function returns None, and the numbers are shown as a table; so are all charts in a workspace where Slack rejects the
block.

https://docs.slack.dev/reference/block-kit/blocks/data-visualization-block
https://docs.slack.dev/reference/block-kit/blocks/data-table-block
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Block

_MOST_BARS: Final = 10  # of Slack's 20: more are hard to read
_LEAST_SHAPE: Final = 2  # a pie of one piece, or a single bar, shows nothing
_NOTHING: Final = "–"  # noqa: RUF001 - a dash for an empty cell, which Slack rejects

_BARS: Final = "▁▂▃▄▅▆▇█"

Counts = Sequence[tuple[str, int]]
"""Names with their counts, the largest first."""


def pie(title: str, counts: Counts) -> Block | None:
    """Make a pie chart; None if it can't show each name, or there's only one."""
    is_shape = _LEAST_SHAPE <= len(counts) <= kit.CHART_SEGMENTS and all(count > 0 for _name, count in counts)
    if not is_shape or not _fit(counts):
        return None
    segments = [{"label": label, "value": value} for label, value in _labelled(counts)]
    return _chart(title, {"type": "pie", "segments": segments})


def bars(title: str, counts: Counts) -> Block | None:
    """Make a bar chart; None if there are too many names, or only one."""
    return _series("bar", title, counts) if _LEAST_SHAPE <= len(counts) <= _MOST_BARS else None


def line(title: str, points: Counts, *, unit: str = "") -> Block | None:
    """Make a line chart through *points* in order, in *unit*; None unless there are three to twenty."""
    return _series("line", title, points, unit) if kit.CHART_LEAST_LINE <= len(points) <= kit.CHART_POINTS else None


def sparkline(values: Sequence[int]) -> str:
    """Draw *values* as a line of text, for places without charts; ``""`` unless three or more differ."""
    low, high = min(values, default=0), max(values, default=0)
    if len(values) < kit.CHART_LEAST_LINE or low == high:
        return ""
    return "".join(_BARS[(value - low) * (len(_BARS) - 1) // (high - low)] for value in values)


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str | int]]) -> Block:
    """Make a table whose numbers sort as numbers, without rows beyond Slack's limit."""
    cells = [[_cell(value) for value in row] for row in (head, *rows[: kit.TABLE_ROWS])]
    return {"type": "data_table", "caption": kit.one_line(caption, kit.HEADER_TEXT), "rows": cells}


def summed(counts: Counts, most: int) -> list[tuple[str, int]]:
    """Return the *most* largest counts, and the sum of the rest as ``12 others``."""
    rest = counts[most:]
    if not rest:
        return list(counts)
    what = "other" if len(rest) == 1 else "others"
    return [*counts[:most], (f"{len(rest):,} {what}", sum(count for _name, count in rest))]


def _series(kind: str, title: str, points: Counts, unit: str = "") -> Block | None:
    if not _fit(points):
        return None
    data = [{"label": label, "value": value} for label, value in _labelled(points)]
    axis: Block = {"categories": [point["label"] for point in data]}
    axis |= {"y_label": unit} if unit else {}
    series = [{"name": kit.one_line(title, kit.CHART_LABEL), "data": data}]
    return _chart(title, {"type": kind, "series": series, "axis_config": axis})


def _chart(title: str, chart: Block) -> Block:
    return {"type": "data_visualization", "title": kit.one_line(title, kit.CHART_TITLE), "chart": chart}


def _fit(counts: Counts) -> bool:
    """Whether JSON keeps each number exactly, and Slack shows each name completely."""
    return all(abs(count) <= kit.CHART_NUMBER and len(kit.one_line(name)) <= kit.CHART_LABEL for name, count in counts)


def _labelled(counts: Counts) -> list[tuple[str, int]]:
    """Give each count a label that is unique and as short as Slack requires."""
    labels: list[str] = []
    for name, _count in counts:
        label, number = kit.one_line(name, kit.CHART_LABEL) or kit.NO_NAME, 1
        while label in labels:
            number += 1
            ending = f" {number}"
            label = kit.one_line(name, kit.CHART_LABEL - len(ending)) + ending
        labels.append(label)
    return list(zip(labels, (count for _name, count in counts), strict=True))


def _cell(value: str | int) -> Block:
    if isinstance(value, int) and abs(value) <= kit.CHART_NUMBER:
        return {"type": "raw_number", "value": value, "text": f"{value:,}"}
    text = f"{value:,}" if isinstance(value, int) else value
    return {"type": "raw_text", "text": kit.one_line(text, kit.TABLE_CELL) or _NOTHING}
