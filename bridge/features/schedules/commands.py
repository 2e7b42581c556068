"""``/stats report``, ``/agents ask``, ``/workflows schedule`` and ``/schedules``, with their buttons and forms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from bridge.config_tables import Act
from bridge.engine.feature import Feature, MenuQuery
from bridge.engine.home import Reads
from bridge.engine.results import Form, HomeChanged, Result, shown
from bridge.engine.turn import Turn
from bridge.errors import BadSchedule, NoSuch, NotAllowed
from bridge.features.buttons import ID, QUESTION_FORM, RUN_SCHEDULE_FORM, agent_options, workflow_options
from bridge.features.deps import Deps
from bridge.features.lookups import agent_by_id, before_each_run, may_read, origin_of, workflow_by_id
from bridge.features.pauses import (
    ASKED,
    REMOVED,
    Change,
    may_start,
    paused_notice,
    refusal_to_continue,
    require_start,
    tells_owner,
    why_not_start,
)
from bridge.features.run_records import PostedTask
from bridge.features.schedules import forms, layout
from bridge.features.schedules.layout import ShownTask
from bridge.features.schedules.phrases import find_zone
from bridge.features.schedules.records import PostedReport, Report, ScheduledTask
from bridge.features.schedules.reports import post
from bridge.features.schedules.schedule import (
    QuestionSpec,
    ReportSpec,
    RunSpec,
    Spec,
    StoredTask,
    TaskSpec,
    next_due,
    read_question,
    read_report,
    read_run,
)
from bridge.features.schedules.slots import continued, due, rights_for, target_of
from bridge.features.schedules.store import MOST_TASKS, SCHEDULES, due_task, store_of
from bridge.features.schedules.tasks import start
from bridge.ids import ThreadKey
from bridge.inbound import Click, Notice, Starter, Submission
from bridge.policy.rules import ANY_AGENT, ANY_WORKFLOW, Asked, Target
from bridge.project.models import Agent, Workflow
from bridge.queue.events import named
from bridge.queue.writes import Write
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.lists import page_of, shown_on
from bridge.slack.blockkit.modals import Origin
from bridge.slack.blockkit.mrkdwn import mentions_in
from bridge.slack.blockkit.reply import Block, Reply

S = TypeVar("S", bound=TaskSpec)

_CHANGES: Final = {layout.PAUSE: "paused", layout.RESUME: "resumed"}
_NEEDS: Final[dict[str, tuple[Act, Target | None]]] = {
    "report": ("report", None), "question": ("schedule", ANY_AGENT), "run": ("schedule", ANY_WORKFLOW),
}  # fmt: skip
"""What people must be allowed to do to schedule each kind of task."""

_READS: Final[dict[str, Callable[[int, str], Spec]]] = {"question": read_question, "run": read_run}

schedules = Feature("schedules")
schedules.sets_up(SCHEDULES)
schedules.slots(due)
schedules.labels |= {
    "report, by hand": "report (Post now)",
    "scheduled question, by hand": "scheduled question (Ask now)",
    "scheduled run, by hand": "scheduled run (Run now)",
}
schedules.outcomes |= {
    "report": "posted",
    "report_paused": "notified: report paused",
    "report_changed": "notified: someone else changed the report",
    "schedule_paused": "notified: schedule paused",
    "schedule_changed": "notified: someone else changed the schedule",
    "exists": "the same was already scheduled",
    "question": "asked",
    "overlap": "skipped: the one before was still running",
    "requested": "requested by hand",
}


@schedules.command("/stats report [schedule]")
async def schedule_report(deps: Deps, turn: Turn, *, schedule: str = "") -> Result:
    """Post the statistics on a schedule, such as every Monday at 9. Leave out the schedule to get a form."""
    await deps.policy.require(turn.asked("report"))
    if not schedule:
        return await _open_form(deps, turn, "report")
    return await _schedule(deps, turn, "report", lambda: read_report(schedule))


async def _filled(does: str, deps: Deps, turn: Turn, target: Agent | Workflow, typed: str) -> Form:
    """Open the form to schedule what an agent or workflow *does*, filled in as far as *typed* can be read."""
    try:
        spec = _READS[does](target.id, typed)
    except BadSchedule:
        return await _open_form(deps, turn, does, target, text=typed)
    channel = await _channel_of(deps, spec, turn)
    spec = _owned(spec, turn, channel, spec.zone or await _zone_of(deps, turn.user) or "UTC")
    return await _open_form(deps, turn, does, target, spec=spec)


@schedules.command(
    "/agents ask [agent] [schedule]",
    form=kit.button("Schedule a question…", QUESTION_FORM, "-"),
    needs="schedule",
    fill=partial(_filled, "question"),
)
async def schedule_question(deps: Deps, turn: Turn, *, agent: Agent | None = None, schedule: str = "") -> Result:
    """Ask an agent on a schedule, such as weekdays 8:30 “What changed?”. Leave out the schedule to get a form."""
    return await _schedule_typed(deps, turn, "question", agent, schedule)


@schedules.command(
    "/workflows schedule [workflow] [schedule]",
    form=kit.button("Schedule a run…", RUN_SCHEDULE_FORM, "-"),
    needs="schedule",
    fill=partial(_filled, "run"),
)
async def schedule_run(deps: Deps, turn: Turn, *, workflow: Workflow | None = None, schedule: str = "") -> Result:
    """Run a workflow on a schedule, such as every Monday at 9. Leave out the schedule to get a form."""
    return await _schedule_typed(deps, turn, "run", workflow, schedule)


async def _schedule_typed(deps: Deps, turn: Turn, does: str, target: Agent | Workflow | None, schedule: str) -> Result:
    """Schedule what an agent or workflow *does*, as typed, or open the form."""
    act, anything = _NEEDS[does]
    await deps.policy.require(turn.asked(act, target or anything))
    if target is None or not schedule:
        return await _open_form(deps, turn, does, target)
    id_ = target.id
    return await _schedule(deps, turn, does, lambda: _READS[does](id_, schedule))


@schedules.command("/stats reports")
async def list_reports(deps: Deps, turn: Turn) -> Result:
    """List scheduled reports, to pause, post or delete them."""
    return shown(await _list(deps, turn, "0"))


@schedules.command("/schedules")
async def list_schedules(deps: Deps, turn: Turn) -> Result:
    """List everything that's scheduled, to pause, start, edit or delete it."""
    return shown(await _list(deps, turn, f"{layout.ALL}0"))


