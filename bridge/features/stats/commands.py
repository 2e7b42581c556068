"""``/stats``."""

from __future__ import annotations

from bridge.errors import BadUsage
from bridge.features.deps import Call, Deps
from bridge.features.plan import Plan, Show
from bridge.features.routing import Router
from bridge.features.stats.snapshots import moment_said
from bridge.slack.blockkit.numbers import style_of

router = Router()


@router.command("/stats", "Show the project's statistics.", reading=True)
async def show_stats(deps: Deps, call: Call) -> Plan:
    """Show the project's statistics."""
    stats = await deps.statistics.read()
    return Show(await deps.statistics.card(stats, style=style_of(await deps.locale_of(call.user))))


@router.command(
    "/stats since <when>",
    "Show the statistics and what changed since then: 7d, 24h, yesterday, or a day such as 2026-11-01.",
    reading=True,
)
async def show_stats_since(deps: Deps, call: Call, *, when: str) -> Plan:
    """Show the statistics and what changed since then: 7d, 24h, yesterday, or a day such as 2026-11-01."""
    since = moment_said(when, deps.statistics.now())
    if since is None:
        command = f"/{deps.command_prefix}stats since"
        raise BadUsage(f"{command} 7d, or {command} 2026-11-01, at most 400 days back")
    stats = await deps.statistics.read()
    return Show(await deps.statistics.card(stats, since=since, style=style_of(await deps.locale_of(call.user))))
