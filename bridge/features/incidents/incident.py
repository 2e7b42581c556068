"""An incident, and what changes it. Pure functions.

An incident is a *finding* that's there. It's posted once, when it begins. While it lasts, changes are replies in the
message's thread; when it's over, the message is edited, and a reply says so. If it begins again while it's stored,
the same message is used again.

A message may be posted long after its incident has begun, or even ended: while Slack is down, for example. So what's
shown is what's stored at that time, and an incident that's over is only closed (*closed*) once its message is posted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

from bridge.errors import RecordNotUnderstood
from bridge.queue.scripting import epoch_ms, from_epoch_ms

CHANGES_EVERY: Final = timedelta(minutes=5)
"""How often at most a change is posted."""

TRIES_EVERY: Final = timedelta(minutes=10)
"""How long after Slack has refused a message it's tried again: someone may have invited the bot."""

PAST_FOR: Final = timedelta(minutes=5)
"""How long a process reports a trouble that's over, so that the process that looks for incidents sees it."""

STATE: Final = ("since", "sign", "channel", "post", "ended", "closed", "refused")
"""The fields that every change depends on."""

_TEXTS: Final = ("said", "sign", "project_name", "channel", "post")
_MOMENTS: Final = ("ended", "refused", "changed")

Does = Literal["begins", "changes", "again", "ends"]


class Finding(NamedTuple):
    """Something that's wrong *since* then, or was until *ended*: a *kind*, in a *project* (its ID) if that matters.

    *said* is shown. A new *sign* is a change that's worth a reply. *project_name* is set if there are several projects.
    """

    kind: str
    since: datetime
    said: str = ""
    sign: str = ""
    project: str = ""
    project_name: str = ""
    ended: datetime | None = None

    @property
    def name(self) -> str:
        """What identifies it: there's one incident of a name at a time."""
        return f"{self.kind}:{self.project}" if self.project else self.kind


@dataclass(frozen=True, slots=True)
class StoredIncident:
    """An incident in Redis. *post* is its message's ``ts``, *changed* when something was last posted about it.

    *refused* is when Slack refused its message. *is_closed*: its end is, or will be, posted. *fields* is its hash.
    """

    name: str
    since: datetime
    said: str = ""
    sign: str = ""
    project_name: str = ""
    channel: str = ""
    post: str = ""
    ended: datetime | None = None
    refused: datetime | None = None
    changed: datetime | None = None
    is_closed: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_redis(cls, name: str, fields: Mapping[str, str]) -> StoredIncident:
        """Parse the ``incident:`` hash. Raises `RecordNotUnderstood`."""
        texts: dict[str, Any] = {one: fields.get(one, "") for one in _TEXTS}
        try:
            moments: dict[str, Any] = {one: from_epoch_ms(ms) for one in _MOMENTS if (ms := fields.get(one))}
            is_closed = fields.get("closed") == "1"
            return cls(
                name=name, since=from_epoch_ms(fields["since"]), **texts, **moments, is_closed=is_closed, fields=fields
            )
        except (KeyError, ValueError) as exc:
            raise RecordNotUnderstood("incident") from exc

    @property
    def kind(self) -> str:
        """Its kind."""
        return self.name.partition(":")[0]


class IncidentStep(NamedTuple):
    """What changes an incident: the *fields* to store, and what's posted about it (None: nothing)."""

    does: Does | None
    fields: Mapping[str, str]


def change(stored: StoredIncident | None, found: Finding | None, now: datetime, channel: str) -> IncidentStep | None:
    """Return what changes an incident, by what was *found* now; None if nothing does.

    New messages go to *channel*.
    """
    if stored is None:
        return _begins(found, now, channel) if found else None
    at = str(epoch_ms(now))
    if found is None or found.ended is not None:
        return _not_there(stored, found, now)
    news = {"said": found.said, "sign": found.sign, "project_name": found.project_name}
    if stored.ended is not None:
        if not stored.is_closed:
            return IncidentStep(None, {"ended": "", **news})
        return IncidentStep(
            "again", {"ended": "", "closed": "", "changed": at, "since": str(epoch_ms(found.since)), **news}
        )
    if not stored.post:
        if stored.refused is not None and now - stored.refused >= TRIES_EVERY:
            return IncidentStep("begins", {"refused": "", "channel": channel, **news})
        return None
    if found.sign != stored.sign and now - (stored.changed or stored.since) >= CHANGES_EVERY:
        return IncidentStep("changes", {"changed": at, **news})
    return None