async def _open_form(
    deps: Deps,
    turn: Turn,
    does: str,
    target: Agent | Workflow | None = None,
    *,
    spec: Spec | None = None,
    editing: str = "",
    text: str = "",
) -> Form:
    """Open the form to schedule what a task *does*, or to change it, for people who may."""
    if not editing:
        await deps.policy.require(turn.asked(*_NEEDS[does]))
    zone = await _zone_of(deps, turn.user) or "UTC"
    thread_ts = turn.thread.root if turn.thread else ""
    origin = await origin_of(deps, turn, thread_ts=thread_ts, editing=editing)
    match does:
        case "question":
            agent = target if isinstance(target, Agent) else None
            question = spec if isinstance(spec, QuestionSpec) else None
            view = forms.question_form(origin, zone, agent, question, text=text)
        case "run":
            workflow = target if isinstance(target, Workflow) else None
            view = forms.run_form(origin, zone, workflow, spec if isinstance(spec, RunSpec) else None, text=text)
        case _:
            view = forms.report_form(origin, zone, spec if isinstance(spec, ReportSpec) else None)
    return Form(view, otherwise=layout.offer_form(does))


@schedules.form(forms.FORM, label="form: Schedule report", reader=forms.read_report_form)
@schedules.form(forms.QUESTION, label="form: Schedule question", reader=forms.read_question_form)
@schedules.form(forms.RUN, label="form: Schedule run", reader=forms.read_run_form)
async def form_sent(deps: Deps, turn: Turn, submission: Submission, wanted: Spec) -> Result:
    """Schedule, or change, what's described in the form."""
    editing = Origin.parse(submission.private_metadata).editing
    channel = str(submission.values.get(forms.CHANNEL) or "")
    if not editing:
        await deps.policy.require(turn.asked(*_NEEDS[wanted.does]))
    return await _schedule(deps, turn, wanted.does, lambda: wanted, channel=channel, editing=editing)


