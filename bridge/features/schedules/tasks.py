"""Scheduled questions and runs at their slots.

A slot's turn checks whether it may happen, waits for its predecessor or is skipped, and fills in the placeholders. A
question is then posted as a thread's first message, from which its agent is asked like from any message; a run becomes
a turn of its own (`ScheduledRun`), which the workflows answer. Both are started once per slot's turn.
"""

from __future__ import annotations

from datetime import timedelta

from bridge.engine.results import Done, NewThread, Outcome, Result
from bridge.engine.turn import Turn
from bridge.errors import ProjectError
from bridge.features.deps import Deps
from bridge.features.run_records import PostedTask, ScheduledRun
from bridge.features.schedules.kind import SCHEDULES
from bridge.features.schedules.layout import overlapped, question_root, titled, words_of
from bridge.features.schedules.placeholders import DATE, STATS, UNKNOWN, filled, needs_statistics
from bridge.features.schedules.records import ScheduledTask
from bridge.features.schedules.schedule import QuestionSpec, RunSpec, StoredTask
from bridge.features.schedules.store import TaskStore
from bridge.features.standing.pauses import GONE, pause
from bridge.features.standing.slots import later, opened
from bridge.features.statistics.numbers import NUMBERS
from bridge.features.statistics.snapshots import Snapshot, snapshot_of
from bridge.ids import TurnId
from bridge.project.models import Agent, Workflow
from bridge.queue.finished_turns import named
from bridge.queue.put import Queued
from bridge.slack.blockkit.kit import escape
from bridge.slack.blockkit.lists import apart
from bridge.slack.blockkit.mrkdwn import plain_command_text

_A_DAY = timedelta(days=1)


async def start(deps: Deps, turn: Turn, due: ScheduledTask) -> Result:
    """Ask or run what's due. Raises `StoreUnavailable` and `TryLater`."""
    stored = await opened(deps, turn, SCHEDULES, due)
    if isinstance(stored, Done):
        return stored
    spec = stored.spec
    try:
        match spec:
            case QuestionSpec(agent=id_):
                known: Agent | Workflow | None = await turn.project.catalog.agent(id_)
            case RunSpec(workflow=id_):
                known = await turn.project.catalog.workflow(id_)
            case _:
                return Done("it isn't a question or a run")
        if known is None:
            await pause(deps, turn, SCHEDULES, stored, GONE)
            return Done(f"the schedule was paused: {GONE}")
        values, numbers = await _values(deps, turn, stored, spec)
    except ProjectError as exc:
        raise later(due, deps.now(), exc) from exc
    name = apart(turn.project, "agent" if isinstance(known, Agent) else "workflow", known.id, known.name)
    if (waits := await _begins(deps, turn, due, stored, name)) is not None:
        return waits
    if isinstance(spec, RunSpec):
        run = ScheduledRun(
            team=spec.team, channel=spec.channel, user=turn.user, project=spec.project, task=stored.id, slot=due.slot,
            owner=spec.owner if due.is_asked_for else "",
            workflow=id_, input=filled(spec.input, values), called=stored.called, skipped=stored.skipped,
            numbers=numbers,
        )  # fmt: skip
        put = await deps.inbox.put(run, event=f"run:{turn.id}", why="its slot is due")
        queued = put.turn if isinstance(put, Queued) else TurnId(put.fact)  # of a duplicate
        await deps.inbox.write(*TaskStore(deps.scripts).starts(run.task, queued, after=turn.id))
        return Done("its run is queued")
    text = str(filled(spec.text, values))
    posted = PostedTask(
        task=stored.id, called=titled(stored, name, words_of(stored)), slot=due.slot, thread_ts=due.thread_ts,
        numbers=numbers,
    )  # fmt: skip
    owner = await deps.directory.user_name(spec.owner)
    asked_by = await deps.directory.user_name(turn.user) if due.is_asked_for else ""
    return Outcome(
        what="question",
        reply=question_root(stored, text, name, owner, asked_by),
        mark="bridge_root",
        after=(NewThread(agent=id_, text=escape(text), thread_ts=due.thread_ts), posted),
        concerns=named("schedule", stored.id, titled(stored, name)),
    )


async def _begins(deps: Deps, turn: Turn, due: ScheduledTask, stored: StoredTask, name: str) -> Result | None:
    """Make this turn the task's latest, and return None; or say that its predecessor is still running.

    The first slot that is skipped for that says so, the others only count.
    """
    store = TaskStore(deps.scripts)
    while stored.turn != turn.id:  # else an earlier worker did so
        if await store.is_running(stored, but=turn.id):
            if isinstance(stored.spec, QuestionSpec | RunSpec) and stored.spec.overlap == "wait":
                raise later(due, deps.now())
            if stored.told == stored.turn:
                await deps.inbox.write(*store.overlaps(stored, due.slot))
                return Done("skipped: the one before is still running")
            turn.stage(*store.overlaps(stored, due.slot))
            about = named("schedule", stored.id, titled(stored, name))
            return Outcome(what="overlap", reply=overlapped(stored, name), concerns=about)
        if (await deps.inbox.write(*store.starts(stored.id, turn.id, after=stored.turn)))[0]:
            return None
        again = await store.get(stored.id)
        if again is None:
            return Done("the schedule was deleted")
        stored = again
    return None


async def _values(
    deps: Deps, turn: Turn, stored: StoredTask, spec: QuestionSpec | RunSpec
) -> tuple[dict[str, str], str]:
    """Return what the placeholders stand for, and the snapshot to compare with next time; ``""`` if none is needed.

    Raises `ProjectError` and `StoreUnavailable`.
    """
    now = deps.now()
    values = {DATE: now.astimezone(stored.clock).date().isoformat()}
    if not needs_statistics(spec.text if isinstance(spec, QuestionSpec) else spec.input):
        return values, ""
    statistics, last = deps.statistics(turn.project), Snapshot.parse(stored.numbers)
    stats = await statistics.read()
    changes = await statistics.changes(stats, last=last, since=now - _A_DAY)
    card = await statistics.card(stats, last=last)
    values[STATS] = plain_command_text("\n".join([card.text, *(reply.text for reply in card.replies)]))
    for number in NUMBERS:
        count = number.of(stats)
        change = changes.numbers.get(number.name) if changes else None
        values[f"{STATS}.{number.name}"] = UNKNOWN if count is None else str(count)
        values[f"{STATS}.{number.name}.change"] = f"{change.by:+d}" if change and change.by is not None else UNKNOWN
    return values, snapshot_of(stats, now).to_text()
