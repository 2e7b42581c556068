"""Generate the documentation's performance table and chart from docs/explanation/performance.json.

``make figures FROM="build/bench.json …"`` first replaces the runs in that file. With several runs, each figure shows
its lowest and highest value.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

from bench.figures import TIMES, number

DOCS: Final = Path(__file__).parents[2] / "docs"
DATA: Final = DOCS / "explanation" / "performance.json"
PAGE: Final = DOCS / "explanation" / "performance.md"
CHART: Final = DOCS / "images" / "performance.svg"
MARKER: Final = "<!-- Made from performance.json by `make figures`. -->\n"

_TARGET: Final = re.compile(r"([≥≤=]) ([\d.,]+)")
_LEAST, _MOST = 0.5, 4.0  # the chart's range, as multiples of the target
_LEFT, _WIDTH, _ROW, _TOP = 430, 300, 24, 46


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure across all runs; *reached* has None for a figure without a target."""

    name: str
    unit: str
    target: str
    values: tuple[float, ...]
    reached: tuple[bool | None, ...]
    beside: str

    @property
    def mark(self) -> str:
        """Whether the target was reached; ``""`` without a target."""
        if None in self.reached:
            return ""
        if all(self.reached):
            return "✅"
        return f"❌ in {self.reached.count(False)} of {len(self.reached)} runs" if any(self.reached) else "❌"

    @property
    def spread(self) -> str:
        """The value, or the lowest and highest of several."""
        least, most = number(min(self.values)), number(max(self.values))
        return f"{least if least == most else f'{least} to {most}'} {self.unit}".rstrip()

    def times_better(self) -> tuple[float, float] | None:
        """How many times better than its target it is, worst and best run; None if no such ratio makes sense."""
        found = _TARGET.match(self.target)
        target = float(found[2].replace(",", "")) if found else 0.0
        if not found or found[1] == "=" or not target or not all(self.values):
            return None
        ratios = [value / target if found[1] == "≥" else target / value for value in self.values]
        return min(ratios), max(ratios)


def measured(runs: Sequence[dict[str, Any]]) -> list[Measured]:
    """Merge the figures of *runs* by name, in the first run's order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        for figures in run["scenarios"].values():
            of_what = ""
            for figure in figures:
                name = re.sub("^… ?", of_what, figure["name"])
                if name == figure["name"]:
                    of_what = re.split(r"[:,](?!\d)", name)[0] + ": "
                found.setdefault(name, []).append(figure)
    return [
        Measured(
            name=name,
            unit=of_it[0]["unit"],
            target=of_it[0]["target"],
            values=tuple(math.nan if one["value"] is None else float(one["value"]) for one in of_it),
            reached=tuple(one["reached"] for one in of_it),
            beside=of_it[0]["beside"] if len(of_it) == 1 else "",
        )
        for name, of_it in found.items()
    ]


def table(figures: Sequence[Measured]) -> str:
    """Lay out the figures in Markdown, those with a target first."""
    targets = [(one.name, one.spread, one.target, one.mark) for one in figures if one.target]
    others = [(one.name, one.spread) for one in figures if not one.target]
    return "\n\n".join(
        "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows)
        for rows in (
            [("Figure", "Measured", "Target", "Met"), ("---",) * 4, *targets],
            [("Without a target", "Measured"), ("---",) * 2, *others],
        )
    )


def chart(figures: Sequence[Measured]) -> str:
    """Draw each figure relative to its target, as a self-contained SVG."""
    rows = [(one, ratios) for one in figures if (ratios := one.times_better())]
    height = _TOP + _ROW * len(rows) + 14
    return "\n".join([*_frame(height), *(line for at, row in enumerate(rows) for line in _bar(at, *row)), "</svg>\n"])


def _frame(height: int) -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 980 {height}" font-family="system-ui, sans-serif">'
    yield "  <title>How each figure compares with its target: bars to the right of the line meet it</title>"
    yield """  <style>
    text { fill: #1d1c2b; font-size: 13px }
    .name { text-anchor: end } .scale { font-size: 12px; fill: #55546a; text-anchor: middle }
    .grid { stroke: #8886; stroke-width: 1 } .target { stroke: #55546a; stroke-width: 2 }
    .reached { fill: #2a9d6e } .missed { fill: #d9772b } .spread { stroke: #1d1c2b; stroke-width: 2 }
    @media (prefers-color-scheme: dark) {
      text { fill: #eee } .scale { fill: #b5b4c8 } .target { stroke: #b5b4c8 } .spread { stroke: #eee }
    }
  </style>"""
    for times in (_LEAST, 1.0, 2.0, _MOST):
        label = "the target" if times == 1 else f"{times:g} {TIMES} as good"
        kind = "target" if times == 1 else "grid"
        yield f'  <text class="scale" x="{_x(times):.0f}" y="20">{label}</text>'
        yield f'  <path class="{kind}" d="M{_x(times):.0f} 28V{height - 8}"/>'


def _bar(at: int, figure: Measured, ratios: tuple[float, float]) -> Iterator[str]:
    y, (least, most) = _TOP + _ROW * at, ratios
    kind = "missed" if least < 1 else "reached"
    start, end = sorted((_x(1.0), _x(least)))
    yield f'  <text class="name" x="{_LEFT - 12}" y="{y + 12}">{escape(figure.name)}</text>'
    yield f'  <rect class="{kind}" x="{start:.1f}" y="{y + 1}" width="{max(end - start, 1):.1f}" height="14" rx="2"/>'
    if _x(most) - _x(least) > 1:
        yield f'  <path class="spread" d="M{_x(least):.1f} {y + 8}H{_x(most):.1f}"/>'
    beside = escape(f"{figure.spread} ({figure.target.partition(' (')[0]})")
    yield f'  <text x="{_LEFT + _WIDTH + 12}" y="{y + 12}">{beside}</text>'


def _x(times: float) -> float:
    """The x position of a ratio, on a logarithmic scale from *_LEAST* to *_MOST*."""
    bounded = min(max(times, _LEAST), _MOST)
    return _LEFT + _WIDTH * math.log(bounded / _LEAST) / math.log(_MOST / _LEAST)


def written() -> tuple[str, str]:
    """Render the up-to-date page and chart."""
    figures = measured(json.loads(DATA.read_text(encoding="utf-8"))["runs"])
    begin, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKER)
    _, end, after = rest.partition(f"\n{MARKER}")
    return f"{begin}{MARKER}\n{table(figures)}\n{end}{after}", chart(figures)


def main(files: Sequence[str]) -> None:
    """Replace the runs with those in *files*, if any, and write the page and the chart."""
    if files:
        runs = [json.loads(Path(file).read_text(encoding="utf-8")) for file in files]
        DATA.write_text(json.dumps({"runs": runs}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page, drawn = written()
    PAGE.write_text(page, encoding="utf-8")
    CHART.write_text(drawn, encoding="utf-8")
    sys.stdout.write(f"Wrote {PAGE.name} and {CHART.name}.\n")


if __name__ == "__main__":
    main(sys.argv[1:])
