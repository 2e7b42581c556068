"""``/workflows``, the form to run a workflow, and the buttons of run cards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import Field

from bridge.engine.choices import Choices, Option
from bridge.engine.feature import Feature
from bridge.engine.questions import Question
from bridge.engine.results import Done, Modal, Outcome, Result, TryLater, shown
from bridge.engine.turn import Turn
from bridge.errors import BadInput, ControlNotUnderstood, ProjectError
from bridge.features.buttons import DETAILS, FIND, RUN_FORM, id_of, run_button, workflows_to_choose
from bridge.features.channels.app_rules import check_rule
from bridge.features.deps import Deps
from bridge.features.lookups import opened_here, origin_of, rights, workflow_by_id
from bridge.features.run_records import ApprovedRun, ScheduledRun, TriggeredRun
from bridge.features.waiters import add_waiter
from bridge.features.workflows import forms, layout, run_card
from bridge.features.workflows.inputs import Remembered, remember, remembered_input
from bridge.features.workflows.records import RunEnded
from bridge.features.workflows.runs import notify_of_end, results_of, run, unknown_run
from bridge.ids import InProject, PersonKey, TurnId
from bridge.inbound import Click, Shortcut, Submission
from bridge.policy.rules import ANY_WORKFLOW
from bridge.project.models import Workflow
from bridge.slack.blockkit.json_text import typed_input
from bridge.slack.blockkit.lists import ListPage
from bridge.slack.blockkit.modals import Carried, Origin
from bridge.slack.blockkit.mrkdwn import plain_command_text
from bridge.slack.blockkit.reply import Reply

workflows = Feature("workflows")
workflows.outcome_unknown(has_note=True)(unknown_run)
workflows.options(layout.RUN, FIND, act="run")(workflows_to_choose)
workflows.outcomes[run_card.ENDED] = "notified: run ended"


@workflows.command("/workflows list [words]", default=True, read_only=True)
async def list_workflows(deps: Deps, turn: Turn, *, words: str = "") -> Result:
    """List the workflows, or search them."""
    return await _list(deps, turn, ListPage(words=words))


@workflows.command("/workflows show <workflow>", read_only=True)
async def show_workflow(deps: Deps, turn: Turn, *, workflow: Workflow) -> Result:
    """Show one workflow; its trigger and nodes are behind a button."""
    return await _card(deps, turn, workflow)


async def _form(deps: Deps, turn: Turn, workflow: Workflow | None, typed: str | None) -> Modal:
    """Open the form to run a workflow, with the *typed* input filled in, or the one that's remembered."""
    await deps.policy.require(turn.asked("run", workflow or ANY_WORKFLOW))
    if not typed:
        return await _ask_for_input(deps, turn, workflow)
    return forms.run_form(workflow, opened_here(turn), typed=typed)


@workflows.command("/workflows run [workflow] [input]", form=run_button(), needs="run", offered=True, opens=_form)
async def run_workflow(deps: Deps, turn: Turn, *, workflow: Workflow, input: str) -> Result:  # noqa: A002 - the usage line's word
    """Run a workflow. Leave out the input to get a form."""
    try:
        value = typed_input(input)
    except BadInput as exc:
        await deps.policy.require(turn.asked("run", workflow))
        await Choices(deps.scripts).ask(turn, Option(text=input))
        return shown(run_card.not_json(workflow, input, exc, turn.id), what=type(exc).__name__)
    return await run(deps, turn, workflow, value)


@workflows.kind(TriggeredRun)
async def run_triggered(deps: Deps, turn: Turn, triggered: TriggeredRun) -> Result:
    """Run a workflow on an app's post or on an alert, if the person who set this up still may."""
    if triggered.is_alert:
        wanted = await rights(
            deps, "alert", turn.user, turn.channel, turn.project_key, workflow=triggered.workflow, by="alert"
        )
        if refusal := await deps.refusal_now(turn.user, turn.channel, *wanted):
            return Done(f"refused: {refusal}")
    elif stopped := await check_rule(deps, turn, triggered.message):
        return stopped
    workflow = await workflow_by_id(turn, triggered.workflow)
    text = await deps.parts.text(triggered.message.text)
    whole = await deps.parts.below(text, triggered.message.parts)
    return await run(deps, turn, workflow, whole.text or text)


@workflows.kind(ScheduledRun)
async def run_scheduled(deps: Deps, turn: Turn, scheduled: ScheduledRun) -> Result:
    """Run a workflow for a slot of its schedule, which has checked whether it still may."""
    try:
        workflow = await workflow_by_id(turn, scheduled.workflow)
    except ProjectError as exc:
        raise TryLater from exc
    return await run(deps, turn, workflow, scheduled.input)


