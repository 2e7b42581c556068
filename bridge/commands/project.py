"""``/project``."""

from __future__ import annotations

from bridge import words
from bridge.blocks.project import project_card
from bridge.commands.deps import Call, Deps
from bridge.commands.routing import Router
from bridge.turns.plan import Plan, Show

router = Router()


@router.command("/project", words.HELP_PROJECT, reading=True)
async def show_project(deps: Deps, call: Call) -> Plan:  # noqa: ARG001 - every command gets a call
    """Show the project."""
    return Show(project_card(await deps.project.get_project()))
