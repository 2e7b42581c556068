"""An alert, its state, and what changes it. Pure functions.

An alert is posted when its condition begins to hold, and its end when it no longer does; in between, nothing. After
its end it cools off for a while, so that a number that goes up and down isn't posted each time: if the condition
still, or again, holds then, that's posted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import ValidationError, field_validator

from bridge.errors import BadAlert, RecordNotUnderstood
from bridge.features.alerts.conditions import AlertCondition, read_condition
from bridge.features.alerts.readings import Readings
from bridge.features.standing.store import Spec
from bridge.features.statistics.past import Past
from bridge.features.statistics.snapshots import Snapshot
from bridge.names.folding import name_key
from bridge.queue.scripting import from_epoch_ms

COOLING: Final = timedelta(minutes=15)
"""How long after its end an alert isn't posted again."""

UNPOSTED: Final = timedelta(hours=1)
"""How long the end of an alert waits for its post; then it's assumed that there won't be one."""

UNKNOWN_FOR: Final = timedelta(days=1)
"""After how long it's said, once, that it's unknown whether a condition holds."""

UNTIL_IT_RECOVERS: Final = "recovers"
UNREADABLE: Final = "unreadable"
"""The reason of what's paused because another version wrote it, whose condition this one doesn't have."""

PREVIEWED: Final = timedelta(days=30)

Edge = Literal["begins", "ends", "wakes"]


class AlertSpec(Spec, frozen=True):
    """An alert as a person set it up.

    *condition* is its `AlertCondition.words`, *target* the ID of its agent or workflow, *run* that of the workflow that
    it runs, called *run_name*. *zone* is the owner's time zone.
    """

    condition: str
    zone: str = "UTC"
    target: int | None = None
    run: int | None = None
    run_name: str = ""

    @field_validator("condition")
    @classmethod
    def _in_todays_words(cls, condition: str) -> str:
        return re.sub("^dead letters", "failed work", condition)  # as earlier versions stored it

    @property
    def parsed(self) -> AlertCondition:
        """The condition. Raises `BadAlert` if another version wrote it."""
        return read_condition(self.condition)

    @property
    def clock(self) -> ZoneInfo:
        """The owner's time zone; UTC if this machine doesn't know it."""
        return zone_called(self.zone)

    @property
    def identity(self) -> tuple[object, ...]:
        """What it watches, what it runs, and where."""
        return name_key(self.condition), self.target, self.run, self.team, self.channel, self.project


def zone_called(name: str) -> ZoneInfo:
    """Return a time zone; UTC if this machine doesn't know it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


@dataclass(frozen=True, slots=True)
class StoredAlert:
    """An alert, and its state.

    *since* is when its condition began to hold, if it was posted or will be, and *post* the ``ts`` of that message.
    *quiet* is the end of its cooling off, *snoozed* that of its snooze (ms), or ``recovers``. *unknown* is since when
    it's unknown whether it holds; if that *is_told*, people know. *paused* is the reason; `UNREADABLE` isn't stored.
    It *is_gone*: its project was removed, and its owner was told.
    """

    id: str
    spec: AlertSpec
    since: datetime | None = None
    post: str = ""
    quiet: datetime | None = None
    snoozed: str = ""
    unknown: datetime | None = None
    is_told: bool = False
    paused: str = ""
    is_gone: bool = False

    @classmethod
    def from_redis(cls, id_: str, fields: Mapping[str, str]) -> StoredAlert:
        """Parse the ``alert:`` hash. Raises `RecordNotUnderstood`."""
        try:
            spec = AlertSpec.model_validate_json(fields["body"])
            return cls(
                id=id_,
                spec=spec,
                since=_moment(fields.get("since", "")),
                post=fields.get("post", ""),
                quiet=_moment(fields.get("quiet", "")),
                snoozed=fields.get("snoozed", ""),
                unknown=_moment(fields.get("unknown", "")),
                is_told=bool(fields.get("told")),
                paused=UNREADABLE if _is_unknown(spec.condition) else fields.get("paused", ""),
                is_gone=bool(fields.get("gone")),
            )
        except (KeyError, ValueError, ValidationError) as exc:
            raise RecordNotUnderstood("alert") from exc

    @property
    def called(self) -> str:
        """The condition in words."""
        return self.spec.condition

    @property
    def snoozed_until(self) -> datetime | None:
        """The end of its snooze, if that's a moment."""
        return _moment(self.snoozed) if self.snoozed.isdecimal() else None

    def is_snoozed(self, now: datetime) -> bool:
        """Whether it's snoozed."""
        until = self.snoozed_until
        return self.snoozed == UNTIL_IT_RECOVERS or (until is not None and now < until)


def _is_unknown(condition: str) -> bool:
    """Whether it's another version's condition."""
    try:
        read_condition(condition)
    except BadAlert:
        return True
    return False


def _moment(ms: str) -> datetime | None:
    return from_epoch_ms(ms) if ms else None


def edge(alert: StoredAlert, *, holds: bool | None, now: datetime) -> Edge | None:
    """Return what changes if the condition *holds* *now*; None if nothing does, or that's unknown.

    ``wakes``: it was snoozed until it recovers, and that has happened without a post.
    """
    if alert.paused or holds is None:
        return None
    if alert.since is not None:
        is_settled = bool(alert.post) or now - alert.since > UNPOSTED
        return "ends" if not holds and is_settled else None
    if not holds:
        return "wakes" if alert.snoozed == UNTIL_IT_RECOVERS else None
    is_cooling = alert.quiet is not None and now < alert.quiet
    return None if is_cooling or alert.is_snoozed(now) else "begins"


class Period(NamedTuple):
    """When a condition held; *end* is None if it still does."""

    begin: datetime
    end: datetime | None


class Preview(NamedTuple):
    """What an alert would have done: the *periods*, *since* when that's known, and the numbers over time.

    It *is_possible* if the alert is about something that's recorded; it *is_of_few* if it's about small numbers.
    """

    since: datetime | None
    periods: Sequence[Period] = ()
    points: Sequence[tuple[datetime, float]] = ()
    is_possible: bool = True
    is_of_few: bool = False


def preview(spec: AlertSpec, snapshots: Sequence[Snapshot], readings: Readings) -> Preview:
    """Return what an alert would have done with these *snapshots*, and with the newest *readings*."""
    condition, zone, past = spec.parsed, spec.clock, Past(snapshots)
    if not condition.is_of_statistics:
        return Preview(None, is_possible=False)
    shown = [*(one for one in past.snapshots if one.at >= readings.now - PREVIEWED)]
    shown += [readings.current] if readings.current else []
    alert, periods, points = StoredAlert("preview", spec), list[Period](), list[tuple[datetime, float]]()
    for one in shown:
        then = Readings(one.at, one, past, readings.since, project=readings.project)
        verdict = then.evaluate(condition, zone=zone, target=spec.target)
        points += [(one.at, verdict.number)] if verdict.number is not None else []
        match edge(alert, holds=verdict.holds, now=one.at):
            case "begins":
                alert = replace(alert, since=one.at, post="preview")
                periods.append(Period(one.at, None))
            case "ends":
                alert = replace(alert, since=None, quiet=one.at + COOLING)
                periods[-1] = Period(periods[-1].begin, one.at)
    is_of_few = condition.sign in {"<", "<=", "falls"}
    return Preview(points[0][0] if points else None, periods, points, is_of_few=is_of_few)