@workflows.kind(ApprovedRun, label="approved run")
async def run_approved(deps: Deps, turn: Turn, approved: ApprovedRun) -> Result:
    """Run a workflow that was approved, if it and everyone's rights are as they were; they're notified when it ends."""
    permit = await deps.approvals.opened(deps, turn, approved)
    if isinstance(permit, Outcome):
        return permit
    for person in permit.people:
        await add_waiter(deps, turn.id, person)
    return await run(deps, turn, permit.workflow, permit.given, is_sure=True, permit=permit)


@workflows.button(run_card.AGAIN, label="button: Run again")
@workflows.button(run_card.CONFIRM, label="button: Run anyway")
async def run_pressed(deps: Deps, turn: Turn, click: Click) -> Result:
    """Run a workflow again, or run an inactive one anyway."""
    is_sure = click.action_id == run_card.CONFIRM
    await deps.policy.require(turn.asked("run", ANY_WORKFLOW))
    value, question = _ButtonValue.parse(click.value), Question(deps, turn, click) if is_sure else None
    if question and (answered := await question.answered()):
        return answered
    if value.workflow is None:
        return await _ask_for_input(deps, turn, None)
    workflow = await workflow_by_id(turn, value.workflow)
    if "input" not in value.model_fields_set:  # the input was too long for the button; null is an input, too
        return await _ask_for_input(deps, turn, workflow, is_sure=is_sure)
    replaces = run_card.confirmed(workflow) if is_sure else None
    return await run(deps, turn, workflow, value.input, is_sure=is_sure, question=question, replaces=replaces)


@workflows.button(run_card.FIX, label="button: Fix it")
@workflows.button(run_card.AS_TEXT, label="button: Run as text")
async def resolve_input(deps: Deps, turn: Turn, click: Click) -> Result:
    """Run with malformed JSON as text, or open the form to fix it."""
    await deps.policy.require(turn.asked("run", ANY_WORKFLOW))
    value, is_text = _ButtonValue.parse(click.value), click.action_id == run_card.AS_TEXT
    if value.workflow is None:
        raise ControlNotUnderstood(click.action_id)
    workflow = await workflow_by_id(turn, value.workflow)
    question = Question(deps, turn, click)
    if answered := await question.answered():
        return answered
    option = await Choices(deps.scripts).picked(turn, f"0:{value.input_turn}")
    if option is None:
        return run_card.INPUT_EXPIRED
    typed = option.text
    if is_text:
        replaces = run_card.runs_as_text(workflow)
        result = await run(deps, turn, workflow, typed, question=question, replaces=replaces)
        if isinstance(result, Outcome) and result.ended not in {"", run_card.FAILED}:
            turn.stage(Choices(deps.scripts).forgets(turn, value.input_turn))
        return result
    form = forms.run_form(workflow, opened_here(turn), typed=typed, kind="json")
    return replace(form, otherwise=run_card.offer_fix(workflow, value.input_turn))


@workflows.button(RUN_FORM, label="button: Run a workflow")
async def open_form(deps: Deps, turn: Turn, click: Click) -> Result:
    """Open the form offered by a button."""
    value = _ButtonValue.parse(click.value)
    workflow = await workflow_by_id(turn, value.workflow) if value.workflow is not None else None
    await deps.policy.require(turn.asked("run", workflow or ANY_WORKFLOW))
    return await _ask_for_input(deps, turn, workflow)


@workflows.button(layout.RUN, label="button: Run")
async def run_chosen(deps: Deps, turn: Turn, click: Click) -> Result:
    """Open the form for a workflow chosen in a list."""
    workflow = await workflow_by_id(turn, id_of(click.value))
    await deps.policy.require(turn.asked("run", workflow))
    return await _ask_for_input(deps, turn, workflow)


@workflows.button(run_card.NODES, label="button: Node results")
async def show_nodes(deps: Deps, turn: Turn, click: Click) -> Result:  # noqa: ARG001 - every button gets a turn
    """Show the node results of a run."""
    nodes, _output = await results_of(deps.scripts, TurnId(click.value))
    return run_card.node_results(nodes)


@workflows.button(run_card.OUTPUT, label="button: Full output")
async def show_output(deps: Deps, turn: Turn, click: Click) -> Result:  # noqa: ARG001 - every button gets a turn
    """Show the whole output of a run."""
    _nodes, output = await results_of(deps.scripts, TurnId(click.value))
    return run_card.full_output(output)


@workflows.button(run_card.NOTIFY, label="button: Notify me when it's done")
async def notify_when_done(deps: Deps, turn: Turn, click: Click) -> Result:  # noqa: ARG001 - every button gets a turn
    """Notify this person when the run ends."""
    goes_on = await add_waiter(deps, TurnId(click.value), click.user)
    return run_card.WILL_NOTIFY if goes_on else run_card.ENDED_ALREADY


workflows.once_posted(RunEnded)(notify_of_end)


@workflows.once_refused(RunEnded)
async def card_refused(deps: Deps, turn: Turn, ended: RunEnded, _error: str) -> None:
    """Notify the people who wait for this run, although its card can't be posted."""
    await notify_of_end(deps, turn, ended, "")


