"""An alert, its state, and what changes it. Pure functions.

An alert is posted when its condition begins to hold, and its end when it no longer does; in between, nothing. After
its end it cools off for a while, so that a number that goes up and down isn't posted each time: if the condition
still, or again, holds then, that's posted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar, Final, NamedTuple
from zoneinfo import ZoneInfo

from pydantic import field_validator

from bridge.features.alerts.conditions import AlertCondition, TypedAlert, read_condition
from bridge.features.alerts.readings import Readings
from bridge.features.episodes.episode import Episode, EpisodeStep, step
from bridge.features.standing.store import Spec
from bridge.features.standing.zones import clock_called
from bridge.features.statistics.past import Past
from bridge.features.statistics.snapshots import Snapshot
from bridge.names.folding import name_key
from bridge.queue.scripting import epoch_ms

COOLING: Final = timedelta(minutes=15)
"""How long after its end an alert isn't posted again."""

UNREADABLE: Final = "unreadable"
"""The reason of what's paused because another version wrote it, whose condition this one doesn't have."""

PREVIEWED: Final = timedelta(days=30)


class Targets(NamedTuple):
    """The IDs of what an alert is about, and of the workflow that it runs."""

    target: int | None = None
    run: int | None = None


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
        return clock_called(self.zone, otherwise="UTC")

    @property
    def identity(self) -> tuple[object, ...]:
        """What it watches, what it runs, and where."""
        return name_key(self.condition), self.target, self.run, self.team, self.channel, self.project

    def named_as(self, typed: TypedAlert) -> Targets:
        """Return the IDs of what's *typed* as it's named here."""
        known, about = self.parsed, typed.condition
        is_about_it = (known.of, name_key(known.name)) == (about.of, name_key(about.name))
        is_run = name_key(self.run_name) == name_key(typed.run)
        return Targets(self.target if is_about_it else None, self.run if is_run else None)


@dataclass(frozen=True, slots=True)
class StoredAlert(Episode):
    """An alert, and its state; *paused* is the reason (`UNREADABLE` isn't stored).

    It *is_gone*: its project was removed, and its owner was told.
    """

    id: str
    spec: AlertSpec
    paused: str = ""
    is_gone: bool = False

    unposted: ClassVar[timedelta] = timedelta(hours=1)
    """Afterwards it's assumed that there won't be a post."""

    @property
    def called(self) -> str:
        """The condition in words."""
        return self.spec.condition

    def over(self, at: datetime) -> dict[str, str]:
        """Return the fields for its end, after which it cools off."""
        return {"since": "", "quiet": str(epoch_ms(at + COOLING))}


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
    shown = [*(snapshot for snapshot in past.snapshots if snapshot.at >= readings.now - PREVIEWED)]
    shown += [readings.current] if readings.current else []
    alert, periods, points = StoredAlert("preview", spec), list[Period](), list[tuple[datetime, float]]()
    for snapshot in shown:
        then = Readings(snapshot.at, snapshot, past, readings.since, project=readings.project)
        verdict = then.evaluate(condition, zone=zone, target=spec.target)
        points += [(snapshot.at, verdict.number)] if verdict.number is not None else []
        match step(alert, verdict.found(snapshot.at), snapshot.at):
            case EpisodeStep("begins"):
                alert = replace(alert, since=snapshot.at, post="preview")
                periods.append(Period(snapshot.at, None))
            case EpisodeStep("ends"):
                alert = replace(alert, since=None, quiet=snapshot.at + COOLING)
                periods[-1] = Period(periods[-1].begin, snapshot.at)
    is_of_few = condition.sign in {"<", "<=", "falls"}
    return Preview(points[0][0] if points else None, periods, points, is_of_few=is_of_few)
