"""The rows of a check, as a table for people or as JSON. Pure."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal

from bridge.cli.printing import printable, to_json
from bridge.slack.blockkit.kit import counted

State = Literal["ok", "warning", "failure"]
OK: Final = "ok"
WARNING: Final = "warning"  # it works, but look at it
FAILURE: Final = "failure"

_SIGNS: Final = {OK: "✓", WARNING: "!", FAILURE: "✗"}


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one check: its subject *what* in an *area*, its state, and the *cure* for a problem."""

    area: str
    what: str
    state: State
    detail: str
    cure: str = ""


def is_well(rows: Iterable[Row]) -> bool:
    """Whether nothing failed."""
    return all(row.state != FAILURE for row in rows)


def shown(rows: Sequence[Row], *, as_json: bool, width: int = sys.maxsize) -> str:
    """Format *rows* for people, by area with each cure below its problem, or as JSON. Lines wrap at *width*."""
    if as_json:
        return to_json({"ok": is_well(rows), "rows": rows}, indent=2)
    longest = max((len(printable(row.what)) for row in rows), default=0)
    lines: list[str] = []
    for area, group in groupby(rows, key=lambda row: row.area):
        lines.append(printable(area))
        for row in group:
            lines += row_lines(row, width, longest)
        lines.append("")
    states = [row.state for row in rows]
    failures, warnings = states.count(FAILURE), states.count(WARNING)
    totals = [f"{counted(failures, 'problem')} found"] if failures else []
    totals += [counted(warnings, "warning")] if warnings else []
    return "\n".join([*lines, f"{', '.join(totals) or 'No problems found'}."])


def row_lines(row: Row, width: int, longest: int = 0) -> list[str]:
    """Format one row for people, wrapped at *width*; the *longest* subject of its table sets the column."""
    what = printable(row.what)
    margin = " " * (max(longest, len(what)) + 6)
    sign = f"  {_SIGNS[row.state]} {what:<{longest}}  "
    lines = []
    for words, first, others in ((row.detail, sign, margin), (row.cure, f"{margin}→ ", f"{margin}  ")):
        lines += textwrap.wrap(
            printable(words),
            width,
            initial_indent=first,
            subsequent_indent=others,
            break_long_words=False,  # addresses and commands are copied
            break_on_hyphens=False,
        )
    return lines
