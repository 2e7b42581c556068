"""`bridge audit`: reads the acts, and writes each in a line for people or in a line of JSON for programs."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Final

from bridge.queue.audit import Act, AuditLog
from bridge.queue.redis.connection import connect

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
    "thread_full": "too many wait",
    "muted": "the thread is muted",
    "paused": "too often",
}
"""The same of what was refused at the door."""


async def acts(url: str, namespace: str, since: datetime) -> AsyncIterator[Act]:
    """What ended at *since* or later, oldest first. Raises `StoreUnavailable`."""
    redis = connect(url)
    try:
        async for act in AuditLog(redis, namespace).since(since):
            yield act
    finally:
        await redis.aclose()


def line(act: Act) -> str:
    """Write *act* for people; what comes from outside cannot move the cursor."""
    words = (
        f"{act.ended_at:%Y-%m-%d %H:%M:%S}",
        act.user,
        act.channel,
        "" if act.is_allowed else "refused",
        act.did,
        act.about,
        result(act),
    )
    return _FORM.format(*(_printable(word) for word in words)).rstrip()


def to_json(act: Act) -> str:
    """Write *act* for programs, in ASCII: *outcome* is a word that stays, *result* says it to people."""
    kind, id_, name = (*act.about.split(" ", 2), "", "", "")[:3]
    about = {"about": f"{kind} {id_}".rstrip(), "name": name}
    return json.dumps({**act.to_json(), **about, "outcome": word(act), "result": result(act)})


def result(act: Act) -> str:
    """Say what came of *act*."""
    if act.outcome.startswith(_DEAD):
        return f"could not be finished ({act.outcome.removeprefix(_DEAD)})"
    known = RESULTS if act.is_allowed else {**RESULTS, **REFUSALS}
    return known.get(act.outcome, act.outcome)


def word(act: Act) -> str:
    """Name what came of *act* by a word for programs: ``no_such``, ``not_allowed``, ``form_opened``."""
    first = act.outcome.partition(":")[0] if act.outcome.startswith((_DEAD, _NOT_SHOWN)) else act.outcome
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", first).lower()).strip("_")


def _printable(word: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in word)
