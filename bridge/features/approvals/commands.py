"""``/approvals``, the buttons of requests, and what happens when their time is over."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from bridge.engine.feature import Feature, Slot
from bridge.engine.home import Need, Reads
from bridge.engine.results import Done, Outcome, Result, TryLater, shown
from bridge.engine.turn import Turn
from bridge.errors import ControlNotUnderstood, NotAllowed, RecordNotUnderstood
from bridge.features.approvals import layout
from bridge.features.approvals.erasing import APPROVALS_ASKED
from bridge.features.approvals.layout import Decides
from bridge.features.approvals.records import ApprovalDue, ApproverAsked, RequestPosted
from bridge.features.approvals.request import (
    DENIED,
    EXPIRED,
    WAITING,
    WITHDRAWN,
    StoredRequest,
)
from bridge.features.approvals.requesting import audited, terms_of, with_terms
from bridge.features.approvals.rights import (
    Judged,
    approvers,
    asked_for,
    fingerprint,
    judged,
    refusal_of_approver,
    refusals_of_approver,
    rule_of,
)
from bridge.features.approvals.store import DRAFT, ApprovalStore
from bridge.features.deps import Deps
from bridge.features.lookups import origin_of
from bridge.features.run_records import ApprovedRun
from bridge.inbound import Click, Submission
from bridge.queue.writes import Write
from bridge.slack.blockkit.modals import Origin

OVER: Final = "request over"

approvals = Feature("approvals")
approvals.sets_up(APPROVALS_ASKED)
approvals.outcomes |= {
    "approved": "approved a run",
    "denied": "denied a run",
    "request withdrawn": "withdrew a request for approval",
    OVER: "the request for approval was over",
    "a copy": "pressed a button of a copied request",
    "reminded": "reminded of a request for approval",
    "request expired": "a request for approval expired",
    "approval changed": "something changed, so it isn't approved",
    "approval used": "its approval was used before",
    "approval gone": "its approval no longer exists",
    "asked to approve": "notified: asked for approval",
    layout.ENDED: "notified: the request for approval ended",
    layout.TOO_FEW: "notified: too few people are left to approve",
}


@approvals.command("/approvals list", default=True)
async def list_requests(deps: Deps, turn: Turn) -> Result:
    """List the runs that wait for your approval, and those you asked for."""
    waiting = await ApprovalStore(deps.scripts).waiting()
    return shown(layout.request_list(await _of_person(deps, turn.user, waiting)))


@approvals.needs_you
async def waiting_for_me(deps: Deps, turn: Turn, reads: Reads) -> list[Need]:
    """Return the requests that a person may decide about, or has asked for, for Home."""
    shown = await _of_person(deps, turn.user, await ApprovalStore(deps.scripts).waiting(reads))
    return [Need(card.stored.request.asked_at, (layout.line(card),)) for card in shown]


async def _of_person(deps: Deps, user: str, waiting: Sequence[StoredRequest]) -> list[layout.Shown]:
    shown = []
    for stored in waiting:
        request = stored.request
        is_asker = user == request.asker
        if deps.now() >= request.until or (user in stored.approved_by and not is_asker):
            continue
        try:
            may_see = is_asker or await refusal_of_approver(deps, request, terms_of(request), user) is None
        except (TryLater, NotAllowed):
            may_see = False
        if may_see:
            shown.append(await deps.approvals.shown(deps, stored))
    return shown


@approvals.button(layout.REVIEW, label="button: Review a request")
async def review(deps: Deps, turn: Turn, click: Click) -> Result:
    """Show a request to somebody who may decide about it, in a form."""
    stored = await ApprovalStore(deps.scripts).get(click.value)
    if stored is None or stored.state.startswith(DRAFT):
        return shown(layout.over(""))
    is_asker = turn.user == stored.request.asker
    may_decide = stored.request.lets_asker or not is_asker
    if may_decide:
        try:
            await _check_approver(deps, stored, turn.user)
        except NotAllowed:
            if not is_asker:
                raise
            may_decide = False
    if stored.state != WAITING:
        return shown(layout.over(stored.state))
    offered: dict[Decides, bool] = {
        "approve": may_decide and turn.user not in stored.approved_by,
        "deny": may_decide,
        "withdraw": is_asker,
    }
    choices = [decides for decides, is_offered in offered.items() if is_offered]
    origin = await origin_of(deps, turn, editing=layout.Pressed.of(stored))
    link = await deps.approvals.link_for(deps, stored, turn.user)
    return layout.review_form(await deps.approvals.shown(deps, stored), link, choices, origin)


@approvals.form(layout.ReviewForm)
async def reviewed(deps: Deps, turn: Turn, submission: Submission, read: tuple[Decides, str]) -> Result:
    """Decide about the request that the form shows."""
    stored = await _of_button(deps, Origin.parse(submission.private_metadata).editing)
    return await _decide(deps, turn, stored, *read) if stored else shown(layout.over(""), OVER)


@approvals.button(layout.APPROVE, label="button: Approve")
@approvals.button(layout.WITHDRAW, label="button: Withdraw")
async def decide_pressed(deps: Deps, turn: Turn, click: Click) -> Result:
    """Count a person's approval, of which the last one queues the run; or withdraw a request of their own."""
    stored = await _pressed(deps, click)
    if not isinstance(stored, StoredRequest):
        return stored
    is_on_card = not (click.is_ephemeral or click.view)  # which its response_url replaces
    of_card = click.response_url if is_on_card else ""
    decides: Decides = "approve" if click.action_id == layout.APPROVE else "withdraw"
    return await _decide(deps, turn, stored, decides, of_card=of_card)


