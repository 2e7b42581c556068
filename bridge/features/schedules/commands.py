"""``/stats report``, ``/agents ask``, ``/workflows schedule`` and ``/schedules``, with their buttons and forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from bridge.engine.feature import Feature
from bridge.engine.results import Modal, Result, shown
from bridge.engine.turn import Turn
from bridge.errors import BadSchedule
from bridge.features.buttons import ID, QUESTION_FORM, RUN_SCHEDULE_FORM
from bridge.features.deps import Deps
from bridge.features.lookups import before_each_run
from bridge.features.run_records import PostedTask
from bridge.features.schedules import forms, layout
from bridge.features.schedules.kind import NEEDS, SCHEDULES, open_form, target_by_id, target_of, zone_of
from bridge.features.schedules.records import PostedReport, Report, ScheduledTask
from bridge.features.schedules.reports import post
from bridge.features.schedules.schedule import (
    ReportSpec,
    RunSpec,
    Spec,
    StoredTask,
    TaskSpec,
    read_question,
    read_report,
    read_run,
)
from bridge.features.schedules.slots import body_of
from bridge.features.schedules.store import MOST_TASKS, TaskStore
from bridge.features.schedules.tasks import start
from bridge.features.standing.due import occurs
from bridge.features.standing.handling import changeable, listed, offers, problem_with, same, save as save_as, sets_up
from bridge.features.standing.layout import gone
from bridge.features.standing.pauses import pause_refused
from bridge.features.standing.times import next_due
from bridge.ids import ThreadKey
from bridge.inbound import Click, Submission
from bridge.project.models import Agent, Workflow
from bridge.slack.blockkit.modals import CHANNEL, Origin
from bridge.slack.blockkit.mrkdwn import mentions_in

S = TypeVar("S", bound=TaskSpec)

_READS: Final[dict[str, Callable[[int, str], Spec]]] = {"question": read_question, "run": read_run}

schedules = Feature("schedules")
sets_up(schedules, SCHEDULES)
occurs(schedules, "report", TaskStore, body_of)
schedules.labels |= {
    "report, by hand": "report (Post now)",
    "scheduled question, by hand": "scheduled question (Ask now)",
    "scheduled run, by hand": "scheduled run (Run now)",
}
schedules.outcomes |= {
    "report": "posted",
    "exists": "the same was already scheduled",
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
    channel = await _channel_of(deps, spec, turn)
    spec = _owned(spec, turn, channel, spec.zone or await zone_of(deps, turn.user) or "UTC")
    return await open_form(deps, turn, does, target, spec=spec)


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


@schedules.command("/stats reports")
async def list_reports(deps: Deps, turn: Turn) -> Result:
    """List scheduled reports, to pause, post or delete them."""
    return shown(await listed(SCHEDULES, deps, turn))


@schedules.command("/schedules")
async def list_schedules(deps: Deps, turn: Turn) -> Result:
    """List everything that's scheduled, to pause, start, edit or delete it."""
    return shown(await listed(SCHEDULES, deps, turn, layout.ALL))


@schedules.form(*forms.FORMS.values())
async def form_sent(deps: Deps, turn: Turn, submission: Submission, wanted: Spec) -> Result:
    """Schedule, or change, what's described in the form."""
    editing = Origin.parse(submission.private_metadata).editing
    channel = str(submission.values.get(CHANNEL) or "")
    if not editing:
        await deps.policy.require(turn.asked(*NEEDS[wanted.does]))
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
    deps: Deps, turn: Turn, does: str, read: Callable[[], Spec], *, channel: str | None = None, editing: str = ""
) -> Result:
    """Schedule the task that *read* returns (`_saved`), in *channel* if it's the form's."""
    try:
        spec = read()
        place = await _channel_of(deps, spec, turn) if channel is None else channel
        return await _saved(deps, turn, spec, place, editing=editing)
    except BadSchedule as exc:
        exc.of = does
        return shown(layout.not_scheduled(exc), what=type(exc).__name__)


async def _saved(deps: Deps, turn: Turn, spec: Spec, channel: str, *, editing: str = "") -> Result:
    """Schedule a task, or change the one that's *edited*, once for each turn.

    Who changes it owns it from then on. Raises `BadSchedule` and `StoreUnavailable`.
    """
    before = await changeable(deps, turn, SCHEDULES, editing) if editing else None
    if editing and (before is None or before.spec.does != spec.does):
        return shown(gone(SCHEDULES))
    if problem := await problem_with(deps, turn, channel, NEEDS[spec.does][0]):
        raise BadSchedule(problem, spec.channel)
    known_zone = spec.zone or await zone_of(deps, turn.user)
    spec = _owned(spec, turn, channel, known_zone or "UTC")
    if before is not None:
        spec = spec.model_copy(update={"project": before.spec.project})
    await deps.policy.require(*await SCHEDULES.rights(deps, spec))
    if known := await same(SCHEDULES, deps, spec, (turn.id, editing)):
        owner, target = await deps.directory.user_name(known.spec.owner), await target_of(deps, known)
        reply = layout.already_scheduled(known, owner, target, offers=await offers(SCHEDULES, deps, turn, known))
        return shown(reply, "exists", await SCHEDULES.about(deps, known))
    if before is None and await TaskStore(deps.scripts).is_full():
        raise BadSchedule("many", f"{MOST_TASKS:,}")
    task = StoredTask(before.id if before else turn.id, spec, next_due(spec.schedule, ZoneInfo(spec.zone), deps.now()))
    task = replace(task, paused=before.paused) if before else task
    await save_as(SCHEDULES, deps, turn, task, before)
    workflow = spec.workflow if isinstance(spec, RunSpec) else None
    warning = await before_each_run(deps, turn, workflow, channel, by="schedule")
    reply = layout.scheduled(
        task,
        await target_of(deps, task),
        is_changed=before is not None,
        knows_zone=bool(known_zone),
        warning=warning,
        offers=await offers(SCHEDULES, deps, turn, task),
    )
    what = "changed" if before else f"{layout.noun_of(task).word} scheduled"
    return shown(reply, what, await SCHEDULES.about(deps, task))


def _owned(spec: S, turn: Turn, channel: str, zone: str) -> S:
    about = {"team": turn.team, "channel": channel, "owner": turn.user, "zone": zone, "project": turn.project.key}
    return spec.model_copy(update=about)


async def _channel_of(deps: Deps, wanted: TaskSpec, turn: Turn) -> str:
    """Return the ID of the channel that was typed, or else of *turn*'s channel. Raises `BadSchedule`.

    Slack usually sends a channel's ID with its name; if it doesn't, or a question mentions others, the name is looked
    up.
    """
    if not wanted.channel:
        return turn.channel
    mentioned = mentions_in(getattr(turn.body, "text", "")).channels
    if len(mentioned) == 1 or (mentioned and isinstance(wanted, ReportSpec)):
        return mentioned[-1]
    found = await deps.directory.channel_called(wanted.channel, turn.user)
    if not found:
        raise BadSchedule("name", wanted.channel)
    return found


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


@schedules.once_refused(PostedReport)
@schedules.once_refused(PostedTask)
async def post_refused(deps: Deps, turn: Turn, posted: PostedReport | PostedTask, error: str) -> None:
    """Pause a task that Slack rejects, and notify its owner in a direct message, unless it's already paused."""
    id_ = posted.report if isinstance(posted, PostedReport) else posted.task
    await pause_refused(deps, turn, SCHEDULES, id_, called=posted.called, error=error)
