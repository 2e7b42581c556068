"""``/stats``."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from bridge.config_tables import Act
from bridge.engine.feature import Feature
from bridge.engine.results import Result
from bridge.engine.turn import Turn
from bridge.errors import BadSchedule
from bridge.features.buttons import ALERT_FORM, REPORT_FORM, STATISTICS
from bridge.features.deps import Deps
from bridge.features.reach import look_for_outages
from bridge.features.statistics.agents import agents_reply, exposed
from bridge.features.statistics.aggregating import WorkStore
from bridge.features.statistics.layout import CSV_FILE, csv_file, with_below
from bridge.features.statistics.snapshots import hour_of, parse_moment
from bridge.inbound import Click, Notice
from bridge.names.folding import name_key
from bridge.project.connection import ProjectConnection
from bridge.queue.finished_turns import FinishedTurn
from bridge.queue.writes import Write
from bridge.slack.blockkit import kit

_USUALLY: Final = timedelta(days=7)

stats = Feature("stats")
stats.outcomes |= {"csv_file": "sent a file"}


@stats.every(timedelta(hours=1))
async def take_snapshot(deps: Deps) -> None:
    """Record each project's statistics, unless this hour already has a snapshot; a slow one holds up no other."""
    results = await asyncio.gather(
        *(_take(deps, connection) for connection in deps.projects.connections), return_exceptions=True
    )
    for failed in filter(None, results):
        raise failed


async def _take(deps: Deps, project: ProjectConnection) -> None:
    statistics = deps.statistics(project)
    if hour_of(deps.now()) not in (await statistics.store.hours())[0]:
        await statistics.read()


@stats.command("/stats", read_only=True)
async def show_stats(deps: Deps, turn: Turn) -> Result:
    """Show the project's statistics."""
    return await _card(deps, turn, None)


@stats.command("/stats since <when>", read_only=True)
async def show_stats_since(deps: Deps, turn: Turn, *, when: str) -> Result:
    """Show what changed since a time, such as 24h, 7d, yesterday or 2026-11-01."""
    return await _card(deps, turn, _since(deps, when))


@stats.every(timedelta(minutes=1))
async def aggregate(deps: Deps) -> None:
    """Look whether a service that couldn't be reached is back, and count what the release before lists."""
    await look_for_outages(deps)
    await WorkStore(deps.scripts).count_earlier(deps.inbox)


@stats.on_finished_turns
async def count(deps: Deps, turns: Sequence[FinishedTurn]) -> list[Write]:
    """Count what agents and workflows did, and measure it."""
    for turn in (turn for turn in turns if turn.of):
        kind, _, id_ = turn.of.partition(" ")
        deps.metrics.ended(kind, id_, turn.how, turn.project, turn.took.total_seconds())
    return WorkStore(deps.scripts).counts(turns)


@stats.every(timedelta(minutes=1), everywhere=True)
async def expose(deps: Deps) -> None:
    """Have this process's metrics show what the agents did lately, as ``/stats agents`` does."""
    of_projects = [await exposed(deps, project, deps.now() - _USUALLY) for project in deps.projects]
    deps.metrics.lately(number for numbers in of_projects for number in numbers)


@stats.command("/stats agents [since]", read_only=True)
async def show_agents(deps: Deps, turn: Turn, *, since: str = "", csv: bool = False, share: bool = False) -> Result:
    """Show how agents and workflows are doing, such as since 7d. Add --csv to get a file."""
    word, _, following = since.partition(" ")
    when = following if name_key(word) == "since" else since
    moment = _since(deps, when) if when else deps.now() - _USUALLY
    reply, file = await agents_reply(deps, turn.project, moment)
    if csv and share:
        return reply.model_copy(update={"files": (file,)})
    if csv:
        notice = Notice.direct(turn.team, turn.user, CSV_FILE, csv_file(file).stored(), of="answer")
        turn.stage(deps.inbox.queues(notice, why="someone asked for a file"))
    return reply


def _since(deps: Deps, when: str) -> datetime:
    """Return the moment that was typed. Raises `BadSchedule`."""
    if (since := parse_moment(when, deps.now())) is None:
        raise BadSchedule("since", when)
    return since


@stats.button(STATISTICS, label="button: Show statistics")
async def statistics_pressed(deps: Deps, turn: Turn, click: Click) -> Result:  # noqa: ARG001 - every button gets it
    """Show the statistics to the person who pressed the button."""
    return await _card(deps, turn, None)


async def _card(deps: Deps, turn: Turn, since: datetime | None) -> Result:
    """Show the statistics, with a button to schedule reports for people who have permission."""
    statistics = deps.statistics(turn.project)
    stats = await statistics.read()
    card = await statistics.card(stats, since=since)
    offers: list[tuple[Act, str, str]] = [
        ("report", "Schedule a report…", REPORT_FORM),
        ("alert", "Set up an alert…", ALERT_FORM),
    ]
    buttons = [kit.button(label, opens, "-") for act, label, opens in offers if await deps.policy.may(turn.asked(act))]
    return with_below(card, kit.actions(*buttons)) if buttons else card