@approvals.button(layout.DENY, label="button: Deny")
async def deny(deps: Deps, turn: Turn, click: Click) -> Result:
    """Ask why a request is denied."""
    stored = await _pressed(deps, click)
    if not isinstance(stored, StoredRequest):
        return stored
    if over := _over(deps, stored):
        return over
    await _check_approver(deps, stored, turn.user)
    origin = await origin_of(deps, turn, editing=stored.id, thread_ts=click.thread_ts)
    return layout.denial_form(stored, origin)


@approvals.form(layout.DenialForm)
async def denied(deps: Deps, turn: Turn, submission: Submission, reason: str) -> Result:
    """Deny a request."""
    stored = await ApprovalStore(deps.scripts).get(Origin.parse(submission.private_metadata).editing)
    if stored is None:
        return shown(layout.over(""), OVER)
    return await _decide(deps, turn, stored, "deny", reason, of_card=submission.response_url)


def _over(deps: Deps, stored: StoredRequest) -> Outcome | None:
    """Say that a request no longer waits, if it doesn't."""
    if stored.state == WAITING and deps.now() < stored.request.until:
        return None
    return shown(layout.over(EXPIRED if stored.state == WAITING else stored.state), OVER)


async def _pressed(deps: Deps, click: Click) -> StoredRequest | Outcome:
    """Return the request whose button was pressed, if it's on its card, or shown to this person only."""
    store, stored = ApprovalStore(deps.scripts), await _of_button(deps, click.value)
    if stored is None:
        return shown(layout.over(""), OVER)
    is_private = click.is_ephemeral or bool(click.view) or click.channel.startswith("D")
    if is_private or (click.channel, click.message_ts) == (stored.request.channel, stored.card):
        return stored
    if not stored.card and click.channel == stored.request.channel:  # it's pressed before its post was recorded
        await deps.inbox.write(store.posted(stored.id, click.message_ts))
        if (again := await store.get(stored.id)) and again.card == click.message_ts:
            return again
    return shown(layout.IS_A_COPY, "a copy")


async def _of_button(deps: Deps, value: str) -> StoredRequest | None:
    """Return the request that the *value* of a button or a form names, if it shows that's input.

    Raises `ControlNotUnderstood`.
    """
    pressed = layout.pressed(value)
    stored = await ApprovalStore(deps.scripts).get(pressed.a)
    if stored is None or stored.state.startswith(DRAFT) or not stored.request.digest.startswith(pressed.h):
        return None
    return stored


async def _check_approver(deps: Deps, stored: StoredRequest, user: str) -> tuple[Judged, list[bool]]:
    """Return how a request stands, if *user* may decide about it, by the terms in force or else its own.

    The list says for which of the approvals that it takes theirs counts. Raises `NotAllowed`.
    """
    now = await judged(deps, stored.request)
    terms = (now.verdict.approval if now.verdict.is_allowed else None) or terms_of(stored.request)
    refusals = await refusals_of_approver(deps, stored.request if now.lost else now.request, terms, user)
    if None not in refusals:
        raise NotAllowed(refusals[0] or "")
    return now, [refusal is None for refusal in refusals]