@schedules.options(forms.AGENT, form=forms.QUESTION, act="ask")
async def agents_to_ask(menu: MenuQuery) -> list[Block]:
    """Return options for the agents that match."""
    found = await menu.catalog.candidates("agent", menu.text)
    return agent_options(found, menu.text, faces=menu.faces(found))


@schedules.options(forms.WORKFLOW, form=forms.RUN, act="run")
async def workflows_to_run(menu: MenuQuery) -> list[Block]:
    """Return options for the workflows that match."""
    return workflow_options(await menu.catalog.candidates("workflow", menu.text), menu.text)


@schedules.button(layout.OPEN, label="button: Schedule report")
@schedules.button(QUESTION_FORM, label="button: Schedule question")
@schedules.button(RUN_SCHEDULE_FORM, label="button: Schedule run")
async def open_pressed(deps: Deps, turn: Turn, click: Click) -> Result:
    """Open a form, with the button's agent or workflow chosen."""
    does = next(does for does, action_id in layout.OPENS.items() if action_id == click.action_id)
    target = await _target(turn, does, int(click.value)) if ID.fullmatch(click.value) else None
    return await _open_form(deps, turn, does, target)


@schedules.button(layout.PAGE, label="button: All reports")
@schedules.button(layout.NEXT_PAGE, label="button: Next")
async def page_turned(deps: Deps, turn: Turn, click: Click) -> Result:
    """Show a page of the list."""
    return shown(await _list(deps, turn, click.value, replaces_original=click.is_ephemeral))


@schedules.button(layout.PAUSE, label="button: Pause report")
@schedules.button(layout.RESUME, label="button: Resume report")
@schedules.button(layout.NOW, label="button: Post now")
@schedules.button(layout.EDIT, label="button: Edit schedule")
@schedules.button(layout.DELETE, label="button: Delete report")
async def change(deps: Deps, turn: Turn, click: Click) -> Result:
    """Handle a button that changes one task: its owner may, and people who may run workflows.

    What starts it, or has it start again, needs the rights of the person who pressed, too.
    """
    id_ = click.value.partition(":")[2]
    stored = await store_of(deps).get(id_)
    if stored is None:
        return HomeChanged() if click.view else shown(layout.task_gone())
    await _check_may_change(deps, turn, stored)
    target = await target_of(deps, stored)
    about, what = _about(stored, target), _CHANGES.get(click.action_id, "deleted")
    if click.action_id == layout.EDIT:
        return await _edit(deps, turn, stored)
    if click.action_id in {layout.NOW, layout.RESUME}:
        cannot, wanted = layout.CANNOT[stored.spec.does], await rights_for(deps, stored.spec)
        if refused := await refusal_to_continue(deps, turn, stored.spec, cannot, about, *wanted):
            return refused
        await require_start(deps, turn, stored.spec, *await _needed(deps, turn, stored, click.action_id))
    match click.action_id:
        case layout.NOW:
            body = due_task(stored, deps.now(), asked_by=turn.user, thread_ts=await continued(deps, stored))
            why = f"someone requested a {stored.spec.does}"
            await deps.inbox.put(body, event=f"report:{stored.id}:asked:{turn.id}", why=why)
            return HomeChanged() if click.view else shown(layout.starting_now(stored.spec.does), "requested", about)
        case layout.PAUSE:
            told = await _tells_owner(deps, turn, stored, target, "paused")
            await deps.inbox.write(*store_of(deps).pause(stored.id, ASKED, *told))
        case layout.RESUME:
            if stored.paused:
                due_at = next_due(stored.spec.schedule, stored.clock, deps.now())
                await deps.inbox.write(*store_of(deps).resume_at(due_at, stored))
        case _:
            told = await _tells_owner(deps, turn, stored, target, "deleted")
            await deps.inbox.write(*store_of(deps).delete(stored.id, *told))
    if click.view:
        return HomeChanged()
    deleted = None
    if what == "deleted":
        owner, said = await deps.directory.user_name(stored.spec.owner), await _words_for(deps, turn, stored)
        deleted = layout.deleted(stored, owner, target, said)
    if deleted and click.value.startswith(f"{layout.ALONE}:"):
        return shown(deleted, what, about)
    return shown(await _list(deps, turn, click.value, replaces_original=True, above=deleted), what, about)


