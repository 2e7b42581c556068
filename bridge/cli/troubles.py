"""Errors as rows of a check, and as lines of commands that can't run: what's wrong, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bridge.cli.rows import FAILURE, OK, WARNING, Row, State
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
            row = slack_trouble("app token", trouble, CURE_OF_APP)
        case SlackError():
            row = slack_trouble("bot token", trouble, CURE_OF_BOT)
        case ProjectError():
            row = project_trouble("", trouble)
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


def slack_trouble(what: str, error: SlackError, cure: str) -> Row:
    """Make a row on a failed call of Slack; *cure* is the fix if Slack rejects it."""
    detail, mend = checked(error)
    return Row(SLACK, what, FAILURE, detail, mend or cure)


def redis_trouble(error: StoreUnavailable) -> Row:
    """Make a row on why Redis can't be used, and what to do."""
    return Row(REDIS, "permissions" if error.denied else "reachable", FAILURE, *in_words(error))


def project_trouble(operation: str, error: ProjectError) -> Row:
    """Make a row on a failed call of the service, and what to do about it."""
    detail, mend = checked(error)
    return Row(PROJECT, operation, FAILURE, detail, mend or _LATER)
