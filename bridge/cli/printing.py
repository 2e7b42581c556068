"""The commands' output: columns for people, and JSON for programs.

Everything goes through `out`, which removes what a terminal would obey: names from Slack, the project and Redis are
printed, too. A cell that may hold a line break goes through `printable` on its own, or it would look like a row.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import typer

from bridge.logs import printable as printable  # noqa: PLC0414 - for the commands

_SIGN: Final = re.compile(r"^  ([✓✗!])(?= )", re.MULTILINE)
_COLORS: Final = {"✓": "green", "✗": "red", "!": "yellow"}


def out(text: str, *, err: bool = False, signs: bool = False, **style: Any) -> None:
    """Print *text*, which may have several lines, without control and direction characters.

    *err* prints to standard error, *signs* colors the signs that start lines, and *style* (`typer.style`) all of it.
    """
    shown = "\n".join(map(printable, text.split("\n")))
    if signs:
        shown = _SIGN.sub(lambda sign: f"  {typer.style(sign[1], fg=_COLORS[sign[1]])}", shown)
    typer.echo(typer.style(shown, **style) if style else shown, err=err)


def form_for(rows: Sequence[Sequence[str]]) -> str:
    """Return the form for `columns` that fits all of *rows*."""
    return "  ".join(f"{{:<{max(map(len, column))}}}" for column in zip(*rows, strict=True))


def columns(form: str, *words: str) -> str:
    """Format one line of a table whose columns *form* sets."""
    return form.format(*map(printable, words)).rstrip()


def line_width() -> int:
    """Return how many characters fit in a line of the terminal; in a pipe, any number does."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize


def moment(at: datetime, timespec: str = "seconds") -> str:
    """Format *at* in ISO 8601, in UTC: ``2026-11-01T09:00:00Z``."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


def age(length: timedelta) -> str:
    """Format how long ago something was, roughly: ``4 s``, ``3 min``, ``2 h``, ``5 days``."""
    seconds = max(0, int(length.total_seconds()))
    for unit, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"


def with_known_project(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, without an empty *project*: it's about the default one, or about none."""
    return {name: value for name, value in asdict(record).items() if name != "project" or value}


def to_json(value: object, indent: int | None = None) -> str:
    """Format *value* as JSON of ASCII that `out` leaves as it is, with times in ISO 8601 and dataclasses as objects."""

    def plain(other: Any) -> Any:
        return other.isoformat() if isinstance(other, datetime) else with_known_project(other)

    return json.dumps(value, indent=indent, default=plain).replace("\x7f", "\\u007f")


def this_program() -> str:
    """Return the command for this program in another shell, where ``bridge`` may be Linux's own, of iproute2."""
    path = Path(sys.argv[0]).absolute()
    if path.name == "__main__.py" or not os.access(path, os.X_OK):
        return f"{shlex.quote(sys.executable)} -m bridge"
    return shlex.quote(str(path))
