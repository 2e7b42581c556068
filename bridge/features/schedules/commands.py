"""``/stats report``, ``/agents ask``, ``/workflows schedule`` and ``/schedules``, with their buttons and forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from bridge.engine.feature import Feature
from bridge.engine.results import Modal, Outcome, Result, shown
from bridge.engine.turn import Turn
from bridge.errors import BadSchedule
from bridge.features.buttons import ID, QUESTION_FORM, RUN_SCHEDULE_FORM
from bridge.features.deps import Deps
from bridge.features.lookups import before_each_run
from bridge.features.run_records import PostedTask
from bridge.features.schedules import forms, layout
from bridge.features.schedules.kind import NEEDS, SCHEDULES, body_of, open_form, target_by_id, target_of
from bridge.features.schedules.records import PostedReport, Report, ScheduledTask
from bridge.features.schedules.reports import post
from bridge.features.schedules.schedule import (
    RunSpec,
    ScheduleSpec,
    read_question,
    read_report,
    read_run,
)
from bridge.features.schedules.store import TaskStore
from bridge.features.schedules.tasks import start
from bridge.features.standing.handling import listed, offers, sets_up
from bridge.features.standing.setting_up import channel_of, set_up, zone_of
from bridge.features.standing.slots import occurs
from bridge.ids import ThreadKey
from bridge.inbound import Click, Submission
from bridge.project.models import Agent, Workflow
from bridge.slack.blockkit.modals import CHANNEL, Origin

_READS: Final[dict[str, Callable[[int, str], ScheduleSpec]]] = {"question": read_question, "run": read_run}

schedules = Feature("schedules")
sets_up(schedules, SCHEDULES, PostedReport, PostedTask)
occurs(schedules, SCHEDULES, body_of)
schedules.labels |= {
    "report, by hand": "report (Post now)",
    "scheduled question, by hand": "scheduled question (Ask now)",
    "scheduled run, by hand": "scheduled run (Run now)",
}
schedules.outcomes |= {
    "report": "posted",
    "exists": "the same was already set up",
    "question": "asked",
    "overlap": "skipped: the one before was still running",
    "requested": "requested by hand",
}


async def _form(does: str, deps: Deps, turn: Turn, target: Agent | Workflow | None, typed: str | None) -> Modal:
    """Open the form to schedule what an agent or workflow *does*, filled in as far as *typed* can be read."""
    act, anything = NEEDS[does]
    await deps.policy.require(turn.asked(act, target or anything))
    if target is None or not typed:
        return await open_form(deps, turn, does, target)
    try:
        spec = _READS[does](target.id, typed)
    except BadSchedule:
        return await open_form(deps, turn, does, target, text=typed)
    place, zone = await channel_of(deps, turn, spec.channel), spec.zone or await zone_of(deps, turn.user) or "UTC"
    filled_in = spec.model_copy(update={"channel": place, "zone": zone})
    return await open_form(deps, turn, does, target, spec=filled_in)


async def _report_form(deps: Deps, turn: Turn, _typed: str | None) -> Modal:
    """Open the form to schedule a report."""
    return await open_form(deps, turn, "report")


@schedules.command("/stats report [schedule]", opens=_report_form)
async def schedule_report(deps: Deps, turn: Turn, *, schedule: str) -> Result:
    """Post the statistics on a schedule, such as every Monday at 9. Leave out the schedule to get a form."""
    await deps.policy.require(turn.asked("report"))
    return await _schedule(deps, turn, "report", lambda: read_report(schedule))


@schedules.command(
    "/agents ask [agent] [schedule]",
    form=forms.QuestionForm.button(),
    needs="schedule",
    opens=partial(_form, "question"),
)
async def schedule_question(deps: Deps, turn: Turn, *, agent: Agent, schedule: str) -> Result:
    """Ask an agent on a schedule, such as weekdays 8:30 “What changed?”. Leave out the schedule to get a form."""
    await deps.policy.require(turn.asked("schedule", agent))
    return await _schedule(deps, turn, "question", lambda: read_question(agent.id, schedule))


@schedules.command(
    "/workflows schedule [workflow] [schedule]",
    form=forms.ScheduledRunForm.button(),
    needs="schedule",
    opens=partial(_form, "run"),
)
async def schedule_run(deps: Deps, turn: Turn, *, workflow: Workflow, schedule: str) -> Result:
    """Run a workflow on a schedule, such as every Monday at 9. Leave out the schedule to get a form."""
    await deps.policy.require(turn.asked("schedule", workflow))
    return await _schedule(deps, turn, "run", lambda: read_run(workflow.id, schedule))


@schedules.command("/stats reports", read_only=True)
async def list_reports(deps: Deps, turn: Turn, *, share: bool = False) -> Result:
    """List scheduled reports, to pause, post or delete them."""
    return shown(await listed(SCHEDULES, deps, turn, share=share))


@schedules.command("/schedules", read_only=True)
async def list_schedules(deps: Deps, turn: Turn, *, share: bool = False) -> Result:
    """List everything that's scheduled, to pause, start, edit or delete it."""
    return shown(await listed(SCHEDULES, deps, turn, layout.ALL, share=share))


