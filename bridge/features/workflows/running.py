"""How a run begins, whether it was asked for by command, by button or by form."""

from __future__ import annotations

from typing import Any

from bridge.errors import NoSuch, NotAllowed
from bridge.features.deps import Call, Deps
from bridge.features.plan import OpenForm, Plan, RunWorkflow, Show
from bridge.features.workflows.forms import Origin, run_form
from bridge.features.workflows.run_card import confirm, input_gone, offer_form, offer_to_mend, runs_as_text
from bridge.project.models import Workflow
from bridge.slack.blockkit.reply import Reply


async def check_runner(deps: Deps, user: str, reason: str = "runner") -> None:
    """Let only those go on who may run workflows. Raises `NotAllowed` with the *reason*."""
    if not await deps.may_run(user):
        raise NotAllowed(reason)


async def is_runner(deps: Deps, user: str) -> bool:
    """Whether somebody is to be offered what runs workflows; no where that is not known."""
    try:
        return await deps.may_run(user)
    except NotAllowed:
        return False


async def workflow_by_id(deps: Deps, id_: int) -> Workflow:
    """Look up a workflow that a button or a form names. Raises `NoSuch`."""
    for workflow in await deps.catalog.get_workflows():
        if workflow.id == id_:
            return workflow
    raise NoSuch("workflow", str(id_))


def start(workflow: Workflow, given: Any, *, is_sure: bool = False, replaces: Reply | None = None) -> Plan:
    """Start a run, or ask first where the workflow is inactive."""
    if workflow.is_active or is_sure:
        return RunWorkflow(workflow.id, workflow.name, given, replaces)
    return Show(confirm(workflow, given))


async def ask_to_mend(deps: Deps, call: Call, workflow: Workflow, kept: str) -> Plan:
    """Open the form with the input that was *kept*, which is nearly JSON."""
    typed = await deps.recent.typed(call.team, call.user, kept)
    if typed is None:
        return Show(input_gone())
    view = run_form(workflow, _origin(call), typed=typed, kind="json")
    return OpenForm(view, otherwise=offer_to_mend(workflow, kept))


async def start_as_text(deps: Deps, call: Call, workflow: Workflow, kept: str) -> Plan:
    """Start a run with the input that was *kept*, as the text that it is."""
    typed = await deps.recent.typed(call.team, call.user, kept, is_last_use=True)
    return Show(input_gone()) if typed is None else start(workflow, typed, replaces=runs_as_text(workflow))


async def ask_for_input(deps: Deps, call: Call, workflow: Workflow | None, *, is_sure: bool = False) -> OpenForm:
    """Open the form, with the workflow chosen where it is known, and the input that its person wants remembered."""
    origin = _origin(call, is_sure=is_sure)
    known = await deps.recent.input_of(call.team, call.user, workflow.id) if workflow else None
    if known is None:
        view = run_form(workflow, origin)
    else:
        view = run_form(workflow, origin, typed=known.typed, kind=known.kind, is_remembered=True)
    return OpenForm(view, otherwise=offer_form(workflow))


def _origin(call: Call, *, is_sure: bool = False) -> Origin:
    return Origin(
        channel=call.channel,
        thread_ts=call.thread.root if call.thread else "",
        response_url=call.response_url,
        is_sure=is_sure,
    )
