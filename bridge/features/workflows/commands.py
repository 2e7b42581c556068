"""``/workflows``."""

from __future__ import annotations

from bridge.errors import BadInput
from bridge.features.deps import Call, Deps
from bridge.features.listing import workflows_listed
from bridge.features.plan import Plan, Show
from bridge.features.routing import Router
from bridge.features.workflows.input import typed_input
from bridge.features.workflows.layout import workflow_card
from bridge.features.workflows.run_card import not_json
from bridge.features.workflows.running import ask_for_input, check_runner, start
from bridge.project.models import Workflow
from bridge.slack.blockkit.lists import ListPage

router = Router()


@router.command(
    "/workflows list [words]", "List the workflows, or those with certain words.", default=True, reading=True
)
async def list_workflows(deps: Deps, call: Call, *, words: str = "") -> Plan:
    """List the workflows, or those with certain words."""
    return Show(await workflows_listed(deps, call, ListPage(words=words)))


@router.command("/workflows show <workflow>", "Show one workflow and its nodes.", reading=True)
async def show_workflow(deps: Deps, call: Call, *, workflow: Workflow) -> Plan:  # noqa: ARG001 - every command gets a call
    """Show one workflow and its nodes."""
    return Show(workflow_card(workflow, await deps.project.get_workflow(workflow.id)))


@router.command("/workflows run [workflow] [input]", "Run a workflow. Without an input, a form asks for it.")
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
