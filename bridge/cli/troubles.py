"""Errors as rows of a check, and as lines of commands that can't run: what's wrong, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from bridge.cli.rows import FAILURE, OK, WARNING, Row, State
from bridge.ends.failures import FAILURES, WRONG_ADDRESS
from bridge.errors import (
    BridgeError,
    ConfigurationError,
    Moved,
    NamespaceTaken,
    NotFound,
    NotUnderstood,
    ProjectError,
    ServiceRefused,
    SlackAmbiguous,
    SlackError,
    SlackGone,
    SlackRefused,
    SlackUnreachable,
    StoreUnavailable,
)
from bridge.queue.redis.refusals import in_words
from bridge.slack.api import CALL_SECONDS

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
NOT_SLACK: Final = "check SLACK_API_URL (normally not set) and the proxy, if there is one (HTTPS_PROXY)"
_NO_CONNECTION: Final = {
    "ClientConnectorError": "connection refused or host unreachable",
    "ClientConnectorDNSError": "host name not found",
    "ClientConnectorCertificateError": "its TLS certificate isn't trusted",
    "ClientConnectorSSLError": "TLS failed",
    "ClientProxyConnectionError": "the proxy is unreachable",
    "ClientHttpProxyError": "the proxy refused",
    "ConnectionTimeoutError": "timed out",
    "TimeoutError": "timed out",
}
_LATER: Final = "check the service, then run the check again"


def trouble_lines(trouble: BridgeError) -> tuple[str, ...]:
    """Return lines that say why the bridge can't run, and what to do."""
    match trouble:
        case ConfigurationError():
            return trouble.problems
        case NamespaceTaken():
            return (f"BRIDGE_NAMESPACE {trouble}, not to this bot: set it to another name, such as bridge-2",)
        case SlackGone():
            return (f"Slack: {trouble.detail}. To fix it: restart the bridge, and see https://slack-status.com.",)
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
    match error:
        case SlackRefused(error=word) if word.startswith("http_"):
            detail = f"the address sends a redirect ({word.removeprefix('http_')}), which Slack never does"
            cure = NOT_SLACK
        case SlackRefused(needed=scope) if scope:
            detail = f"rejected by Slack: the token lacks the scope {scope}"
        case SlackRefused(error=word):
            detail = f"rejected by Slack ({word})"
        case SlackUnreachable(retry_after=timedelta()):
            detail, cure = "Slack is rate-limiting this app", "wait a minute and run the check again"
        case SlackUnreachable():
            detail = f"can't connect ({_NO_CONNECTION.get(error.detail, error.detail)})"
            cure = "make sure this machine can reach Slack, directly or through a proxy (HTTPS_PROXY)"
        case SlackAmbiguous() if error.detail.endswith("TimeoutError"):
            detail = f"Slack timed out: no answer within {CALL_SECONDS:g} s"
            cure = "run the check again; if it still times out, see https://slack-status.com and check the network"
        case SlackAmbiguous() if ", not " in error.detail:
            detail, cure = f"the response didn't come from Slack ({error.detail})", NOT_SLACK
        case _:
            detail = f"Slack sent an unexpected response ({error.detail})"
            cure = "run the check again; see https://slack-status.com"
    return Row(SLACK, what, FAILURE, detail, cure)


def redis_trouble(error: StoreUnavailable) -> Row:
    """Make a row on why Redis can't be used, and what to do."""
    return Row(REDIS, "permissions" if error.denied else "reachable", FAILURE, *in_words(error))


def project_trouble(operation: str, error: ProjectError) -> Row:
    """Make a row on a failed call of the service, and what to do about it."""
    message = str(error)
    if isinstance(error, ServiceRefused):  # the service's message, which the client has cut and cleaned
        message = f"{error.status}: “{error.said}”" if error.said else str(error.status)
    row = FAILURES[type(error).__name__]
    detail, cure = row.checked, row.mend or _LATER
    match error:
        case NotUnderstood(problem=problem) if problem.startswith("not JSON but text/html"):
            detail, cure = "got a web page instead of JSON ({detail})", WRONG_ADDRESS
        case NotFound(is_page=True):
            detail = "the address shows a web page ({message})"
        case Moved(to=to) if to:
            cure = f"set PROJECT_BASE_URL to {to}"
    facts = {
        "message": message, "detail": error.detail, "why": _NO_CONNECTION.get(error.detail, error.detail),
        "status": getattr(error, "status", ""),
        "where": f"to {error.to}" if isinstance(error, Moved) and error.to else "elsewhere",
    }  # fmt: skip
    return Row(PROJECT, operation, FAILURE, detail.format_map(facts), cure)