@schedules.form(*forms.FORMS.values())
async def form_sent(deps: Deps, turn: Turn, submission: Submission, wanted: ScheduleSpec) -> Result:
    """Schedule, or change, what's described in the form."""
    editing = Origin.parse(submission.private_metadata).editing
    channel = str(submission.values.get(CHANNEL) or "")
    if not editing:
        await deps.policy.require(turn.asked(*NEEDS[wanted.does]))
    elif "text" not in submission.values and (before := await SCHEDULES.stored(deps).get(editing)):
        wanted = forms.with_rest(before.spec, wanted)
    return await _schedule(deps, turn, wanted.does, lambda: wanted, channel=channel, editing=editing)


@schedules.button(layout.OPEN, label="button: Schedule report")
@schedules.button(QUESTION_FORM, label="button: Schedule question")
@schedules.button(RUN_SCHEDULE_FORM, label="button: Schedule run")
async def open_pressed(deps: Deps, turn: Turn, click: Click) -> Result:
    """Open a form, with the button's agent or workflow chosen."""
    does = next(does for does, form in forms.FORMS.items() if form.opener == click.action_id)
    target = await target_by_id(turn, does, int(click.value)) if ID.fullmatch(click.value) else None
    return await open_form(deps, turn, does, target)


async def _schedule(
    deps: Deps,
    turn: Turn,
    does: str,
    read: Callable[[], ScheduleSpec],
    *,
    channel: str | None = None,
    editing: str = "",
) -> Result:
    """Schedule the task that *read* returns, or change the one that's *edited*; in *channel* if it's the form's.

    Raises what `set_up` raises.
    """
    try:
        typed = read()
    except BadSchedule as exc:
        exc.of, exc.form = does, layout.form_button(does)
        raise
    task = await set_up(SCHEDULES, deps, turn, typed, channel, editing=editing)
    if isinstance(task, Outcome):
        return task
    workflow = task.spec.workflow if isinstance(task.spec, RunSpec) else None
    reply = layout.scheduled(
        task,
        await target_of(deps, task),
        is_changed=bool(editing),
        knows_zone=bool(typed.zone or await zone_of(deps, turn.user)),
        warning=await before_each_run(deps, turn, workflow, task.spec.channel, by="schedule"),
        offers=await offers(SCHEDULES, deps, turn, task),
    )
    what = "changed" if editing else f"{layout.noun_of(task).word} scheduled"
    return shown(reply, what, await SCHEDULES.about(deps, task))


schedules.kind(Report)(post)
schedules.kind(ScheduledTask)(start)


@schedules.once_posted(PostedReport)
async def report_posted(deps: Deps, turn: Turn, report: PostedReport, ts: str) -> None:
    """Store the data of a report posted as *ts* for the next report, and for the first question in its thread."""
    if not ts:
        return
    store = TaskStore(deps.scripts)
    stored = await store.get(report.report)
    thread, skipped = ThreadKey(turn.team, turn.channel, ts), stored.skipped if stored else None
    turn.stage(*store.posted(report, thread, skipped, turn.project_key, session_lifetime=deps.session_lifetime))


@schedules.once_posted(PostedTask)
async def task_posted(deps: Deps, turn: Turn, task: PostedTask, ts: str) -> None:
    """Store what was asked or run, and where it's shown."""
    store = TaskStore(deps.scripts)
    stored = await store.get(task.task)
    turn.stage(*store.posted_task(task, ts, stored.skipped if stored else None))
