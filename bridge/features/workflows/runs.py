"""Run a workflow and show its card, one message that changes from "running" to the result.

Failures are outcomes, too, and aren't retried: a person is watching, and may run the workflow again.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

from bridge.ends import notices
from bridge.engine.caller import caller_headers
from bridge.engine.questions import Permit, Question
from bridge.engine.results import RUN_MARK, Outcome, Result, shown
from bridge.engine.turn import Turn
from bridge.errors import (
    NotFound,
    ProjectError,
    RecordNotUnderstood,
    SlackError,
    TooManyRequests,
    TooOften,
)
from bridge.features.deps import Deps
from bridge.features.run_records import ApprovedRun, PostedTask, ScheduledRun, TriggeredRun
from bridge.features.titles import TITLE, title_of_input
from bridge.features.waiters import notify_waiters
from bridge.features.workflows import run_card
from bridge.features.workflows.records import RunEnded
from bridge.ids import PersonKey, TurnId
from bridge.inbound import Inbound
from bridge.project.models import RunResult, Workflow
from bridge.queue.journal import AlreadyUsed
from bridge.queue.keys import RESULTS, milliseconds
from bridge.queue.scripting import Scripts
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Reply

log = logging.getLogger(__name__)

_NAME = 200  # characters stored for Home
_VERSION = 2


async def run(
    deps: Deps,
    turn: Turn,
    workflow: Workflow,
    input_: Any,
    *,
    is_sure: bool = False,
    question: Question | None = None,
    replaces: Reply | None = None,
    permit: Permit | None = None,
) -> Result:
    """Start one run with *input_* (any JSON value) and wait for its result; ask first if the workflow is inactive.

    *is_sure*: the person has confirmed that. The run uses up the *question* whose button was pressed, and *replaces*
    replaces that; if it certainly didn't start, the question can still be answered. Every run starts here: one that
    others have to approve only asks them, unless they did: then there's a *permit*.
    """
    if permit is None:
        verdict = await deps.policy.require(*turn.started("run", workflow))
        if not is_sure and (verdict.confirm or not workflow.is_active):
            return run_card.confirm(workflow, input_, shows_input=verdict.confirm)
        try:
            needed = await deps.approvals.needed(deps, turn, workflow, input_, verdict)
        except TooManyRequests as exc:
            return _limited(turn, await _describe(deps, turn, workflow.id, workflow.name, input_), exc)
        if needed is not None:
            turn.stage(*(question.uses() if question and isinstance(needed, Outcome) else ()))
            return needed
    described = await _describe(deps, turn, workflow.id, workflow.name, input_, by=permit.by if permit else "")
    running, is_long = run_card.running(described), run_card.running(described, is_long=True)

    async def start() -> tuple[RunResult | ProjectError, timedelta]:
        began = deps.now()
        async with turn.progress(running, later=is_long, after=deps.long_run):
            try:
                result: RunResult | ProjectError = await turn.project.client.run_workflow(
                    workflow.id, input_, headers=caller_headers(turn) if deps.names_caller else None
                )
            except NotFound as exc:
                with suppress(ProjectError):
                    exc.has_item = not exc.is_page and bool(await turn.project.client.get_workflow(workflow.id))
                result = exc
            except ProjectError as exc:
                result = exc
        return result, deps.now() - began

    try:
        note = json.dumps({"workflow": workflow.id, "name": workflow.name, "input": input_})
        of_question = (question.uses(), question.undo()) if question else ((), ())
        uses, undo = (permit.uses, permit.undo) if permit else of_question
        person = PersonKey(turn.team, turn.user, turn.project_key)
        listed = (deps.homes.unsettled(person, turn.id, deps.now()), *deps.homes.redraws(turn.team, turn.user))
        undo = (*undo, deps.homes.settled(person, turn.id))
        limits = (
            await deps.policy.quotas(turn.asked("run", workflow), input_, team=turn.team)
            if deps.policy.limits.runs
            else ()
        )
        result, took = await turn.once(start, note=note, uses=(*uses, *listed), undo=undo, limits=limits)
    except AlreadyUsed:
        if permit:
            return permit.used
        return (await question.answered() if question else None) or shown(notices.already_used(), "already")
    except TooOften as exc:
        return _limited(turn, described, exc)
    has_started = isinstance(result, RunResult) or result.may_have_happened
    if not has_started:
        turn.stage(*undo)
        turn.give_back(limits)
    if turn.near:
        await turn.say_if_near()
    if has_started and replaces is not None:
        try:
            await deps.slack.whisper(turn.destination.recipient, replaces)
        except SlackError as exc:
            log.info("private notice can't be posted", extra={"detail": exc.detail})
    return await _ended(deps, turn, described, result, took)


def _limited(turn: Turn, described: run_card.Run, error: TooOften) -> Outcome:
    """Return the card of a run that a limit stopped. Raises *error* if its person waits for it, and reads that."""
    error.about = f"workflow {described.workflow}"
    if not turn.body.is_of_owner:
        raise error
    # No one waits for it: unlike another answer, a card says what it's about.
    card = run_card.failed(described, error)
    outcome = _for_schedule(turn, _outcome(type(error).__name__, card, described, run_card.FAILED))
    return _with_notice(outcome, turn) if isinstance(turn.body, ApprovedRun) else outcome


async def _ended(
    deps: Deps, turn: Turn, described: run_card.Run, result: RunResult | ProjectError, took: timedelta
) -> Outcome:
    """Return the outcome of a run; its output is laid out in a thread, as it may have 4 MB."""
    if isinstance(result, RunResult):
        card, stored = await asyncio.to_thread(_laid_out, described, result, took)
        if stored:
            turn.stage(("set", deps.scripts.keys.results(turn.id), milliseconds(RESULTS), stored))
        outcome = _outcome("ran", card, described, result.status or run_card.FINISHED)
    elif result.may_have_happened:
        card = run_card.unknown(described, result)
        outcome = _outcome("unknown", card, described, run_card.OUTCOME_UNKNOWN, result.cause)
    else:
        card = run_card.failed(described, result, took)
        outcome = _outcome(type(result).__name__, card, described, run_card.FAILED, result.cause)
    outcome = _for_schedule(turn, outcome)
    is_awaited = took >= deps.long_run or isinstance(turn.body, ApprovedRun)
    return _with_notice(outcome, turn, kit.spoken(took)) if is_awaited else outcome


def _started_by(turn: Turn) -> Inbound:
    """Return what started a run: an approved one was started by what was approved, or by its person."""
    body = turn.body
    return (body.started_by or body) if isinstance(body, ApprovedRun) else body


def _for_schedule(turn: Turn, outcome: Outcome) -> Outcome:
    """Have the outcome of a scheduled run stored with its schedule, and say which slots before it were skipped.

    An approved run's has its approval for the audit.
    """
    if isinstance(body := turn.body, ApprovedRun):
        facts = {"approval": body.approval, "sha256": body.digest, "rule": body.rule}
        outcome = outcome.model_copy(update={"facts": facts})
    run = _started_by(turn)
    if not isinstance(run, ScheduledRun):
        return outcome
    title = title_of_input(run.input)
    called = f"run {outcome.ran}, {run.called}" + (f": input {kit.quoted(title, TITLE)}" if title else "")
    ended = PostedTask(task=run.task, called=called, slot=run.slot, ended=outcome.ended, numbers=run.numbers)
    below = (run_card.were_skipped(run.skipped),) if run.skipped else ()
    reply = outcome.reply.model_copy(update={"blocks": (*outcome.reply.blocks, *below)})
    return outcome.model_copy(update={"after": (*outcome.after, ended), "reply": reply})


def _with_notice(outcome: Outcome, turn: Turn, took: str = "") -> Outcome:
    ended = RunEnded(turn=turn.id, name=outcome.ran, status=outcome.ended, took=took)
    return outcome.model_copy(update={"after": (*outcome.after, ended)})


async def unknown_run(deps: Deps, turn: Turn) -> Outcome:
    """Show that an earlier worker may have started the run. Raises `RecordNotUnderstood`."""
    try:
        note = json.loads(turn.record.note)
        described = await _describe(deps, turn, int(note["workflow"]), str(note["name"]), note["input"])
    except (ValueError, KeyError, TypeError) as exc:
        raise RecordNotUnderstood("run") from exc
    cause = "the bridge ended before a result came"
    outcome = _outcome("unknown", run_card.unknown(described), described, run_card.OUTCOME_UNKNOWN, cause)
    return _with_notice(_for_schedule(turn, outcome), turn)


def _laid_out(run: run_card.Run, result: RunResult, took: timedelta) -> tuple[Reply, str]:
    """Return the card of a finished run, and what its buttons show; ``""`` if that's nothing."""
    shown = run_card.readable(result)
    kept = shown.output if run_card.has_more(shown) else None
    stored = to_text(shown.nodeResults, kept) if shown.nodeResults or kept is not None else ""
    return run_card.finished(run, shown, took, exact=result.output), stored