async def _words_for(deps: Deps, turn: Turn, stored: StoredTask) -> str:
    """Return what tells a task from others, if the person may read that."""
    may = isinstance(stored.spec, ReportSpec) or await may_read(deps, turn.user, stored.spec.owner, stored.spec.channel)
    return layout.words_of(stored) if may else ""


def _thread_of(deps: Deps, task: StoredTask) -> str:
    """Return the address of the thread that a question continues."""
    continues = isinstance(task.spec, QuestionSpec) and task.spec.continues and task.thread_ts
    return kit.permalink(deps.workspace, task.spec.channel, task.thread_ts) if continues else ""


async def _check_may_change(deps: Deps, turn: Turn, stored: StoredTask) -> None:
    """Raise `NotAllowed` unless *turn*'s person may change the task."""
    act, _anything = _NEEDS[stored.spec.does]
    if turn.user != stored.spec.owner and not await deps.policy.may(turn.asked(act)):
        raise NotAllowed("not_yours" if act == "report" else "not_your_schedule")


async def _needed(deps: Deps, turn: Turn, stored: StoredTask, button: str) -> list[Asked]:
    """Return what *turn*'s person must be allowed to for a *button* that starts the task, or has it start again."""
    by: Starter = "person" if button == layout.NOW else "schedule"
    return await rights_for(deps, stored.spec, user=turn.user, by=by)


async def _offers(deps: Deps, turn: Turn, stored: StoredTask) -> frozenset[str]:
    """Return the buttons of a task to show to *turn*'s person: those that they may press, as far as it's known soon."""
    is_own = turn.user == stored.spec.owner
    if not is_own and not await deps.policy.may(turn.asked(_NEEDS[stored.spec.does][0])):
        return frozenset()
    offered = {layout.PAUSE, layout.DELETE} | ({layout.EDIT} if is_own else set())
    if await may_start(deps, turn, stored.spec, _needed(deps, turn, stored, layout.NOW)):
        offered.add(layout.NOW)
    if await may_start(deps, turn, stored.spec, _needed(deps, turn, stored, layout.RESUME)):
        offered |= {layout.RESUME, layout.EDIT}
    return frozenset(offered)


async def _edit(deps: Deps, turn: Turn, stored: StoredTask) -> Result:
    """Open the form that changes a task, whose text only its owner and people in its channel may read."""
    spec = stored.spec
    if turn.user != spec.owner and await why_not_start(
        deps, turn.user, spec, *await _needed(deps, turn, stored, layout.EDIT)
    ):
        raise NotAllowed("not_your_schedule")
    turn.project_key = spec.project  # its form's menus are about that one, wherever the list was opened
    id_ = spec.agent if isinstance(spec, QuestionSpec) else spec.workflow if isinstance(spec, RunSpec) else None
    target = None if id_ is None else await _target(turn, spec.does, id_)
    return await _open_form(deps, turn, spec.does, target, spec=spec, editing=stored.id)


async def _target(turn: Turn, does: str, id_: int) -> Agent | Workflow | None:
    """Return the agent or workflow with an ID from a button; None if it no longer exists."""
    try:
        if does == "question":
            return await agent_by_id(turn, id_)
        return await workflow_by_id(turn, id_)
    except NoSuch:
        return None