def _begins(found: Finding, now: datetime, channel: str) -> IncidentStep:
    ended = str(epoch_ms(found.ended)) if found.ended else ""
    return IncidentStep(
        "begins",
        {
            "v": "1", "since": str(epoch_ms(found.since)), "said": found.said, "sign": found.sign, "channel": channel,
            "project_name": found.project_name, "post": "", "ended": ended, "closed": "", "refused": "",
            "changed": str(epoch_ms(now)),
        },
    )  # fmt: skip


def _not_there(stored: StoredIncident, found: Finding | None, now: datetime) -> IncidentStep | None:
    """Return what changes an incident that isn't there now."""
    if stored.ended is None:
        ended = {"ended": str(epoch_ms((found and found.ended) or now))}
        return IncidentStep("ends", {**ended, "closed": "1"}) if stored.post else IncidentStep(None, ended)
    if not stored.is_closed:
        return IncidentStep("ends", {"closed": "1"}) if stored.post else None
    if found and found.ended and found.since > stored.ended:  # it was there again, and is over
        since, ended_at = str(epoch_ms(found.since)), str(epoch_ms(found.ended))
        return IncidentStep("again", {"since": since, "ended": ended_at, "closed": "", "said": found.said})
    return None


class Troubles:
    """What one process knows to be wrong: *look* returns what's wrong now, by kind, in words.

    Since when is remembered here, and so is an outage of Redis, which can be reported only when it's over.
    """

    def __init__(self, look: Callable[[], Mapping[str, str]]) -> None:
        self._look = look
        self._there: dict[str, Finding] = {}
        self._over: list[Finding] = []
        self._away: Finding | None = None

    def unavailable(self, now: datetime, reason: str) -> None:
        """Note that Redis couldn't be written to."""
        self._away = self._away or Finding("store", now, reason)

    def available(self, now: datetime) -> None:
        """Note that Redis was written to; if it couldn't be for a while, that was an incident."""
        if self._away and now - self._away.since >= timedelta(minutes=1):
            self._over.append(self._away._replace(ended=now))
        self._away = None

    def now(self, now: datetime) -> list[Finding]:
        """Return what's wrong now, or was until recently."""
        there, before = self._look(), self._there
        self._over += [one._replace(ended=now) for kind, one in before.items() if kind not in there]
        since = {kind: before[kind].since if kind in before else now for kind in there}
        self._there = {kind: Finding(kind, since[kind], said, said) for kind, said in there.items()}
        self._over = [one for one in self._over if now - (one.ended or now) < PAST_FOR and one.kind not in there]
        return [*self._there.values(), *self._over]


def to_text(findings: Iterable[Finding]) -> str:
    """Return the stored form of what a process reports."""
    return json.dumps(
        [[one.kind, epoch_ms(one.since), one.said, epoch_ms(one.ended) if one.ended else 0] for one in findings]
    )


def from_text(text: str | None) -> list[Finding]:
    """Read a stored form; nothing from another version's."""
    try:
        return [
            Finding(
                str(kind), from_epoch_ms(since), str(said), str(said), ended=from_epoch_ms(ended) if ended else None
            )
            for kind, since, said, ended in json.loads(text or "[]")
        ]
    except (ValueError, TypeError):
        return []


def merged(findings: Iterable[Finding]) -> dict[str, Finding]:
    """Return the findings by name: the same one of several processes began first, and ends last."""
    found: dict[str, Finding] = {}
    for one in findings:
        other = found.get(one.name)
        if other is None:
            found[one.name] = one
        else:
            is_over = one.ended is not None and other.ended is not None
            ended = max(one.ended, other.ended) if one.ended and other.ended and is_over else None
            there = other if one.ended is not None else one
            found[one.name] = there._replace(since=min(one.since, other.since), ended=ended)
    return found
