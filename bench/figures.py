"""Measured figures with their targets, and the table that shows them. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table. *reached* is None without a target; *beside* has details."""

    name: str
    value: float
    unit: str
    target: str = ""
    reached: bool | None = None
    beside: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether the measurement failed."""
        return math.isnan(self.value)

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON, where a failure's value is null."""
        return asdict(self) | {"value": None if self.is_failure else self.value}


def at_least(
    name: str, value: float, least: float, unit: str = "", *, goal: float | None = None, beside: str = ""
) -> Figure:
    """A figure that must be *least* or more; *goal* is the stretch target."""
    return Figure(name, value, unit, _target("≥", least, unit, goal), value >= least, beside)


def at_most(
    name: str, value: float, most: float, unit: str = "", *, goal: float | None = None, beside: str = ""
) -> Figure:
    """A figure that must be *most* or less."""
    return Figure(name, value, unit, _target("≤", most, unit, goal), value <= most, beside)


def exactly(name: str, value: float, wanted: float, unit: str = "", *, beside: str = "") -> Figure:
    """A figure that must equal *wanted*."""
    return Figure(name, value, unit, _target("=", wanted, unit, None), value == wanted, beside)


def without_target(name: str, value: float, unit: str = "", *, beside: str = "") -> Figure:
    """A figure without a target."""
    return Figure(name, value, unit, beside=beside)


def failed(name: str, why: str) -> Figure:
    """A scenario whose check failed."""
    return Figure(name, math.nan, "", reached=False, beside=why)


def _target(sign: str, value: float, unit: str, goal: float | None) -> str:
    return f"{sign} {number(value)} {unit}".rstrip() + (f" (goal {number(goal)})" if goal is not None else "")


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile for *share* (0 to 1); NaN if there are no values."""
    if not values:
        return math.nan
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def ratio_of_pairs(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median ratio of measurements made next to each other, which cancels out slow spells of the machine."""
    return median(one / other for one, other in zip(ours, theirs, strict=True))


def number(value: float) -> str:
    """Format a number with three significant figures."""
    if math.isnan(value):
        return "none"
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


TIMES = "\u00d7"  # the unit of a ratio

_HEAD = ("figure", "measured", "target", "", "")


def table(figures: Sequence[Figure]) -> str:
    """Lay out the figures in columns."""
    rows = [_HEAD, *(_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _row(figure: Figure) -> tuple[str, str, str, str, str]:
    mark = {True: "✓", False: "✗", None: ""}[figure.reached]
    return (figure.name, f"{number(figure.value)} {figure.unit}".rstrip(), figure.target, mark, figure.beside)
