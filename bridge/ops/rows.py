"""The rows of a check, and how they are shown: as a table for people, or as JSON. Pure."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import groupby
from typing import Final

_WIDTH: Final = 110


class State(StrEnum):
    """How a thing is."""

    OK = "ok"
    WARNING = "warning"  # it works, and something should be known
    FAILURE = "failure"


_SIGNS: Final = {State.OK: "✓", State.WARNING: "!", State.FAILURE: "✗"}


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was looked at: *what* of which *area*, how it is, and *cure*, what to do about it."""

    area: str
    what: str
    state: State
    detail: str
    cure: str = ""


def is_well(rows: Iterable[Row]) -> bool:
    """Whether nothing has failed."""
    return all(row.state is not State.FAILURE for row in rows)


def to_json(rows: Sequence[Row]) -> str:
    """Write *rows* for programs, in ASCII."""
    return json.dumps({"ok": is_well(rows), "rows": [asdict(row) for row in rows]}, indent=2)


def table(rows: Sequence[Row]) -> str:
    """Write *rows* for people: area by area, each row with its sign, each cure below what it mends."""
    width = max((len(row.what) for row in rows), default=0)
    lines: list[str] = []
    for area, group in groupby(rows, key=lambda row: row.area):
        lines.append(area)
        lines += [line for row in group for line in _lines(row, width)]
        lines.append("")
    return "\n".join([*lines, _summary(rows)])


def settings_rows(problems: Iterable[str], warnings: Iterable[str]) -> list[Row]:
    """Make rows of what is wrong with the settings, in lines such as ``NAME is missing: set it``."""
    rows = [_setting_row(line, State.FAILURE) for line in problems]
    rows += [_setting_row(line, State.WARNING) for line in warnings]
    return rows or [Row("Settings", "settings", State.OK, "nothing is missing, and each can be read")]


def printable(words: str) -> str:
    """*words* without what could move the cursor or ring the bell: they may come from outside."""
    return "".join(character if character.isprintable() else "?" for character in words)


def _setting_row(line: str, state: State) -> Row:
    name, _, said = line.partition(" ")
    # The cure begins behind the first colon that ends a word: an address in the sentence has others.
    detail, *cure = re.split(r": ", said, maxsplit=1)
    return Row("Settings", name, state, detail, cure[0] if cure else "correct its name, or remove it")


def _lines(row: Row, width: int) -> Iterator[str]:
    margin = " " * (width + 6)
    first = f"  {_SIGNS[row.state]} {row.what:<{width}}  "
    yield from textwrap.wrap(row.detail, _WIDTH, initial_indent=first, subsequent_indent=margin)
    if row.cure:
        yield from textwrap.wrap(row.cure, _WIDTH, initial_indent=f"{margin}→ ", subsequent_indent=f"{margin}  ")


def _summary(rows: Iterable[Row]) -> str:
    states = [row.state for row in rows]
    failures, warnings = states.count(State.FAILURE), states.count(State.WARNING)
    if not failures and not warnings:
        return "All is well."
    said = [_counted(failures, "does not hold", "do not hold"), _counted(warnings, "warning", "warnings")]
    return ", ".join(part for part in said if part) + "."


def _counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}" if number else ""
