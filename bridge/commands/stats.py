"""``/stats``."""

from __future__ import annotations

from bridge.blocks.numbers import style_of
from bridge.commands.deps import Call, Deps
from bridge.commands.routing import Router
from bridge.errors import BadUsage
from bridge.reports.since import moment_said
from bridge.turns.plan import Plan, Show

router = Router()


@router.command("/stats", reading=True)
async def show_stats(deps: Deps, call: Call) -> Plan:
    """Show the project's statistics."""
    return Show(await deps.statistics.card(style=style_of(await deps.locale_of(call.user))))


@router.command("/stats since <when>", reading=True)
async def show_stats_since(deps: Deps, call: Call, *, when: str) -> Plan:
    """Show the statistics and what changed since then: 7d, 24h, yesterday, or a day such as 2026-11-01."""
    since = moment_said(when, deps.statistics.now())
    if since is None:
        name = f"/{deps.command_prefix}stats since"
        raise BadUsage(f"{name} 7d, or {name} 2026-11-01, at most 400 days back")
    return Show(await deps.statistics.card(since=since, style=style_of(await deps.locale_of(call.user))))