async def _tells_owner(deps: Deps, turn: Turn, stored: StoredTask, target: str, did: Change) -> list[Write]:
    called = layout.titled(stored, target, layout.words_of(stored))
    return await tells_owner(deps, turn, stored.spec, layout.kind_of(stored), called, did=did)


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
    store, before = store_of(deps), None
    if editing:
        before = await store.get(editing)
        if before is None or before.spec.does != spec.does:
            return shown(layout.task_gone())
        await _check_may_change(deps, turn, before)
    if deps.policy.rules.not_listed("", channel):
        raise BadSchedule("disabled", spec.channel)
    if not channel or not await deps.directory.may_post(channel):  # as far as Slack says
        raise BadSchedule("channel", spec.channel)
    wanted = turn.asked(_NEEDS[spec.does][0], channel=channel)
    if await deps.refusal_now(turn.user, channel, wanted) == "left":
        raise BadSchedule("name", spec.channel)
    known_zone = spec.zone or await _zone_of(deps, turn.user)
    spec = _owned(spec, turn, channel, known_zone or "UTC")
    if before is not None:
        spec = spec.model_copy(update={"project": before.spec.project})
    await deps.policy.require(*await rights_for(deps, spec))
    for known in await store.all():
        if known.id not in {turn.id, editing} and known.spec.identity == spec.identity:
            owner, target = await deps.directory.user_name(known.spec.owner), await target_of(deps, known)
            reply = layout.already_scheduled(known, owner, target, offers=await _offers(deps, turn, known))
            return shown(reply, "exists", _about(known, target))
    due_at = next_due(spec.schedule, ZoneInfo(spec.zone), deps.now())
    workflow = spec.workflow if isinstance(spec, RunSpec) else None
    warning = await before_each_run(deps, turn, workflow, channel, by="schedule")
    if before is not None:
        changed = StoredTask(before.id, spec, due_at, before.paused)
        target = await target_of(deps, changed)
        told = await _tells_owner(deps, turn, before, await target_of(deps, before), "changed")
        turn.stage(*store.change(before, spec, due_at, *told))
        offers = await _offers(deps, turn, changed)
        reply = layout.scheduled(
            changed, target, is_changed=True, knows_zone=bool(known_zone), warning=warning, offers=offers
        )
        return shown(reply, what="changed", about=_about(changed, target))
    if await store.is_full():
        raise BadSchedule("many", f"{MOST_TASKS:,}")
    task = StoredTask(turn.id, spec, due_at)
    target = await target_of(deps, task)
    turn.stage(*store.add(task.id, spec, task.due, deps.now()))
    offers = await _offers(deps, turn, task)
    reply = layout.scheduled(task, target, knows_zone=bool(known_zone), warning=warning, offers=offers)
    return shown(reply, what=f"{layout.kind_of(task).noun} scheduled", about=_about(task, target))


def _owned(spec: S, turn: Turn, channel: str, zone: str) -> S:
    about = {"team": turn.team, "channel": channel, "owner": turn.user, "zone": zone, "project": turn.project.key}
    return spec.model_copy(update=about)


def _about(task: StoredTask, target: str) -> str:
    """Return the subject for the audit."""
    return named(layout.kind_of(task).noun, task.id, layout.titled(task, target))


async def _zone_of(deps: Deps, user: str) -> str:
    """Return a person's time zone; ``""`` if Slack doesn't say it."""
    try:
        return find_zone(await deps.directory.time_zone(user))
    except BadSchedule:
        return ""


