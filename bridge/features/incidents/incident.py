"""An incident: a finding that operators read about. Pure functions.

What's shown is what's stored at the time of its post, so an incident may be posted as one that's over already.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bridge.features.episodes.episode import Episode, Finding
from bridge.queue.scripting import epoch_ms, from_epoch_ms

PAST_FOR: Final = timedelta(minutes=5)
"""How long a process reports a trouble that's over, so that the process that looks for incidents sees it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredIncident(Episode):
    """An incident in Redis, posted in a *channel*; there's one of a *name* at a time."""

    id: str
    detail: str = ""
    project_name: str = ""
    channel: str = ""

    @property
    def kind(self) -> str:
        """Its name in `bridge.features.incidents.kinds`; in its ID, its project may follow."""
        return self.id.partition(":")[0]

    def over(self, at: datetime) -> dict[str, str]:
        """Return the fields for its end, which is closed only once its message is posted."""
        return {"ended": str(epoch_ms(at)), **({"closed": "1"} if self.post else {})}


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
        self._over += [finding._replace(ended=now) for kind, finding in before.items() if kind not in there]
        since = {kind: before[kind].since if kind in before else now for kind in there}
        self._there = {kind: Finding(kind, since[kind], detail, detail) for kind, detail in there.items()}
        self._over = [over for over in self._over if now - (over.ended or now) < PAST_FOR and over.kind not in there]
        return [*self._there.values(), *self._over]


def to_text(findings: Iterable[Finding]) -> str:
    """Return the stored form of what a process reports."""
    return json.dumps(
        [
            [finding.kind, epoch_ms(finding.since), finding.detail, epoch_ms(finding.ended) if finding.ended else 0]
            for finding in findings
        ]
    )


def from_text(text: str | None) -> list[Finding]:
    """Read a stored form; nothing from another version's."""
    try:
        return [
            Finding(
                str(kind), from_epoch_ms(since), str(detail), str(detail), ended=from_epoch_ms(ended) if ended else None
            )
            for kind, since, detail, ended in json.loads(text or "[]")
        ]
    except (ValueError, TypeError):
        return []


def merged(findings: Iterable[Finding]) -> dict[str, Finding]:
    """Return the findings by name: the same one of several processes began first, and ends last."""
    by_name: dict[str, Finding] = {}
    for finding in findings:
        other = by_name.get(finding.name, finding)
        ended = max(finding.ended, other.ended) if finding.ended and other.ended else None
        there = other if finding.ended else finding
        by_name[finding.name] = there._replace(since=min(finding.since, other.since), ended=ended)
    return by_name
