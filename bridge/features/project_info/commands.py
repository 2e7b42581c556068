"""``/project``."""

from __future__ import annotations

from bridge.engine.feature import Feature
from bridge.engine.results import Result
from bridge.engine.turn import Turn
from bridge.features.deps import Deps
from bridge.features.project_info.layout import project_card, project_list
from bridge.ids import base_of

project_info = Feature("project_info")


@project_info.command("/project", read_only=True, of_project=True)
async def show_project(deps: Deps, turn: Turn) -> Result:
    """Show the project's details."""
    if deps.projects.is_several and not turn.body.names_project:
        return project_list(
            [(project.name, project.id, project.key == base_of(turn.project_key)) for project in deps.projects]
        )
    return project_card(await turn.project.client.get_project(), turn.project.id if turn.project_name else "")
