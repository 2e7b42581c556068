"""``/workflows``."""

from __future__ import annotations

from bridge import words
from bridge.blocks.lists import Spot
from bridge.blocks.runs import not_json
from bridge.blocks.workflows import workflow_card
from bridge.commands.deps import Call, Deps
from bridge.commands.input import typed_input
from bridge.commands.listing import workflows_listed
from bridge.commands.routing import Router
from bridge.commands.running import ask_for_input, check_runner, start
from bridge.errors import BadInput
from bridge.project.models import Workflow
from bridge.turns.plan import Plan, Show

router = Router()


@router.command("/workflows list [words]", words.HELP_WORKFLOWS_LIST, default=True, reading=True)
async def list_workflows(deps: Deps, call: Call, *, words: str = "") -> Plan:
    """List the workflows, or those with certain words."""
    return Show(await workflows_listed(deps, call, Spot(words=words)))


@router.command("/workflows show <workflow>", words.HELP_WORKFLOWS_SHOW, reading=True)
async def show_workflow(deps: Deps, call: Call, *, workflow: Workflow) -> Plan:  # noqa: ARG001 - every command gets a call
    """Show one workflow and its nodes."""
    return Show(workflow_card(workflow, await deps.project.get_workflow(workflow.id)))


@router.command("/workflows run [workflow] [input]", words.HELP_WORKFLOWS_RUN)
async def run_workflow(deps: Deps, call: Call, *, workflow: Workflow | None = None, input: str = "") -> Plan:  # noqa: A002 - the usage line's word
    """Run a workflow; without one, or without an input, a form asks for it."""
    await check_runner(deps, call.user)
    if workflow is None or not input:
        return await ask_for_input(deps, call, workflow)
    try:
        return start(workflow, typed_input(input))
    except BadInput as exc:
        await deps.recent.keep_typed(call.team, call.user, call.turn, input)
        return Show(not_json(workflow, input, exc, call.turn), what=type(exc).__name__)