async def _list(
    deps: Deps, turn: Turn, value: str, *, replaces_original: bool = False, above: Reply | None = None
) -> Reply:
    """Show the page that a button's *value* names, of reports or of all tasks, below what was just done (*above*).

    These are the tasks that the person may know of, by their next slots, paused ones last: all but those in other
    people's direct messages. Names and results are looked up only for those shown. Raises `StoreUnavailable`.
    """
    name = value.partition(":")[0]
    page, is_all = page_of(name.removeprefix(layout.ALL)), name.startswith(layout.ALL)
    known = [
        one
        for one in _with_removed(deps, await store_of(deps).all())
        if (is_all or isinstance(one.spec, ReportSpec))
        and (one.spec.owner == turn.user or not one.spec.channel.startswith("D"))
    ]
    known.sort(key=lambda one: (bool(one.paused), one.due, one.id))
    listed, places = [ShownTask(one) for one in known], shown_on(page, len(known), layout.A_PAGE)
    tasks = known[places.start : places.stop]
    answers = await store_of(deps).answers(tasks) if tasks else {}
    targets = await asyncio.gather(*(target_of(deps, task) for task in tasks))  # of several projects
    for place, task, target in zip(places, tasks, targets, strict=True):
        owner = await deps.directory.user_name(task.spec.owner)
        link = kit.permalink(deps.workspace, task.spec.channel, task.ts)
        project = deps.projects.name_of(task.spec.project) if deps.projects.is_several else ""
        said, offers = await _words_for(deps, turn, task), await _offers(deps, turn, task)
        thread = _thread_of(deps, task)
        listed[place] = ShownTask(task, owner, target, *answers[task.id], link, project, said, thread, offers)
    may_add = [does for does, needs in _NEEDS.items() if await deps.policy.may(turn.asked(*needs))]
    return layout.task_list(
        listed, page, is_all=is_all, replaces_original=replaces_original, above=above, may_add=may_add
    )


def _with_removed(deps: Deps, tasks: Sequence[StoredTask]) -> list[StoredTask]:
    """Return *tasks*; one whose project was removed counts as paused."""
    return [
        replace(one, paused=one.paused or ("" if deps.projects.get(one.spec.project) else REMOVED)) for one in tasks
    ]


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


@schedules.home_section
async def shown_in_home(deps: Deps, turn: Turn, reads: Reads) -> list[Block]:
    """Return the section of Home with what the person scheduled."""
    whose = (turn.team, turn.user, turn.project_key)
    stored = _with_removed(deps, await store_of(deps).all(reads))
    tasks = [one for one in stored if (one.spec.team, one.spec.owner, one.spec.project) == whose]
    tasks.sort(key=lambda one: (bool(one.paused), one.due, one.id))
    listed = []
    for task in tasks[: layout.MOST_IN_HOME]:
        target = await target_of(deps, task, is_asked=False)
        link, said = kit.permalink(deps.workspace, task.spec.channel, task.ts), layout.words_of(task)
        thread, offers = _thread_of(deps, task), await _offers(deps, turn, task)
        listed.append(ShownTask(task, target=target, link=link, said=said, thread_link=thread, offers=offers))
    return layout.home_section(listed, len(tasks))


schedules.kind(Report)(post)
schedules.kind(ScheduledTask)(start)


@schedules.once_posted(PostedReport)
async def report_posted(deps: Deps, turn: Turn, report: PostedReport, ts: str) -> None:
    """Store the data of a report posted as *ts* for the next report, and for the first question in its thread."""
    if not ts:
        return
    store = store_of(deps)
    stored = await store.get(report.report)
    turn.stage(
        *store.posted(
            report, ThreadKey(turn.team, turn.channel, ts), stored.skipped if stored else None, turn.project_key
        )
    )


@schedules.once_posted(PostedTask)
async def task_posted(deps: Deps, turn: Turn, task: PostedTask, ts: str) -> None:
    """Store what was asked or run, and where it's shown."""
    store = store_of(deps)
    stored = await store.get(task.task)
    turn.stage(*store.posted_task(task, ts, stored.skipped if stored else None))


@schedules.once_refused(PostedReport)
@schedules.once_refused(PostedTask)
async def post_refused(deps: Deps, turn: Turn, posted: PostedReport | PostedTask, error: str) -> None:
    """Pause a task that Slack rejects, and notify its owner in a direct message, unless it's already paused."""
    id_, kind = (posted.report, layout.REPORT) if isinstance(posted, PostedReport) else (posted.task, layout.SCHEDULE)
    stored = await store_of(deps).get(id_)
    owner = stored.spec.owner if stored else turn.user
    what, reply = f"{kind.noun}_paused", paused_notice(kind, posted.called, turn.channel, error).stored()
    notice = Notice(team=turn.team, channel=owner, user=owner, what=what, reply=reply, of="report")
    turn.stage(*store_of(deps).pause(id_, error, deps.inbox.queues(notice, why="a schedule was paused")))