async def _decide(
    deps: Deps, turn: Turn, stored: StoredRequest, decides: Decides, reason: str = "", *, of_card: str = ""
) -> Result:
    """Decide about a request as the person who pressed a button, and show it on the card, perhaps by a response_url.

    The person is judged by the rules in force now, and what was decided in this turn before is only shown again.
    """
    store, request, rule = ApprovalStore(deps.scripts), stored.request, stored.request.rule
    answer = "counted"
    if stored.of_turn(turn.id) is None:
        if over := _over(deps, stored):
            return over
        terms, lost, only = "", "", 0
        if decides == "withdraw":
            if turn.user != request.asker:
                raise NotAllowed("not_your_request")
        else:
            now, counts_for = await _check_approver(deps, stored, turn.user)
            only = 0 if all(counts_for) else counts_for.index(True) + 1
            is_allowed, rule = now.verdict.is_allowed, rule_of(now.verdict)
            terms = fingerprint(now.verdict.approval) if is_allowed else ""
            lost = now.lost or ("" if is_allowed else await deps.approvals.lost_by_asker(deps, now.request))
        ends: tuple[Write, ...] = (await _run(deps, stored, rule),) if decides == "approve" else ()
        if decides == "deny":
            denied_by = await deps.directory.user_name(turn.user)
            ends = deps.approvals.tells_asker(deps, stored, DENIED, denied_by, reason)
        redraws = await deps.approvals.redraws(deps, request)
        changed = (*await deps.approvals.changes(deps, stored, lost), *redraws)
        answer = await store.decide(
            turn,
            stored,
            decides,
            now=deps.now(),
            terms=terms,
            reason=reason,
            only=only,
            ends=(*ends, *redraws),
            changed=changed,
        )
    shows = await deps.approvals.edit_card(deps, stored.id, of_card) or stored
    outcome = {"approve": "approved", "deny": "denied", "withdraw": "request withdrawn"}[decides]
    outcome = outcome if answer == "counted" else "approval changed" if answer == "changed" else OVER
    return Outcome(what=outcome, reply=layout.decided(shows, answer, decides), **audited(shows, rule))


async def _run(deps: Deps, stored: StoredRequest, rule: str) -> Write:
    """Return the write that queues the run of a request.

    Its own card was posted by the asker's response_url if the bot isn't in the channel; by now, that may be used up.
    """
    request = stored.request
    is_outside = request.started_by is None and not await deps.directory.is_member(request.channel)
    run = ApprovedRun(
        team=request.team, channel=request.channel, user=request.asker, project=request.project,
        thread_ts=request.thread_ts, approval=stored.id, digest=request.digest, rule=rule,
        started_by=request.started_by, is_outside=is_outside,
    )  # fmt: skip
    return deps.inbox.queues(run, why="it was approved")


@approvals.button(layout.SAY_WHY, label="button: Say why")
async def open_reason(deps: Deps, turn: Turn, click: Click) -> Result:
    """Open the form that asks why a run is needed."""
    stored = await _draft(deps, turn, click.value)
    if stored is None:
        return shown(layout.over(""), OVER)
    origin = await origin_of(deps, turn, editing=stored.id, thread_ts=stored.request.thread_ts)
    return layout.reason_form(stored.request.name, origin)


@approvals.form(layout.ReasonForm)
async def reason_given(deps: Deps, turn: Turn, submission: Submission, reason: str) -> Result:
    """Ask for approval of the run that the form is about, once, with its reason."""
    store = ApprovalStore(deps.scripts)
    draft = await _draft(deps, turn, Origin.parse(submission.private_metadata).editing)
    if draft is None:
        return shown(layout.over(""), OVER)
    now = await judged(deps, draft.request.model_copy(update={"terms": ""}))  # which nobody has seen
    verdict = now.verdict
    if not verdict.is_allowed:
        await deps.policy.require(*asked_for(deps, now.request))  # says which rule refuses it
        raise NotAllowed("rule")
    if verdict.approval is None:
        raise ControlNotUnderstood(layout.ReasonForm.id)
    await deps.inbox.write(*store.takes_draft(draft.id, turn.id))
    request = with_terms(
        now.request.model_copy(update={"why": reason, "asked_at": deps.now()}), verdict.approval, rule_of(verdict)
    )
    return await deps.approvals.asked(deps, turn, request, draft.input, draft.id, after=f"{DRAFT} {turn.id}")


