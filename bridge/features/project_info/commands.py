"""``/project``."""

from __future__ import annotations

from bridge.features.deps import Call, Deps
from bridge.features.plan import Plan, Show
from bridge.features.project_info.layout import project_card
from bridge.features.routing import Router

router = Router()


@router.command("/project", "Show the project.", reading=True)
async def show_project(deps: Deps, call: Call) -> Plan:  # noqa: ARG001 - every command gets a call
    """Show the project."""
    return Show(project_card(await deps.project.get_project()))
