"""``/stats``."""

from __future__ import annotations

from bridge.blocks.stats import stats_card
from bridge.commands.deps import Call, Deps
from bridge.commands.routing import Router
from bridge.turns.plan import Plan, Show

router = Router()


@router.command("/stats", reading=True)
async def show_stats(deps: Deps, call: Call) -> Plan:  # noqa: ARG001 - every command gets a call
    """Show the project's statistics."""
    return Show(stats_card(await deps.project.get_stats()))
