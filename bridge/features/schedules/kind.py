"""What's scheduled as a kind of thing that people set up: reports, questions and runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar, Final, Literal

from bridge.config_tables import Act
from bridge.engine.results import Modal, Result
from bridge.engine.turn import Turn
from bridge.errors import NoSuch
from bridge.features import lookups
from bridge.features.deps import Deps
from bridge.features.schedules import forms, layout
from bridge.features.schedules.layout import ShownTask
from bridge.features.schedules.placeholders import check_placeholders
from bridge.features.schedules.records import Report, ScheduledTask
from bridge.features.schedules.schedule import (
    QuestionSpec,
    ReportSpec,
    RunSpec,
    ScheduleSpec,
    StoredTask,
    TaskSpec,
    only_of,
    span_of,
    spec_of,
)
from bridge.features.schedules.store import TaskStore, due_task
from bridge.features.standing import kind, store as standing
from bridge.features.standing.handling import offers
from bridge.features.standing.kind import Heading, ListRow, Noun, ShownThing
from bridge.features.standing.setting_up import zone_of
from bridge.features.standing.timed import TimedKind, as_problem
from bridge.ids import ThreadKey
from bridge.inbound import Starter
from bridge.policy.rules import ANY_AGENT, ANY_WORKFLOW, Asked, Target
from bridge.project.models import Agent, Workflow
from bridge.queue.finished_turns import named
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.lists import apart
from bridge.slack.blockkit.reply import Block, Reply

NEEDS: Final[dict[str, tuple[Act, Target | None]]] = {
    "report": ("report", None), "question": ("schedule", ANY_AGENT), "run": ("schedule", ANY_WORKFLOW),
}  # fmt: skip
"""What people must be allowed to do to schedule each kind of task."""


class Schedules(TimedKind[StoredTask]):
    """Reports, scheduled questions and scheduled runs."""

    name = "report"
    nouns = (layout.SCHEDULE, layout.REPORT)
    spec = TaskSpec
    store = TaskStore
    acts = "schedule"
    verbs = (*TimedKind.verbs, kind.EDIT, kind.NOW)
    labels: ClassVar[Mapping[str, str]] = {kind.NOW: "Post now", kind.EDIT: "Edit schedule"}
    needs_rights: ClassVar[Mapping[str, Starter]] = {kind.NOW: "person", kind.RESUME: "schedule", kind.EDIT: "schedule"}
    in_home = ("Your schedules", "/schedules")
    example = '/agents ask Support every monday at 9 berlin "What changed?"'

    def is_listed(self, record: StoredTask, of: str) -> bool:
        return of == layout.ALL or isinstance(record.spec, ReportSpec)

    def noun(self, record: StoredTask) -> Noun:
        return layout.noun_of(record)

    def act(self, spec: standing.Spec) -> Act:
        return NEEDS[spec.does][0] if isinstance(spec, TaskSpec) else self.acts

    def opens(self, spec: standing.Spec) -> Block | None:
        return layout.form_button(spec.does) if isinstance(spec, TaskSpec) else None

    def cannot(self, record: StoredTask) -> str:
        return layout.CANNOT[record.spec.does]

    async def called(self, deps: Deps, record: StoredTask) -> str:
        return layout.titled(record, await target_of(deps, record), layout.words_of(record))

    async def about(self, deps: Deps, record: StoredTask) -> str:
        called = layout.titled(record, await target_of(deps, record))
        return named(layout.noun_of(record).word, record.id, called)

    async def rights(self, deps: Deps, spec: standing.Spec, *, user: str = "", by: Starter = "schedule") -> list[Asked]:
        of = (user or spec.owner, spec.channel, spec.project)
        if isinstance(spec, QuestionSpec):
            wanted = await lookups.rights(deps, "schedule", *of, agent=spec.agent, by=by)
            # The question is asked as its owner's.
            return wanted + [replace(one, by="person") for one in wanted if one.act == "ask"]
        if isinstance(spec, RunSpec):
            return await lookups.rights(deps, "schedule", *of, workflow=spec.workflow, by=by)
        return await lookups.rights(deps, "report", *of, by=by)

    def read_spec(self, spec: dict[str, Any]) -> ScheduleSpec:
        read = spec_of(spec)
        match read:
            case ReportSpec(compare=compare, only=only):
                with as_problem("compare", "7d"):
                    span_of(compare or "7d")
                with as_problem("only", "runs"):
                    only_of(",".join(only) or "runs")
            case QuestionSpec(text=text):
                if not text.strip():
                    raise ValueError("text is missing")
                with as_problem("text", "What changed since {{date}}?"):
                    check_placeholders(text)
            case RunSpec(input=value):
                with as_problem("input", "What changed since {{date}}?"):
                    check_placeholders(value)
        return read

    async def form(self, deps: Deps, turn: Turn, record: StoredTask) -> Result:
        spec = record.spec
        id_ = spec.agent if isinstance(spec, QuestionSpec) else spec.workflow if isinstance(spec, RunSpec) else None
        target = None if id_ is None else await target_by_id(turn, spec.does, id_)
        return await open_form(deps, turn, spec.does, target, spec=spec, editing=record.id)

    async def show(
        self, deps: Deps, turn: Turn, records: Sequence[StoredTask], *, is_home: bool = False, is_shared: bool = False
    ) -> Sequence[ShownThing[StoredTask]]:
        answers = await TaskStore(deps.scripts).answers(records) if records and not is_home else {}
        targets = await asyncio.gather(*(target_of(deps, task, is_asked=not is_home) for task in records))
        found = []
        for task, target in zip(records, targets, strict=True):
            spec, (step, what) = task.spec, answers.get(task.id, ("", ""))
            may = isinstance(spec, ReportSpec) or (
                spec.channel == turn.channel
                if is_shared
                else await lookups.may_read(deps, turn.user, spec.owner, spec.channel)
            )
            words = layout.words_of(task) if may else ""
            continues = isinstance(spec, QuestionSpec) and spec.continues and task.thread_ts
            link = kit.permalink(deps.workspace, spec.channel, task.ts)
            thread = kit.permalink(deps.workspace, spec.channel, task.thread_ts) if continues else ""
            called = layout.titled(task, target, words)
            found.append(
                ShownTask(
                    record=task,
                    called=called,
                    target=target,
                    step=step,
                    what=what,
                    link=link,
                    words=words,
                    thread_link=thread,
                )
            )
        return found

    def in_full(self, shown: ShownThing[StoredTask]) -> str:
        by = f"Scheduled by {kit.named(shown.owner, 80)}: " if shown.owner else "Schedule: "
        return f"{by}{shown.called}"

    def row(self, shown: ShownThing[StoredTask], value: str, deps: Deps) -> ListRow:
        assert isinstance(shown, ShownTask)  # noqa: S101 - from `show`
        return layout.row(shown, value)

    async def heading(self, deps: Deps, turn: Turn, of: str) -> Heading:
        may_add = [does for does, needs in NEEDS.items() if await deps.policy.may(turn.asked(*needs))]
        offered = may_add if of else {"report"}.intersection(may_add)
        buttons = [form.button() for does, form in forms.FORMS.items() if does in offered]
        if of:
            return Heading("Schedules", "Nothing is scheduled yet.", buttons)
        return Heading("Scheduled reports", "No reports are scheduled yet.", buttons)

    async def there_already(self, deps: Deps, turn: Turn, record: StoredTask) -> Reply:
        owner, target = await deps.directory.user_name(record.spec.owner), await target_of(deps, record)
        return layout.already_scheduled(record, owner, target, offers=await offers(self, deps, turn, record))

    async def deleted(self, deps: Deps, turn: Turn, record: StoredTask) -> Reply:
        [shown] = await self.show(deps, turn, [record])
        return layout.deleted(record, await deps.directory.user_name(record.spec.owner), shown.called)

    async def now(self, deps: Deps, turn: Turn, record: StoredTask) -> Reply:
        body = due_task(record, deps.now(), asked_by=turn.user, thread_ts=await continued(deps, record))
        why = f"someone requested a {record.spec.does}"
        await deps.inbox.put(body, event=f"report:{record.id}:asked:{turn.id}", why=why)
        return layout.starting_now(record.spec.does)


SCHEDULES: Final = Schedules()


async def body_of(deps: Deps, stored: StoredTask, slot: datetime) -> Report | ScheduledTask:
    """Return what to queue for a *slot* of a task. Raises `StoreUnavailable`."""
    return due_task(stored, slot, thread_ts=await continued(deps, stored))


async def continued(deps: Deps, stored: StoredTask) -> str:
    """Return the thread in which a question is asked; ``""`` if it starts one. Raises `StoreUnavailable`."""
    spec = stored.spec
    if not (isinstance(spec, QuestionSpec) and spec.continues and stored.thread_ts):
        return ""
    thread = ThreadKey(spec.team, spec.channel, stored.thread_ts)
    return stored.thread_ts if await deps.sessions.thread(thread) else ""  # it's deleted, or too old


async def target_of(deps: Deps, task: StoredTask, *, is_asked: bool = True) -> str:
    """Return the name of a task's agent or workflow, ``Agent 7`` if it isn't known soon; ``""`` if it has none.

    Unless *is_asked*, the service isn't asked: Home asks it no more than it has to.
    """
    spec, project = task.spec, deps.projects.get(task.spec.project)
    if isinstance(spec, ReportSpec):
        return ""
    kind: Literal["agent", "workflow"] = "agent" if isinstance(spec, QuestionSpec) else "workflow"
    id_ = spec.agent if isinstance(spec, QuestionSpec) else spec.workflow
    name = ""
    if project and not is_asked:
        name = project.catalog.last_name(kind, id_)
    elif project:
        named = project.catalog.agent_name if kind == "agent" else project.catalog.workflow_name
        name = await named(id_, is_current=True)
    name = apart(project, kind, id_, name) if project else name
    return name or f"{kind.title()} {id_}"


async def target_by_id(turn: Turn, does: str, id_: int) -> Agent | Workflow | None:
    """Return the agent or workflow with an ID from a button; None if it no longer exists."""
    try:
        if does == "question":
            return await lookups.agent_by_id(turn, id_)
        return await lookups.workflow_by_id(turn, id_)
    except NoSuch:
        return None


async def open_form(
    deps: Deps,
    turn: Turn,
    does: str,
    target: Agent | Workflow | None = None,
    *,
    spec: ScheduleSpec | None = None,
    editing: str = "",
    text: str = "",
) -> Modal:
    """Open the form to schedule what a task *does*, or to change it, for people who may."""
    if not editing:
        await deps.policy.require(turn.asked(*NEEDS[does]))
    zone = await zone_of(deps, turn.user) or "UTC"
    thread_ts = turn.thread.root if turn.thread else ""
    origin = await lookups.origin_of(deps, turn, thread_ts=thread_ts, editing=editing)
    return forms.FORMS[does].task(origin, zone, target, spec, text)