def to_text(nodes: Any, output: Any = None) -> str:
    """Return the stored form of a run's node results and, if it wasn't shown whole, its output."""
    return json.dumps({"v": _VERSION, "nodes": nodes, "output": output})


async def results_of(scripts: Scripts, turn: TurnId) -> tuple[Any, Any]:
    """Return the node results of the run that *turn* started, and its output if it wasn't shown whole, for a week.

    They're None if they have expired. Raises `StoreUnavailable` and `RecordNotUnderstood`.
    """
    text = await scripts.redis.get(scripts.keys.results(turn))
    try:
        match results := json.loads(text or "null"):
            case {"v": int(), "nodes": nodes, "output": output}:
                return nodes, output
            case _:  # an earlier version stored only the node results
                return results, None
    except ValueError as exc:
        raise RecordNotUnderstood("results") from exc


async def notify_of_end(deps: Deps, turn: Turn, ended: RunEnded, ts: str) -> None:
    """Notify each person who waits for a run (`notify_waiters`); *ts* is its card's."""
    await notify_waiters(deps, turn, TurnId(ended.turn), run_card.ENDED, partial(run_card.run_ended, ended), ts=ts)


async def _describe(deps: Deps, turn: Turn, workflow: int, name: str, input_: Any, *, by: str = "") -> run_card.Run:
    started_by = await deps.directory.user_name(turn.causer)
    if started_by == turn.causer:  # the name is unknown, and an ID means nothing to people
        started_by = ""
    begun = _started_by(turn)
    owner = await deps.directory.user_name(begun.owner) if isinstance(begun, ScheduledRun) and begun.owner else ""
    app = (begun.message.app_name or "an app") if isinstance(begun, TriggeredRun) else ""
    schedule = begun.called if isinstance(begun, ScheduledRun) else ""
    project = deps.projects.get(turn.project_key)
    url = project.run_url if project else ""
    return run_card.Run(workflow, name, input_, started_by, turn.id, app, url, schedule, turn.project_name, by, owner)


def _outcome(what: str, card: Reply, run: run_card.Run, ended: str, cause: str = "") -> Outcome:
    name, ended = run.name[:_NAME], ended[:_NAME]
    return Outcome(what=what, reply=card, mark=RUN_MARK, workflow=run.workflow, ran=name, ended=ended, cause=cause)
