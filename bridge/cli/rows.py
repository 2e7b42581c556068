"""The rows of a check, as a table for people or as JSON, and errors as rows: what's wrong, and how to fix it."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, Literal

from bridge.cli.printing import printable, to_json
from bridge.ends.failures import checked
from bridge.errors import (
    BridgeError,
    ConfigurationError,
    NamespaceTaken,
    ProjectError,
    SlackError,
    StoreUnavailable,
)
from bridge.queue.redis.refusals import in_words
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.kit import counted

State = Literal["ok", "warning", "failure"]
OK: Final = "ok"
WARNING: Final = "warning"  # it works, but look at it
FAILURE: Final = "failure"

SLACK: Final = "Slack"
REDIS: Final = "Redis"
PROJECT: Final = "Project service"

CURE_OF_BOT: Final = (
    "copy SLACK_BOT_TOKEN again (your Slack app's page → OAuth & Permissions); reinstalling the app may have changed it"
)
CURE_OF_APP: Final = (
    "set SLACK_APP_TOKEN to a token with the scope connections:write (your Slack app's page → Basic Information → "
    "App-Level Tokens), and turn on Socket Mode (→ Socket Mode)"
)
_LATER: Final = "check the service, then run the check again"

_SIGNS: Final = {OK: "✓", WARNING: "!", FAILURE: "✗"}


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one check: its subject *what* in an *area*, its state, and the *cure* for a problem."""

    area: str
    what: str
    state: State
    detail: str
    cure: str = ""


def as_typed(rows: Iterable[Row], values: Mapping[str, Any]) -> list[Row]:
    """Return *rows* with Slack's commands as people type them; *values* are the settings, by variable."""
    prefix = values.get("BRIDGE_COMMAND_PREFIX") or ""
    return [replace(row, detail=kit.as_typed(row.detail, prefix), cure=kit.as_typed(row.cure, prefix)) for row in rows]


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


def trouble_lines(trouble: BridgeError) -> tuple[str, ...]:
    """Return lines that say why the bridge can't run, and what to do."""
    match trouble:
        case ConfigurationError():
            return trouble.problems
        case NamespaceTaken():
            return (f"BRIDGE_NAMESPACE {trouble}, not to this bot: set it to another name, such as bridge-2",)
        case StoreUnavailable():
            row = redis_trouble(trouble)
        case SlackError(method="apps.connections.open"):
            row = trouble_row("app token", trouble, CURE_OF_APP)
        case SlackError():
            row = trouble_row("bot token", trouble, CURE_OF_BOT)
        case ProjectError():
            row = trouble_row("", trouble)
        case _:
            return (f"{type(trouble).__name__}: {trouble}",)
    return (f"{row.area}: {row.detail}. To fix it: {row.cure}.",)


def settings_rows(problems: Iterable[str], warnings: Iterable[str]) -> list[Row]:
    """Make rows of the settings' problems, which are lines such as ``NAME is missing: set it``."""
    rows = []
    groups: tuple[tuple[State, Iterable[str]], ...] = ((FAILURE, problems), (WARNING, warnings))
    for state, lines in groups:
        for name, _, problem in (line.partition(" ") for line in lines):
            rows.append(problem_row("Settings", name, problem, state))
    return rows or [Row("Settings", "settings", OK, "complete and valid")]


def problem_row(area: str, what: str, problem: str, state: State = FAILURE) -> Row:
    """Make a row of a *problem*, whose cure follows its first colon before a space; addresses have other colons."""
    detail, _, cure = problem.partition(": ")
    return Row(area, what, state, detail, cure or "correct the name or remove the line")


def redis_trouble(error: StoreUnavailable) -> Row:
    """Make a row on why Redis can't be used, and what to do."""
    return Row(REDIS, "permissions" if error.denied else "reachable", FAILURE, *in_words(error))


def trouble_row(what: str, error: SlackError | ProjectError, cure: str = _LATER) -> Row:
    """Make a row on a failed call of Slack or the service; *cure* is the fix if it depends on what was checked."""
    detail, mend = checked(error)
    return Row(SLACK if isinstance(error, SlackError) else PROJECT, what, FAILURE, detail, mend or cure)