@workflows.button(layout.TURNS[0], label="button: Previous")
@workflows.button(layout.TURNS[1], label="button: Next")
async def turn_page(deps: Deps, turn: Turn, click: Click) -> Result:
    """Show another page of the list: in place, or privately if the list is public."""
    reply = await _list(deps, turn, ListPage.parse(click.value))
    is_own = click.is_ephemeral or click.channel.startswith("D")
    return reply.model_copy(update={"replaces_original": is_own})


@workflows.button(DETAILS, label="button: Details")
@workflows.button(FIND, label="menu: Find a workflow")
async def show_details(deps: Deps, turn: Turn, click: Click) -> Result:
    """Show one workflow in a modal, with its trigger and nodes."""
    workflow = await workflow_by_id(turn, id_of(click.value))
    card = await _card(deps, turn, workflow, is_whole=True)
    return Modal(layout.workflow_page(card, await origin_of(deps, turn)), otherwise=card)


@workflows.form(forms.RunForm)
async def form_sent(deps: Deps, turn: Turn, submission: Submission, request: forms.RunRequest) -> Result:
    """Run the workflow chosen in the form, and store or delete the person's remembered input."""
    workflow = await workflow_by_id(turn, request.workflow)
    await deps.policy.require(turn.asked("run", workflow))
    remembered = Remembered(kind=request.kind, typed=request.typed) if request.is_remembered else None
    person, where = PersonKey(turn.team, turn.user), InProject(turn.project_key, workflow.id)
    await remember(deps.scripts, person, where, remembered)
    origin = Origin.parse(submission.private_metadata)
    is_sure = origin.is_sure and origin.sure_of in {"", str(workflow.id)}
    return await run(deps, turn, workflow, request.input, is_sure=is_sure)


@workflows.shortcut(
    "run", forms.RUN_A_WORKFLOW, "Choose a workflow and run it.", "global", label="shortcut: Run a workflow"
)
async def run_from_anywhere(deps: Deps, turn: Turn, shortcut: Shortcut) -> Result:
    """Open the form to run a workflow."""
    await deps.policy.require(turn.asked("run", ANY_WORKFLOW))
    typed = plain_command_text(shortcut.text)
    if shortcut.parts:
        typed = await deps.parts.described_below(typed, shortcut.parts)
    return forms.run_form(None, await origin_of(deps, turn), typed=typed)


@workflows.shortcut(
    "run_with",
    "Run a workflow with this",
    "The message becomes the input.",
    "message",
    label="shortcut: Run a workflow",
)
async def run_with_message(deps: Deps, turn: Turn, shortcut: Shortcut) -> Result:
    """Open the form to run a workflow, with the message as its input."""
    return await run_from_anywhere(deps, turn, shortcut)


class _ButtonValue(Carried):
    """The value of a button that runs a workflow, made by `bridge.features.buttons.run_value`."""

    workflow: int | None = Field(default=None, alias="w")
    input: Any = Field(default=None, alias="i")
    input_turn: str = Field(default="", alias="t")  # the turn that stored malformed JSON


async def _card(deps: Deps, turn: Turn, workflow: Workflow, *, is_whole: bool = False) -> Reply:
    detail = await turn.project.client.get_workflow(workflow.id)
    may_run, url = await deps.policy.may(turn.asked("run", workflow)), turn.project.workflow_url
    needs = (await deps.policy.offered(turn.asked("run"), [workflow])).get(workflow.id, "")
    return layout.workflow_card(
        workflow, detail, is_whole=is_whole, may_run=may_run, needs=needs, url=url, project=turn.project_name
    )


async def _list(deps: Deps, turn: Turn, page: ListPage) -> Reply:
    workflows = await turn.project.catalog.get_workflows()
    may_run, offered = (
        await deps.policy.may(turn.asked("run", ANY_WORKFLOW)),
        await deps.policy.offered(turn.asked("run"), workflows),
    )
    shown = workflows.only(workflow for workflow in workflows if workflow.id in offered)
    return layout.workflow_list(
        shown, page.words, page.page, may_run=may_run, needs=offered, are_hidden=len(shown) < len(workflows),
        project=turn.project_name,
    )  # fmt: skip


async def _ask_for_input(deps: Deps, turn: Turn, workflow: Workflow | None, *, is_sure: bool = False) -> Modal:
    """Open the form, with *workflow* chosen if it's known, and the person's remembered input filled in."""
    sure_of = str(workflow.id) if workflow is not None and is_sure else ""
    origin = opened_here(turn, is_sure=is_sure, sure_of=sure_of)
    known = None
    if workflow is not None:
        person, where = PersonKey(turn.team, turn.user), InProject(turn.project_key, workflow.id)
        known = await remembered_input(deps.scripts, person, where)
    if known is None:
        return forms.run_form(workflow, origin)
    return forms.run_form(workflow, origin, typed=known.typed, kind=known.kind, is_remembered=True)
