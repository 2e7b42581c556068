"""Who may run something, and who may approve it, by the rules in force: at the request, at each click, at the start."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Final

from bridge.engine.access import starter_of
from bridge.engine.deps import EngineDeps
from bridge.engine.results import try_later
from bridge.engine.rules import ApprovalTerms, Asked, Rules, Target, Verdict, decide, may_approve
from bridge.errors import NotAllowed
from bridge.features.approvals.request import Request
from bridge.ids import ERASED_PERSON

_FRESH: Final = 1.0  # seconds


def fingerprint(terms: ApprovalTerms | None) -> str:
    """Return a short form of *terms*, in which others differ; how long people have isn't part of it."""
    if terms is None:
        return ""
    facts = json.dumps([sorted(terms.by), terms.count, terms.self_, terms.reason])
    return hashlib.sha256(facts.encode()).hexdigest()[:16]


def rule_of(verdict: Verdict) -> str:
    """Name the rule that decided, for the audit: its number, and its place in the operator's file."""
    if verdict.rule is None:
        return ""
    place = f"{verdict.of.origin}:{verdict.rule.line}" if verdict.of and verdict.of.origin else ""
    return f"rule {verdict.rule.index}{f' ({place})' if place else ''}"


def asked_for(deps: EngineDeps, request: Request) -> Asked:
    """Return what a request is for, as the rules are asked about it: its asker's run."""
    by, app = starter_of(request.started_by)
    return deps.access.asked_by(
        "run", request.asker, request.channel, request.project, _target(request), by=by, app=app
    )


def _target(request: Request) -> Target:
    return Target("workflow", str(request.workflow), request.name, request.trigger, request.category)


async def judge_run(deps: EngineDeps, request: Request) -> Verdict:
    """Judge whether a request's asker may run it now, and who has to approve it.

    Raises `NotAllowed` with ``unknown`` if Slack doesn't say enough, and `TryLater`.
    """
    verdict = await _decided(deps, asked_for(deps, request), decide)
    if verdict.missing:
        raise NotAllowed("unknown")
    return verdict


async def refusal_of_approver(deps: EngineDeps, request: Request, terms: ApprovalTerms, user: str) -> str | None:
    """Return why *user* may not decide about a request by these *terms*, as a reason of `NotAllowed`; None if they may.

    Raises `TryLater`.
    """
    if user == request.asker and not terms.self_:
        return "own_approval"
    if refusal := await deps.access.refusal_now(user, request.channel):
        return refusal
    asked = deps.access.asked_by("approve", user, request.channel, request.project, _target(request))
    verdict = await _decided(deps, asked, lambda rules, known: may_approve(rules, terms, known))
    if verdict.missing:
        return "unknown"
    return None if verdict.is_allowed else "approve"


async def _decided(deps: EngineDeps, asked: Asked, how: Callable[[Rules, Asked], Verdict]) -> Verdict:
    """Decide with facts from Slack that are fresh. Raises `TryLater`."""
    with try_later():
        return await deps.access.decide(asked, at_most=_FRESH, how=how)


async def approvers(deps: EngineDeps, request: Request) -> tuple[str, ...]:
    """Return the people who may approve a request, if they're few and all known; else nobody."""
    people = set[str]()
    for one in (one for one in request.by if one != ERASED_PERSON):
        found = await deps.directory.people_in(one)
        if found is None:
            return ()
        people |= found
    if not request.by_asker:
        people.discard(request.asker)
    return tuple(sorted(people))
