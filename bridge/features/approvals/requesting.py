"""Asking for approval instead of starting a run: what all ways to start one have in common.

`Approvals` is what the workflows use: `needed` at each start of a run, and `opened` for one that was approved.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final

from bridge.engine.deps import EngineDeps
from bridge.engine.questions import Permit
from bridge.engine.results import Modal, Outcome
from bridge.engine.turn import Turn
from bridge.errors import NotAllowed, RecordNotUnderstood, SlackError
from bridge.features.approvals import layout
from bridge.features.approvals.records import RequestPosted
from bridge.features.approvals.request import APPROVED, CHANGED, Needed, Request, StoredRequest, canonical, digest_of
from bridge.features.approvals.rights import (
    Judged,
    approvers,
    asked_for,
    fingerprint,
    judged,
    refusal_of_approver,
    refusals_of_approver,
    rule_of,
    with_workflow,
)
from bridge.features.approvals.store import DRAFT, ApprovalStore
from bridge.features.run_records import ApprovedRun, PostedTask, ScheduledRun, TriggeredRun
from bridge.ids import ERASED_PERSON, TurnId
from bridge.inbound import InboundMessage, Notice
from bridge.policy.rules import ApprovalTerms, Verdict
from bridge.project.models import Workflow
from bridge.queue.finished_turns import named
from bridge.queue.writes import Write
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.lists import apart
from bridge.slack.blockkit.modals import Origin
from bridge.slack.in_project import mark_reply
from bridge.slack.parts import MessageTag

MARK: Final = "bridge_approval"
"""The event type in the metadata of a request's card."""

WAITS: Final = "waits for approval"


