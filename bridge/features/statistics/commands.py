"""``/stats``."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from bridge.engine.feature import Feature
from bridge.engine.results import Result
from bridge.engine.turn import Turn
from bridge.errors import BadSchedule
from bridge.features.buttons import ALERT_FORM, REPORT_FORM, STATISTICS
from bridge.features.deps import Deps
from bridge.features.statistics.layout import with_below
from bridge.features.statistics.snapshots import hour_of, parse_moment
from bridge.inbound import Click
from bridge.project.connection import ProjectConnection
from bridge.slack.blockkit import kit

stats = Feature("stats")


@stats.every(timedelta(hours=1))
async def take_snapshot(deps: Deps) -> None:
    """Record each project's statistics, unless this hour already has a snapshot; a slow one holds up no other."""
    results = await asyncio.gather(*(_take(deps, one) for one in deps.projects), return_exceptions=True)
    for failed in filter(None, results):
        raise failed


async def _take(deps: Deps, project: ProjectConnection) -> None:
    statistics = deps.statistics(project)
    if hour_of(deps.now()) not in await statistics.store.hours():
        await statistics.read()


@stats.command("/stats", read_only=True)
async def show_stats(deps: Deps, turn: Turn) -> Result:
    """Show the project's statistics."""
    return await _card(deps, turn, None)


@stats.command("/stats since <when>", read_only=True)
async def show_stats_since(deps: Deps, turn: Turn, *, when: str) -> Result:
    """Show what changed since a time, such as 24h, 7d, yesterday or 2026-11-01."""
    since = parse_moment(when, deps.now())
    if since is None:
        raise BadSchedule("since", when)
    return await _card(deps, turn, since)


@stats.button(STATISTICS, label="button: Show statistics")
async def statistics_pressed(deps: Deps, turn: Turn, click: Click) -> Result:  # noqa: ARG001 - every button gets it
    """Show the statistics to the person who pressed the button."""
    return await _card(deps, turn, None)


async def _card(deps: Deps, turn: Turn, since: datetime | None) -> Result:
    """Show the statistics, with a button to schedule reports for people who have permission."""
    statistics = deps.statistics(turn.project)
    stats = await statistics.read()
    card = await statistics.card(stats, since=since)
    if not await deps.access.is_runner(turn.user):
        return card
    offers = kit.button("Schedule a report…", REPORT_FORM, "-"), kit.button("Set up an alert…", ALERT_FORM, "-")
    return with_below(card, kit.actions(*offers))
