"""`bridge audit`: who did what, where, when, and with which outcome."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import typer

from bridge.cli.printing import columns, moment, to_json
from bridge.cli.store import JsonLinesOption, SinceOption, in_store, length_of_time

if TYPE_CHECKING:
    from bridge.queue.audit import AuditEntry
    from bridge.queue.scripting import Scripts

_DEAD: Final = "dead: "
_NOT_SHOWN: Final = "not shown: "
_FORM: Final = "{:<20}  {:<11}  {:<11}  {:<7}  {:<24}  {:<28}  {}"
TITLE: Final = _FORM.format("when", "who", "where", "", "what", "on", "outcome")

RESULTS: Final = {
    "BridgeError": "failed",
    "ConfigurationError": "settings are missing",
    "ProjectError": "the service failed",
    "CannotConnect": "the service is unreachable",
    "CircuitOpen": "the service is down",
    "TimedOut": "the service timed out",
    "ConnectionLost": "the connection to the service was lost",
    "NotUnderstood": "the service sent an unreadable response",
    "ServiceRefused": "the service refused it",
    "NotSignedIn": "the service rejected the key",
    "NotFound": "not found by the service",
    "Busy": "the service is busy",
    "Outage": "the service is down",
    "SlackError": "Slack failed",
    "SlackRefused": "Slack refused it",
    "SlackTokenRefused": "Slack rejected the token",
    "SlackUnreachable": "Slack is unreachable",
    "SlackAmbiguous": "unknown whether Slack received it",
    "SlackGone": "the connection to Slack was lost",
    "StoreError": "Redis failed",
    "StoreUnavailable": "Redis is unreachable",
    "StoreWiped": "Redis was wiped",
    "NamespaceTaken": "the namespace belongs to another bot",
    "LaneLost": "another process took over",
    "RecordNotUnderstood": "written by another version",
    "CommandError": "not recognized",
    "UnknownCommand": "no such command",
    "UnknownOption": "no such option",
    "BadUsage": "wrong usage",
    "NoSuch": "no match",
    "SeveralFit": "several matches",
    "BadSchedule": "schedule not recognized",
    "BadInput": "input isn't valid JSON; asked what to do",
    "NotAllowed": "not allowed",
    "TooOften": "rate limit",
    "channel_changed": "announced a settings change",
    "unknown": "outcome unknown",
    "slip": "looked like a command; asked what was meant",
    "gone": "expired",
    "full": "queue full",
    "menu": "asked which agent",
    "report": "posted",
}
"""Outcomes in words for people, by the stored name; other names are readable as they are."""

REFUSALS: Final = {
    "user": "not in BRIDGE_ALLOWED_USERS",
    "channel": "not in BRIDGE_ALLOWED_CHANNELS",
    "stranger": "from another workspace",
    "unknown": "Slack didn't say where they're from",
    "canvas": "in a canvas",
    "command_missed": "found too late, not run",
    "thread_full": "queue full",
    "muted": "thread is muted",
    "paused": "rate limit",
}
"""The same for messages that were refused on arrival."""


def audit(
    *,
    since: SinceOption = "7d",
    as_json: JsonLinesOption = False,
) -> None:
    """Show who did what, where and when.

    Includes refused requests and outcomes. Message texts aren't recorded.
    """
    beginning = datetime.now(UTC) - length_of_time(since)

    async def show(scripts: Scripts) -> int:
        from bridge.queue.audit import audit_since  # noqa: PLC0415 - see `store`

        is_empty = True
        async for entry in audit_since(scripts, beginning):
            if is_empty and not as_json:
                typer.echo(TITLE)
            typer.echo(for_programs(entry) if as_json else for_people(entry))
            is_empty = False
        if is_empty and not as_json:
            typer.echo(f"No entries in the last {since}. Entries are deleted after BRIDGE_AUDIT_DAYS.")
        return 0

    in_store(show)


def for_people(entry: AuditEntry) -> str:
    """Format *entry* as a line of the table."""
    when, refused = moment(entry.ended_at), "" if entry.is_allowed else "refused"
    return columns(_FORM, when, entry.user, entry.channel, refused, entry.did, entry.about, result(entry))


def for_programs(entry: AuditEntry) -> str:
    """Format *entry* as JSON: *outcome* is a stable word, *result* is for people."""
    kind, id_, name = (*entry.about.split(" ", 2), "", "", "")[:3]
    about = {"about": f"{kind} {id_}".rstrip(), "name": name}
    return to_json({**asdict(entry), **about, "outcome": word(entry), "result": result(entry)})


def result(entry: AuditEntry) -> str:
    """Describe the outcome for people."""
    if entry.outcome.startswith(_DEAD):
        return f"couldn't be finished ({entry.outcome.removeprefix(_DEAD)})"
    known = RESULTS if entry.is_allowed else {**RESULTS, **REFUSALS}
    return known.get(entry.outcome, entry.outcome)


def word(entry: AuditEntry) -> str:
    """Name the outcome for programs: ``no_such``, ``not_allowed``, ``form_opened``."""
    outcome = entry.outcome
    first = outcome.partition(":")[0] if outcome.startswith((_DEAD, _NOT_SHOWN)) else outcome
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", first).lower()).strip("_")
