"""Evaluate all alerts once a minute, and queue what has changed.

One process does that (`Feature.every`), with one read of the statistics for each project that has alerts. If it dies
in between, the next minute's process goes on, as what has changed is in each alert's state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime

from bridge.engine.results import TryLater
from bridge.errors import ProjectError
from bridge.features.alerts.alert import AlertSpec, StoredAlert
from bridge.features.alerts.conditions import LONGEST_OF_TURNS
from bridge.features.alerts.kind import ALERTS
from bridge.features.alerts.readings import Evaluation, OwnFacts, Readings, hours_for
from bridge.features.alerts.records import AlertEdge
from bridge.features.alerts.store import AlertStore
from bridge.features.deps import Deps
from bridge.features.episodes.episode import step
from bridge.features.episodes.telling import changed
from bridge.features.reach import statistics_now
from bridge.features.standing.pauses import tell_of_removal
from bridge.features.statistics.aggregating import WorkStore
from bridge.features.statistics.numbers import NUMBERS
from bridge.features.statistics.past import Past
from bridge.features.statistics.snapshots import Snapshot, hour_of, moment_of, reading_of
from bridge.project.connection import ProjectConnection
from bridge.queue.scripting import epoch_ms
from bridge.queue.status import dead_letters, oldest_message

log = logging.getLogger(__name__)


async def evaluate_all(deps: Deps) -> None:
    """Evaluate the alerts of all projects; a slow one holds up no other. Raises `StoreUnavailable`."""
    store = AlertStore(deps.scripts)
    alerts = [alert for alert in await store.all() if not alert.paused]
    if not alerts:
        return
    own = await own_facts(deps, [alert.spec for alert in alerts])
    for alert in alerts:
        is_served = deps.projects.get(alert.spec.project) is not None
        if is_served and alert.is_gone:
            await deps.inbox.write(*store.has_project(alert.id))
        elif not is_served and not alert.is_gone:  # told once a day if processes don't serve the same ones
            await tell_of_removal(deps, ALERTS, alert, event=f"removed:{alert.id}:{hour_of(deps.now()) // 24}")
    of_project = [
        (project, [alert for alert in alerts if alert.spec.project == project.key]) for project in deps.projects
    ]
    evaluations = (_evaluate(deps, project, theirs, own) for project, theirs in of_project if theirs)
    for failed in filter(None, await asyncio.gather(*evaluations, return_exceptions=True)):
        raise failed


async def _evaluate(deps: Deps, project: ProjectConnection, alerts: Sequence[StoredAlert], own: OwnFacts) -> None:
    """Evaluate the *alerts* of one project; store each change, and queue its message in the same step."""
    readings = await read(deps, project, [alert.spec for alert in alerts], own)
    now = readings.now
    for alert in alerts:
        spec = alert.spec
        verdict = readings.evaluate(spec.parsed, zone=spec.clock, target=spec.target)
        changes = step(alert, verdict.found(now), now)
        if changes is None:
            continue
        writes, does = changed(deps.scripts.keys.alert(alert.id), alert, changes.fields), changes.does
        if does is None:
            await deps.inbox.write(*writes)
            continue
        is_unknown = does == "unknown"
        since = (alert.unknown if is_unknown else alert.since) or now
        body = AlertEdge(
            team=spec.team, channel=spec.channel, user=spec.owner, project=spec.project, alert=alert.id,
            since=since, ended=now if does == "ends" else None, detail=verdict.detail, facts=in_words(readings),
            thread_ts=alert.post if alert.since else "", is_unknown=is_unknown,
        )  # fmt: skip
        why = "it can't be evaluated" if is_unknown else "its condition was evaluated"
        end = await deps.queue(body, event=f"alert:{alert.id}:{epoch_ms(since)}:{does}", why=why, writes=writes)
        log.info("alert changed", extra={"alert": alert.id, "changes": does, "put": end})


async def read(
    deps: Deps, project: ProjectConnection, specs: Sequence[AlertSpec], own: OwnFacts, *, since: datetime | None = None
) -> Readings:
    """Read the statistics of a project once, and the snapshots that alerts need, or all *since* a moment.

    Raises `StoreUnavailable`.
    """
    statistics, now = deps.statistics(project), deps.now()
    conditions = [(spec.parsed, spec.clock) for spec in specs]
    _whole, hours = await statistics.store.hours()
    wanted = {hour for hour in hours if since is not None and hour >= hour_of(since)}
    of_numbers = set[int]()
    for condition, zone in conditions:
        needed = wanted if condition.subject == "names" else of_numbers
        needed |= hours_for(condition, hours, now, zone)
    known = await statistics.store.numbers(of_numbers - wanted) | await statistics.store.read(wanted, or_numbers=True)
    past = Past(known.values())
    current: Snapshot | None = None
    down_since: datetime | None = None
    if any(condition.is_of_statistics or condition.subject == "down" for condition, _zone in conditions):
        stats, down_since = await statistics_now(deps, project)
        current = reading_of(stats, now) if stats else None
    recorded = moment_of(hours[0]) if hours else None
    return Readings(now, current, past, recorded, down_since, own, project.key)


async def own_facts(deps: Deps, specs: Sequence[AlertSpec]) -> OwnFacts:
    """Read what the bridge knows itself, as far as alerts need it. Raises `StoreUnavailable`."""
    conditions = [spec.parsed for spec in specs]
    subjects = {condition.subject for condition in conditions}
    dead, _since = await dead_letters(deps.scripts) if "failed work" in subjects else (0, None)
    oldest = await oldest_message(deps.scripts) if "oldest" in subjects else None
    kinds = sorted({condition.of or "workflow" for condition in conditions if condition.is_of_turns})
    ended = await WorkStore(deps.scripts).ended(deps.now() - LONGEST_OF_TURNS, *kinds)
    return OwnFacts(dead, oldest, ended)


async def look(
    deps: Deps, project: ProjectConnection, spec: AlertSpec, *, since: datetime | None = None
) -> tuple[Readings, Evaluation]:
    """Read what one alert needs (`read`), and evaluate it. Raises `StoreUnavailable`."""
    readings = await read(deps, project, [spec], await own_facts(deps, [spec]), since=since)
    return readings, readings.evaluate(spec.parsed, zone=spec.clock, target=spec.target)


def in_words(readings: Readings) -> str:
    """Return the statistics in words, for an agent or a workflow."""
    if readings.current is None:
        return ""
    known = readings.current.numbers
    shown = [(known[number.name], number) for number in NUMBERS if number.name in known]
    numbers = ", ".join(f"{value:,} {number.noun(value)}" for value, number in shown)
    return f"Statistics at {readings.now.astimezone(UTC):%Y-%m-%d %H:%M} UTC: {numbers}."


async def check_owners(deps: Deps) -> None:
    """Queue a check of each alert whose owner or channel no longer has access, which pauses it.

    Raises `StoreUnavailable`.
    """
    now = deps.now()
    for alert in await AlertStore(deps.scripts).all():
        spec = alert.spec
        if alert.paused:
            continue
        try:
            refusal = await deps.refusal_now(spec.owner, spec.channel, *await ALERTS.rights(deps, spec))
        except (ProjectError, TryLater):  # that's unknown; it's asked again before anything is posted
            continue
        if refusal:
            check = AlertEdge(
                team=spec.team, channel=spec.channel, user=spec.owner, project=spec.project, alert=alert.id,
                since=now, is_check=True,
            )  # fmt: skip
            event = f"alert:{alert.id}:{hour_of(now)}:check"
            await deps.inbox.put(check, event=event, why="its owner may no longer have it")