@dataclass(frozen=True, slots=True)
class Approvals:
    """Requests for approval; *workspace* is the workspace's address in Slack, for links to their cards."""

    workspace: str = ""

    async def needed(
        self, deps: EngineDeps, turn: Turn, workflow: Workflow, input_: Any, verdict: Verdict
    ) -> Outcome | Modal | None:
        """Return the card that asks for approval of a run with *input_*, or None if its *verdict* says it needs none.

        Raises `StoreUnavailable` and `TooManyRequests`.
        """
        if verdict.approval is None:
            return None
        body, now, place, written = turn.body, deps.now(), turn.destination.place, canonical(input_)
        request = Request(
            team=turn.team, channel=place.channel or turn.user, thread_ts=place.thread_ts, asker=turn.causer,
            project=turn.project_key, workflow=workflow.id, name="", digest=digest_of(written), terms="",
            asked_at=now, until=now, started_by=body if isinstance(body, ScheduledRun | TriggeredRun) else None,
        )  # fmt: skip
        request = with_terms(with_workflow(request, workflow), verdict.approval, rule_of(verdict))
        if verdict.approval.reason and request.started_by is None:
            await deps.inbox.write(*ApprovalStore(deps.scripts).add(turn.id, request, written, DRAFT))
            origin = Origin(
                channel=turn.channel, thread_ts=request.thread_ts, response_url=turn.response_url, editing=turn.id
            )
            return layout.reason_form(request.name, origin)
        return await self.asked(deps, turn, request, written, turn.id)

    async def asked(
        self, deps: EngineDeps, turn: Turn, request: Request, written: str, id_: str, *, after: str = ""
    ) -> Outcome:
        """Return the card of a request, which is stored with it, if its state is still *after*.

        Raises `TooManyRequests`.
        """
        store, ts = ApprovalStore(deps.scripts), turn.body.ts if isinstance(turn.body, InboundMessage) else ""
        request = request.model_copy(update={"posted_by": turn.id, "message_ts": ts})
        await store.claim(turn, id_, request.asker, deps.now())
        turn.stage(*store.add(id_, request, written, after=after), *await self.redraws(deps, request))
        stored = StoredRequest(id_, request, written, "waiting")
        posted: tuple[RequestPosted | PostedTask, ...] = (RequestPosted(approval=id_),)
        if isinstance(run := request.started_by, ScheduledRun):
            called = f"run {request.name}, {run.called}"
            posted += (PostedTask(task=run.task, called=called, slot=run.slot, ended=WAITS, numbers=run.numbers),)
        reply = layout.request_card(await self.shown(deps, stored))
        return Outcome(what=WAITS, reply=reply, mark=MARK, after=posted, **audited(stored))

    async def redraws(self, deps: EngineDeps, request: Request) -> tuple[Write, ...]:
        """Return the writes that redraw the Home tabs of the people concerned, if they're few and have it open."""
        people = {request.asker, *await approvers(deps, request)} - {""}
        return tuple([write for user in sorted(people) for write in deps.homes.redraws(request.team, user)])

    async def shown(self, deps: EngineDeps, stored: StoredRequest) -> layout.Shown:
        """Return a request with the names that its card shows."""
        request, names, project = stored.request, deps.directory.user_name, deps.projects.get(stored.request.project)
        if project is not None:
            called = apart(project, "workflow", request.workflow, request.name)
            stored = replace(stored, request=request.model_copy(update={"name": called}))
        owner = request.started_by.owner if isinstance(request.started_by, ScheduledRun) else ""
        people = {request.asker, owner, *(decision.user for decision in stored.decisions)} - {"", ERASED_PERSON}
        several = deps.projects.name_of(request.project) if deps.projects.is_several else ""
        first, *also = [await self._names_of(deps, needed) for needed in request.needs]
        by = ", and ".join([first, *(f"{kit.counted(request.needs[1].count, 'approval')} by {id_}" for id_ in also)])
        few = await approvers(deps, request)
        groups = () if few else tuple(id_ for needed in request.needs for id_ in needed.by if id_.startswith("S"))
        return layout.Shown(
            stored,
            await names(request.asker) if request.asker else "",
            by,
            {user: await names(user) for user in people},
            few,
            groups,
            several,
        )

    async def _names_of(self, deps: EngineDeps, needed: Needed) -> str:
        by = []
        for id_ in needed.by:
            if id_.startswith("S"):
                by.append((await deps.policy.names([id_])).get(id_) or "a user group")
            elif kit.is_channel(id_):  # the card may be where nobody knows a private one
                by.append(f"members of {(await deps.policy.names([id_])).get(id_) or 'a private channel'}")
            elif id_ != ERASED_PERSON:
                by.append(kit.named(await deps.directory.user_name(id_), 80))
        return layout.either(by) or (layout.BY_NOBODY_LEFT if needed.by else layout.BY_RULES)

    def link(self, stored: StoredRequest) -> str:
        """Return the address of a request's card, or ``""``."""
        request = stored.request
        return kit.permalink(self.workspace, request.channel, stored.card, request.thread_ts) if stored.card else ""

    async def link_for(self, deps: EngineDeps, stored: StoredRequest, user: str) -> str:
        """Return the same for *user*, who may approve a run in a channel that they can't see."""
        request = stored.request
        if user == request.asker or not kit.is_channel(request.channel):
            return self.link(stored) if user == request.asker else ""
        try:
            return self.link(stored) if await deps.directory.sees(user, request.channel) else ""
        except SlackError:
            return ""

    async def edit_card(self, deps: EngineDeps, id_: str, response_url: str = "") -> StoredRequest | None:
        """Show a request's state on its card, and return it. Repeatable; the last of several to do so shows the newest.

        *response_url* is of a button on the card, and replaces it where the bot can't edit messages. Raises
        `TryLater` and `StoreUnavailable`.
        """
        store, shown = ApprovalStore(deps.scripts), ""
        while (stored := await store.get(id_)) and stored.card and stored.revision != shown:
            request, shown = stored.request, stored.revision
            reply = mark_reply(layout.request_card(await self.shown(deps, stored)), request.project)
            # The card stays the one of its turn, which may not have finished: a successor looks for it.
            tag = MessageTag(MARK, TurnId(request.posted_by), None, None, request.message_ts, request.project)
            if not await deps.edit(request.channel, stored.card, reply, tag, response_url=response_url):
                break
        return stored

    async def opened(self, deps: EngineDeps, turn: Turn, approved: ApprovedRun) -> Permit | Outcome:
        """Return the permit for an approved run, or what to show if it may not start: everyone is judged again.

        Raises `TryLater` and `StoreUnavailable`.
        """
        store = ApprovalStore(deps.scripts)
        try:
            stored = await store.get(approved.approval)
        except RecordNotUnderstood:
            stored = None
        if stored is None or not stored.is_intact or stored.request.digest != approved.digest:
            return Outcome(what="approval gone", reply=layout.over(""))
        used = Outcome(what="approval used", reply=layout.used(stored), **audited(stored))
        if stored.state != APPROVED or stored.started not in {"", turn.id}:
            return used
        lost = now = None
        try:
            now = await judged(deps, stored.request, starts=True)
            lost = await self._lost(deps, stored, now)
        except NotAllowed as exc:  # Slack doesn't say whether they may
            lost = f"{exc.reason} {stored.request.asker}"
        if lost is None and now is not None and now.workflow is not None:
            request, view = stored.request, await self.shown(deps, stored)
            approved_by = [user for user in stored.approved_by if user != ERASED_PERSON]
            people = tuple(dict.fromkeys(filter(None, [request.asker, *approved_by])))
            uses, undo = store.starts(stored.id, turn.id), store.unstarts(stored.id, turn.id)
            by = view.named(stored.approved_by)
            return Permit(now.workflow, json.loads(stored.input), by, people, uses, undo, used)
        lost = lost or ""
        notices = await self.changes(deps, stored, lost, *stored.approved_by)
        redraw = deps.inbox.queues(stored.redraw, why="its request for approval ended")
        await deps.inbox.write(*store.stops(stored.id, CHANGED, *notices, redraw))
        await self.edit_card(deps, stored.id)
        view = await self.shown(deps, replace(stored, state=CHANGED, lost=lost))
        return Outcome(what="approval changed", reply=layout.not_started(view), **audited(stored))

    async def _lost(self, deps: EngineDeps, stored: StoredRequest, now: Judged) -> str | None:
        """Return who of the asker and the approvers has lost which right, by the terms that were shown; None: nobody.

        It's as in `StoredRequest.lost`. Raises `TryLater`.
        """
        request, verdict = now.request, now.verdict
        if lost := now.lost or await self.lost_by_asker(deps, request):
            return lost
        if not verdict.is_allowed:
            return ""
        if verdict.approval is None:
            return None
        terms = verdict.approval
        if fingerprint(terms) != request.terms or stored.left:
            return ""
        for made in filter(attrgetter("is_approval"), stored.decisions):
            if made.user == ERASED_PERSON:
                return f"{layout.WORKFLOW} {layout.APPROVER_ERASED}"
            user, refusals = made.user, await refusals_of_approver(deps, request, terms, made.user)
            if refused := next((why for number, why in enumerate(refusals) if why and made.counts_for(number)), None):
                is_other = now.changes and not await refusal_of_approver(deps, stored.request, terms, user)
                return f"{layout.WORKFLOW} {now.changes}" if is_other else f"{refused} {user}"
        return None

    async def lost_by_asker(self, deps: EngineDeps, request: Request) -> str:
        """Return which right the asker has lost, or the owner of what they started, or ``""``. Raises `TryLater`."""
        for asked in asked_for(deps, request):
            if refused := await deps.refusal_now(asked.person, request.channel, asked):
                return f"{refused} {asked.person}"
        return ""

    async def changes(self, deps: EngineDeps, stored: StoredRequest, lost: str, *approvers: str) -> tuple[Write, ...]:
        """Return the writes that say what was *lost* since: in the request, to its asker, and to these *approvers*."""
        reason, _, about = lost.partition(" ")
        is_of_person = about and reason != layout.WORKFLOW
        name = await deps.directory.user_name(about) if is_of_person else about
        people = dict.fromkeys(user for user in (stored.request.asker, *approvers) if user not in {"", ERASED_PERSON})
        notices = [
            self._tells(
                deps, stored, user, layout.Ended(CHANGED, "" if is_of_person and user == about else name, reason)
            )
            for user in people
        ]
        return (ApprovalStore(deps.scripts).loses(stored.id, lost), *notices)

    def tells_asker(
        self, deps: EngineDeps, stored: StoredRequest, state: str, by: str = "", reason: str = ""
    ) -> tuple[Write, ...]:
        """Return the writes that notify the asker of a request that it ended without a run; the file has no asker."""
        asker = stored.request.asker
        return (self._tells(deps, stored, asker, layout.Ended(state, by, reason)),) if asker else ()

    def _tells(self, deps: EngineDeps, stored: StoredRequest, user: str, how: layout.Ended) -> Write:
        reply = layout.ended(stored, how, is_asker=user == stored.request.asker)
        notice = Notice.direct(stored.request.team, user, layout.ENDED, reply.stored())
        return deps.inbox.queues(notice, why="its request for approval ended")


def with_terms(request: Request, terms: ApprovalTerms, rule: str) -> Request:
    """Return a request as it is by these *terms*, which a *rule* has."""
    own, *also = [Needed(by=term.by, count=term.count, by_asker=term.self_) for term in terms.each]
    changes = dict(own) | {
        "also": also[0] if also else None, "terms": fingerprint(terms), "rule": rule,
        "until": request.asked_at + terms.within,
    }  # fmt: skip
    return request.model_copy(update=changes)


def terms_of(request: Request) -> ApprovalTerms:
    """Return the terms by which a request was made."""
    own, *also = [ApprovalTerms(need.by, need.count, need.by_asker) for need in request.needs]
    return replace(own, also=also[0]) if also else own


def audited(stored: StoredRequest, rule: str = "") -> Mapping[str, Any]:
    """Return what the audit has of a request: its workflow, the *rule* (its own, if ``""``) and its input's hash."""
    request = stored.request
    return {
        "concerns": named("workflow", request.workflow, request.name),
        "facts": {"approval": stored.id, "sha256": request.digest, "rule": rule or request.rule},
        "project": request.project or None,
    }
