"""Who may run something, and who may approve it, by the rules in force: at the request, at each click, at the start.

What's run is judged by what the service says about it then, not by what it was when someone asked.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import replace
from typing import Final, NamedTuple

from bridge.engine.deps import EngineDeps
from bridge.engine.results import TryLater, try_later
from bridge.errors import NotAllowed, ProjectError
from bridge.features.approvals.layout import WORKFLOW
from bridge.features.approvals.request import Request
from bridge.features.run_records import ScheduledRun
from bridge.ids import ERASED_PERSON
from bridge.inbound import starters_of
from bridge.policy.rules import ApprovalTerms, Asked, Target, Verdict, both, target_of
from bridge.project.models import Workflow
from bridge.slack.blockkit import kit

_FRESH: Final = 1.0  # seconds
_SOON: Final = 2.0  # seconds; how long a click waits for the service
_NAME: Final = 200


def fingerprint(terms: ApprovalTerms | None) -> str:
    """Return a short form of *terms*, in which others differ; how long people have isn't part of it."""
    if terms is None:
        return ""
    facts = [
        sorted(terms.by),
        terms.count,
        terms.self_,
        terms.reason,
        *([fingerprint(terms.also)] if terms.also else []),
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def rule_of(verdict: Verdict) -> str:
    """Name the rule that decided, for the audit: its number, and where it's set."""
    if verdict.rule is None:
        return ""
    return f"rule {verdict.rule.index}{f' ({verdict.of.origin})' if verdict.of and verdict.of.origin else ''}"


def with_workflow(request: Request, workflow: Workflow) -> Request:
    """Return a request with what the rules see of its *workflow*."""
    target = target_of(workflow) or Target("workflow")
    facts = {"workflow": workflow.id, "name": kit.one_line(workflow.name, _NAME), "is_active": workflow.is_active}
    return request.model_copy(update=facts | {"trigger": target.trigger, "category": target.category})


def asked_for(deps: EngineDeps, request: Request) -> list[Asked]:
    """Return what a request is for, as the rules are asked about it: the run of all who start it, its asker last."""
    of = (request.channel, request.project, _target(request))
    starters = starters_of(request.started_by, request.asker)
    return [deps.projects.asked("run", person, *of, by=by, app=app) for person, by, app in starters]


def _target(request: Request) -> Target:
    return Target("workflow", str(request.workflow), request.name, request.trigger, request.category)


async def judge_run(deps: EngineDeps, request: Request) -> Verdict:
    """Judge whether those who start a request's run may, and who has to approve it.

    Raises `NotAllowed` with ``unknown`` if Slack doesn't say enough, and `TryLater`.
    """
    verdict = both([await _judged(deps, asked) for asked in asked_for(deps, request)])
    if verdict.missing:
        raise NotAllowed("unknown")
    return verdict


class Judged(NamedTuple):
    """How a request stands: the *request* with its *workflow* as the service has it now, and the *verdict* about that.

    *changes* says in words what's different about the workflow, and *lost* is as in `StoredRequest.lost` if that alone
    is why nothing may start. Without a *workflow*, it's gone or isn't known, or the service doesn't say.
    """

    request: Request
    workflow: Workflow | None
    verdict: Verdict
    changes: str = ""
    lost: str = ""


async def judged(deps: EngineDeps, request: Request, *, starts: bool = False) -> Judged:
    """Look a request's workflow up, and judge the request by what it is now.

    If the service doesn't answer, what's known of it counts, unless the run *starts*: then that waits. Raises like
    `judge_run`.
    """
    if isinstance(request.started_by, ScheduledRun) and request.started_by.owner == ERASED_PERSON:
        return Judged(request, None, Verdict(False, None, None), lost=f"{WORKFLOW} the schedule was deleted")
    project = deps.projects.get(request.project)
    if project is None and starts:
        lost = f"{WORKFLOW} its project is no longer connected"
        return Judged(request, None, Verdict(False, None, None), lost=lost)
    if project is None:
        return Judged(request, None, await judge_run(deps, request))
    try:
        async with asyncio.timeout(None if starts else _SOON):
            workflow = await project.catalog.workflow(request.workflow, is_new=True)
    except (ProjectError, TimeoutError) as exc:
        if starts:
            raise TryLater from exc
        return Judged(request, None, await judge_run(deps, request))
    if workflow is None:
        return Judged(request, None, Verdict(False, None, None), lost=f"{WORKFLOW} the workflow no longer exists")
    now = with_workflow(request, workflow)
    verdict, changes = await judge_run(deps, now), _changes(request, now)
    is_off = request.is_active and not now.is_active
    is_other = bool(changes) and not _holds(verdict, request) and _holds(await judge_run(deps, request), request)
    if is_off or is_other:
        return Judged(now, workflow, replace(verdict, is_allowed=False), changes, f"{WORKFLOW} {changes}")
    return Judged(now, workflow, verdict, changes)


def _holds(verdict: Verdict, request: Request) -> bool:
    """Whether a run is allowed with the approval that was asked for, or without one."""
    return verdict.is_allowed and (verdict.approval is None or fingerprint(verdict.approval) == request.terms)


def _changes(before: Request, now: Request) -> str:
    """Say what has changed about a workflow, as part of a sentence; ``""`` if nothing has."""
    clauses = {
        "name": f"the workflow is now called {kit.quoted(now.name, 80)}",
        "is_active": f"the workflow is {'active' if now.is_active else 'inactive'} now",
        "trigger": f"its trigger is now {kit.quoted(now.trigger, 40)}" if now.trigger else "it has no trigger now",
        "category": f"its category is now {kit.quoted(now.category, 40)}" if now.category else "it has no category now",
    }
    return kit.joined([words for fact, words in clauses.items() if getattr(before, fact) != getattr(now, fact)])


async def refusal_of_approver(deps: EngineDeps, request: Request, terms: ApprovalTerms, user: str) -> str | None:
    """Return why *user* may not decide about a request by these *terms*, as a reason of `NotAllowed`; None if they may.

    Raises `TryLater`.
    """
    refusals = await refusals_of_approver(deps, request, terms, user)
    return None if None in refusals else refusals[0]


async def refusals_of_approver(deps: EngineDeps, request: Request, terms: ApprovalTerms, user: str) -> list[str | None]:
    """Return the same for each of the *terms* that have to be met. Raises `TryLater`."""
    return [await _refusal_by(deps, request, term, user) for term in terms.each]


async def _refusal_by(deps: EngineDeps, request: Request, terms: ApprovalTerms, user: str) -> str | None:
    if user == request.asker and not terms.self_:
        return "own_approval"
    if refusal := await deps.refusal_now(user, request.channel):
        return refusal
    asked = deps.projects.asked("approve", user, request.channel, request.project, _target(request), terms=terms)
    verdict = await _judged(deps, asked)
    if verdict.missing:
        return "unknown"
    return None if verdict.is_allowed else "approve"


async def _judged(deps: EngineDeps, asked: Asked) -> Verdict:
    """Judge with facts from Slack that are fresh. Raises `TryLater`."""
    with try_later():
        return await deps.policy.judge(asked, at_most=_FRESH)


async def approvers(deps: EngineDeps, request: Request) -> tuple[str, ...]:
    """Return the people who may approve a request, if they're few and all known; else nobody."""
    people = set[str]()
    for id_ in (id_ for needed in request.needs for id_ in needed.by if id_ != ERASED_PERSON):
        members = await deps.directory.people_in(id_)
        if members is None:
            return ()
        people |= members
    if not request.lets_asker:
        people.discard(request.asker)
    return tuple(sorted(people))