async def _draft(deps: Deps, turn: Turn, id_: str) -> StoredRequest | None:
    """Return a request of this person that isn't made yet."""
    stored = await ApprovalStore(deps.scripts).get(id_)
    is_theirs = (
        stored is not None and stored.request.asker == turn.user and stored.state in {DRAFT, f"{DRAFT} {turn.id}"}
    )
    return stored if is_theirs else None


# Cards, and what is due


@approvals.once_posted(RequestPosted)
async def request_posted(deps: Deps, turn: Turn, posted: RequestPosted, ts: str) -> None:  # noqa: ARG001 - as for all
    """Store where a card was posted, and notify the people who may approve it, if they're few."""
    store = ApprovalStore(deps.scripts)
    if ts:
        await deps.inbox.write(store.posted(posted.approval, ts))
    stored = await store.get(posted.approval)
    if stored is not None and (stored.state != WAITING or stored.decisions):  # decided before the card was known
        with suppress(TryLater):
            stored = await deps.approvals.edit_card(deps, stored.id)
    if stored is not None and stored.state == WAITING:
        await _notify(deps, stored, is_reminder=False)


@approvals.once_refused(RequestPosted)
async def card_refused(deps: Deps, turn: Turn, posted: RequestPosted, _error: str) -> None:
    """End a request whose card Slack rejects: its asker is notified of that."""
    turn.stage(*ApprovalStore(deps.scripts).ends(posted.approval, WITHDRAWN))


async def _notify(deps: Deps, stored: StoredRequest, *, is_reminder: bool) -> bool:
    """Notify the people who may approve a request and haven't, once each; False if they're many, or aren't known."""
    people = [user for user in await approvers(deps, stored.request) if user not in stored.approved_by]
    for user in people:
        notice = ApprovalDue(
            team=stored.request.team, channel=user, user=user, project=stored.request.project, approval=stored.id,
            what="still wanted" if is_reminder else "wanted",
        )  # fmt: skip
        await deps.inbox.put(notice, event=f"approval:{stored.id}:{notice.what}:{user}", why="it needs approval")
    return bool(people)


@approvals.once_posted(ApproverAsked)
async def approver_asked(deps: Deps, turn: Turn, asked: ApproverAsked, ts: str) -> None:
    """Do nothing: an earlier release stored which direct message a person got."""


@approvals.slots
async def due(deps: Deps, most: int) -> list[Slot]:
    """Return the reminders and the ends that are due; both are claimed only while their request waits."""
    store, now, slots = ApprovalStore(deps.scripts), deps.now(), []
    for id_, stored in await store.due(now, most):
        if stored is None or stored.state != WAITING:
            slots.append(Slot(id_, None, (store.forget(id_),)))
            continue
        request, what = stored.request, "end" if now >= stored.request.until else "reminder"
        body = ApprovalDue(
            team=request.team, channel=request.channel, user=request.asker, project=request.project, approval=id_,
            what="end" if what == "end" else "reminder", thread_ts=stored.card or request.thread_ts,
        )  # fmt: skip
        writes = store.reminds(stored)
        if what == "end":
            notices = deps.approvals.tells_asker(deps, stored, EXPIRED)
            writes = store.ends(id_, EXPIRED, *notices, *await deps.approvals.redraws(deps, request))
        slots.append(Slot(f"approval:{id_}:{what}", body, writes))
    return slots


@approvals.kind(ApprovalDue)
async def is_due(deps: Deps, turn: Turn, reached: ApprovalDue) -> Result:
    """Ask or remind those who may approve a request, or show that it's over."""
    try:
        stored = await ApprovalStore(deps.scripts).get(reached.approval)
    except RecordNotUnderstood:
        return Done("a newer version wrote this request")
    if stored is None:
        return Done("the request is gone")
    if reached.what != "end":
        if stored.state != WAITING or (reached.what != "reminder" and turn.user in stored.approved_by):
            return Done("the request is over")
        if reached.what != "reminder":
            view = await deps.approvals.shown(deps, stored)
            link = await deps.approvals.link_for(deps, stored, turn.user)
            reply = layout.wanted(view, link, is_reminder=reached.what == "still wanted")
            return Outcome(what="asked to approve", reply=reply)
        if await _notify(deps, stored, is_reminder=True):
            return Done("reminded")
        return Outcome(what="reminded", reply=layout.reminder(await deps.approvals.shown(deps, stored)))
    stored = await deps.approvals.edit_card(deps, stored.id) or stored
    if stored.state == WAITING:
        return Done("its card was redrawn")
    return Done("request expired" if stored.state == EXPIRED else "the request is over")
