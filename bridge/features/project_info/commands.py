"""``/project``."""

from __future__ import annotations

from bridge.engine.feature import Feature
from bridge.engine.results import Result
from bridge.engine.turn import Turn
from bridge.features.deps import Deps
from bridge.features.project_info.layout import project_card

project_info = Feature("project_info")


@project_info.command("/project", read_only=True)
async def show_project(deps: Deps, turn: Turn) -> Result:  # noqa: ARG001 - every command gets a turn
    """Show the project's details."""
    return project_card(await turn.project.client.get_project())
