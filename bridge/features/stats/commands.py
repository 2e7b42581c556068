"""``/stats``."""

from __future__ import annotations

from datetime import timedelta

from bridge.errors import BadUsage
from bridge.features.deps import Deps
from bridge.features.feature import Feature
from bridge.features.results import Result
from bridge.features.shared.snapshots import hour_of, moment_said
from bridge.queue.turn import Turn
from bridge.slack.blockkit.numbers import style_of

stats = Feature("stats")


@stats.every(timedelta(hours=1))
async def take_snapshot(deps: Deps) -> None:
    """Take the snapshot of an hour in which nobody has looked."""
    if hour_of(deps.now()) not in await deps.statistics.store.hours():
        await deps.statistics.read()


@stats.command("/stats", "Show the project's statistics.", reading=True)
async def show_stats(deps: Deps, turn: Turn) -> Result:
    """Show the project's statistics."""
    stats = await deps.statistics.read()
    return await deps.statistics.card(stats, style=style_of(await deps.directory.user_locale(turn.user)))


@stats.command(
    "/stats since <when>",
    "Show the statistics and what changed since then: 7d, 24h, yesterday, or a day such as 2026-11-01.",
    reading=True,
)
async def show_stats_since(deps: Deps, turn: Turn, *, when: str) -> Result:
    """Show the statistics and what changed since then: 7d, 24h, yesterday, or a day such as 2026-11-01."""
    since = moment_said(when, deps.statistics.now())
    if since is None:
        raise BadUsage(
            "{command} 7d, or {command} 2026-11-01, at most 400 days back".format(
                command=f"/{deps.command_prefix}stats since"
            )
        )
    stats = await deps.statistics.read()
    return await deps.statistics.card(stats, since=since, style=style_of(await deps.directory.user_locale(turn.user)))
