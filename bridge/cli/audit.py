"""`bridge audit`: who did what, where and when, and with which outcome."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bridge.cli.printing import columns, to_json
from bridge.cli.store import EmbeddedRedisOption, SinceOption, in_store, length_of_time

if TYPE_CHECKING:
    from bridge.queue.audit import AuditEntry
    from bridge.queue.scripting import Scripts

_DEAD: Final = "dead: "
_NOT_SHOWN: Final = "not shown: "
_FORM: Final = "{:<20}  {:<11}  {:<11}  {:<7}  {:<24}  {:<28}  {}"
TITLE: Final = _FORM.format("when (UTC)", "who", "where", "", "did", "to", "outcome")

RESULTS: Final = {
    "BridgeError": "did not work",
    "ConfigurationError": "settings are missing",
    "ProjectError": "the service did not carry it out",
    "CannotConnect": "the service is not reachable",
    "CircuitOpen": "the service is down",
    "TimedOut": "the service took too long",
    "ConnectionLost": "the connection to the service broke",
    "NotUnderstood": "the service's answer was not understood",
    "ServiceRefused": "the service refused it",
    "NotSignedIn": "the service does not accept the key",
    "NotFound": "the service does not know it",
    "Busy": "the service is busy",
    "Outage": "the service is down",
    "SlackError": "Slack did not carry it out",
    "SlackRefused": "Slack refused it",
    "SlackTokenRefused": "Slack does not accept the token",
    "SlackUnreachable": "Slack is not reachable",
    "SlackAmbiguous": "whether Slack took it is not known",
    "SlackGone": "the connection to Slack was lost",
    "StoreError": "Redis did not carry it out",
    "StoreUnavailable": "Redis is not reachable",
    "StoreWiped": "Redis was wiped",
    "NamespaceTaken": "the namespace belongs to another bot",
    "LaneLost": "another process took over",
    "RecordNotUnderstood": "a record of another release",
    "CommandError": "not understood",
    "UnknownCommand": "no such command",
    "UnknownOption": "no such option",
    "BadUsage": "words missing or too many",
    "NoSuch": "no such name",
    "SeveralFit": "several names fit",
    "BadSchedule": "the schedule was not understood",
    "BadInput": "the input is not JSON; asked what to do",
    "NotAllowed": "they may not",
    "TooOften": "too often",
    "unknown": "whether it was done is not known",
    "slip": "nearly a command; asked what was meant",
    "gone": "it is kept no longer",
    "full": "too many wait",
    "menu": "asked which agent",
    "report": "posted",
}
"""Outcomes that do not say by themselves what they are, in words for people: by the name under which they are kept."""

REFUSALS: Final = {
    "user": "BRIDGE_ALLOWED_USERS does not name them",
    "channel": "BRIDGE_ALLOWED_CHANNELS does not name it",
    "stranger": "of another workspace",
    "unknown": "Slack does not say who they are",
    "canvas": "in a canvas",
    "command_missed": "found too late, and not run",
    "thread_full": "too many wait",
    "muted": "the thread is muted",
    "paused": "too often",
}
"""The same of what was refused at the door."""


def audit(
    *,
    since: SinceOption = "7d",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    embedded_redis: EmbeddedRedisOption = False,
) -> None:
    """Show who did what, where and when.

    With whether they were allowed to, and what came of it; never what was said.
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
            typer.echo("Nothing was done in this time, or it is kept no longer (BRIDGE_AUDIT_DAYS).")
        return 0

    in_store(show, embedded_redis=embedded_redis)


def for_people(entry: AuditEntry) -> str:
    """Write *entry* as a line of the table."""
    when, refused = f"{entry.ended_at:%Y-%m-%d %H:%M:%S}", "" if entry.is_allowed else "refused"
    return columns(_FORM, when, entry.user, entry.channel, refused, entry.did, entry.about, result(entry))


def for_programs(entry: AuditEntry) -> str:
    """Write *entry* as JSON: *outcome* is a word that stays, *result* says it to people."""
    kind, id_, name = (*entry.about.split(" ", 2), "", "", "")[:3]
    about = {"about": f"{kind} {id_}".rstrip(), "name": name}
    return to_json({**asdict(entry), **about, "outcome": word(entry), "result": result(entry)})


def result(entry: AuditEntry) -> str:
    """Say what came of it."""
    if entry.outcome.startswith(_DEAD):
        return f"could not be finished ({entry.outcome.removeprefix(_DEAD)})"
    known = RESULTS if entry.is_allowed else {**RESULTS, **REFUSALS}
    return known.get(entry.outcome, entry.outcome)


def word(entry: AuditEntry) -> str:
    """Name what came of it by a word for programs: ``no_such``, ``not_allowed``, ``form_opened``."""
    outcome = entry.outcome
    first = outcome.partition(":")[0] if outcome.startswith((_DEAD, _NOT_SHOWN)) else outcome
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", first).lower()).strip("_")
