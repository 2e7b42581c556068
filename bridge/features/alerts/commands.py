"""``/stats alert`` and ``/stats alerts``, with their buttons and their form, and the messages of alerts."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final

from pydantic import ValidationError

from bridge.engine.feature import Feature
from bridge.engine.results import Done, HomeChanged, Modal, Outcome, Result, TryLater, shown
from bridge.engine.turn import Turn
from bridge.errors import BadAlert, ControlNotUnderstood, ProjectError
from bridge.features.alerts import forms, layout
from bridge.features.alerts.alert import AlertSpec, Targets, preview
from bridge.features.alerts.conditions import TypedAlert, read_alert
from bridge.features.alerts.evaluating import check_owners, evaluate_all, look
from bridge.features.alerts.kind import ALERTS
from bridge.features.alerts.records import AlertEdge, PostedAlert
from bridge.features.alerts.store import AlertStore
from bridge.features.buttons import ALERT_FORM, ID
from bridge.features.deps import Deps
from bridge.features.episodes.telling import tell, unless_posted
from bridge.features.lookups import agent_by_id, before_each_run, workflow_by_id
from bridge.features.run_records import TriggeredRun
from bridge.features.standing.handling import changeable, listed, sets_up
from bridge.features.standing.layout import gone
from bridge.features.standing.pauses import found, may_happen, require_start
from bridge.features.standing.setting_up import exists, owned, set_up, zone_of
from bridge.ids import ThreadKey
from bridge.inbound import Click, InboundMessage, Submission
from bridge.names.folding import name_key
from bridge.names.matching import pick
from bridge.project.models import Workflow
from bridge.queue.finished_turns import named
from bridge.queue.keys import milliseconds
from bridge.queue.scripting import epoch_ms
from bridge.queue.writes import Write
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.modals import CHANNEL, Origin

MARK: Final = "bridge_alert"
_EDITS: Final = "edits"
"""In the value of the preview's button: the ID of the alert that it changes."""

_PREVIEWED: Final = timedelta(days=59)  # thirty days, and the longest period before

alerts = Feature("alerts")
sets_up(alerts, ALERTS, PostedAlert)
alerts.every(timedelta(minutes=1))(evaluate_all)
alerts.every(timedelta(hours=1))(check_owners)
alerts.outcomes |= {
    "alert": "alerted",
    "recovered": "recovered",
    "alert unknown": "couldn't check an alert for a day",
    "alert previewed": "previewed an alert",
}


async def _form(deps: Deps, turn: Turn, _typed: str | None) -> Modal:
    """Open the form that asks what to watch."""
    await deps.policy.require(turn.asked("alert"))
    return await ALERTS.form(deps, turn, None)


@alerts.command("/stats alert [condition]", opens=_form)
async def set_up_alert(deps: Deps, turn: Turn, *, condition: str) -> Result:
    """Post when something happens, such as runs < 1 in 24h. Leave it out to get a form."""
    await deps.policy.require(turn.asked("alert"))
    try:
        wanted = read_alert(condition)
    except BadAlert as exc:
        exc.form = layout.form_button()
        raise
    return await _preview(deps, turn, wanted)


@alerts.command("/stats alerts", read_only=True)
async def list_alerts(deps: Deps, turn: Turn, *, share: bool = False) -> Result:
    """List alerts, to pause, snooze or delete them."""
    return shown(await listed(ALERTS, deps, turn, share=share))


@alerts.form(forms.ChooseForm, *forms.WATCHES.values())
async def form_sent(deps: Deps, turn: Turn, submission: Submission, wanted: TypedAlert) -> Result:
    """Show the preview of the alert described in the form."""
    await deps.policy.require(turn.asked("alert"))
    chosen = str(submission.values.get("run") or "")
    workflow = await workflow_by_id(turn, int(chosen)) if ID.fullmatch(chosen) else None
    channel = str(submission.values.get(CHANNEL) or turn.channel)
    editing = Origin.parse(submission.private_metadata).editing
    return await _preview(deps, turn, wanted, channel, workflow=workflow, editing=editing)


async def _preview(
    deps: Deps,
    turn: Turn,
    wanted: TypedAlert,
    channel: str | None = None,
    *,
    workflow: Workflow | None = None,
    editing: str = "",
) -> Result:
    """Show what an alert would have done, before it's set up, or changes the one with the ID *editing*.

    What isn't edited stays the same agent or workflow, whatever has its name now. Raises `CommandError` and
    `ProjectError`.
    """
    before = await AlertStore(deps.scripts).get(editing) if editing else None
    same = before.spec.named_as(wanted) if before and ALERTS.is_readable(before) else Targets()
    if wanted.run:
        workflow = await _called(turn, "workflow", wanted.run, same.run)
    condition, target = wanted.condition, None
    if condition.of in {"agent", "workflow"}:
        chosen = await _called(turn, condition.of, condition.name, same.target)
        target = chosen.id
        if name_key(condition.name) != name_key(chosen.name):  # an ID, typed or from a form, or an earlier name
            condition = condition.called(chosen.name)
    typed = AlertSpec(
        condition=condition.words, zone=await zone_of(deps, turn.user) or "UTC", target=target, channel=wanted.channel,
        run=workflow.id if workflow else None, run_name=kit.cut(workflow.name, 200) if workflow else "",
    )  # fmt: skip
    spec = await owned(ALERTS, deps, turn, typed, channel)
    if there_already := await exists(ALERTS, deps, turn, spec, editing):
        return there_already
    since = deps.now() - _PREVIEWED if condition.is_of_statistics else None
    readings, verdict = await look(deps, turn.project, spec, since=since)
    would_have = preview(spec, readings.past.snapshots, readings)
    facts = spec.model_dump(exclude_defaults=True, exclude={"team", "owner", "project"})
    value = json.dumps(facts | ({_EDITS: editing} if editing else {}), ensure_ascii=False)
    is_known, is_new = verdict.may_hold, not editing
    warning = await before_each_run(deps, turn, spec.run, spec.channel, by="alert")
    shown_as, now = ALERTS.spec_apart(deps, spec), verdict.detail
    reply = layout.previewed(shown_as, value, would_have, now, is_known=is_known, is_new=is_new, warning=warning)
    return shown(reply, "alert previewed")


async def _called(turn: Turn, kind: str, typed: str, id_: int | None) -> Any:
    """Return the agent or workflow that's *typed*, or has a known ID. Raises `CommandError` and `ProjectError`."""
    if id_ is not None:
        return await (agent_by_id if kind == "agent" else workflow_by_id)(turn, id_)
    known = await turn.project.catalog.candidates(kind, typed)
    return pick(kind, typed, known, takes_rest=False, acts=True).item


@alerts.button(layout.SAVE, label="button: Create alert")
async def save(deps: Deps, turn: Turn, click: Click) -> Result:
    """Set up the previewed alert, once, or change the one that was edited; who changes it owns it from then on."""
    await deps.policy.require(turn.asked("alert"))
    try:
        spec = AlertSpec.model_validate_json(click.value)
        _condition, editing = spec.parsed, str(json.loads(click.value).get(_EDITS) or "")
    except (ValidationError, BadAlert) as exc:
        raise ControlNotUnderstood(click.action_id) from exc
    stored = await set_up(ALERTS, deps, turn, spec, spec.channel, editing=editing)
    if isinstance(stored, Outcome):
        return stored
    _readings, verdict = await look(deps, turn.project, stored.spec)
    warning = await before_each_run(deps, turn, stored.spec.run, stored.spec.channel, by="alert")
    set_up_now = ALERTS.told_apart(deps, stored)
    reply = layout.set_up(set_up_now, verdict.detail, is_known=verdict.may_hold, is_new=not editing, warning=warning)
    reply = reply.model_copy(update={"replaces_original": click.is_ephemeral or click.channel.startswith("D")})
    return shown(reply, "alert changed" if editing else "alert set up", named("alert", stored.id, stored.called))


@alerts.button(ALERT_FORM, label="button: Set up an alert")
async def open_form(deps: Deps, turn: Turn, click: Click) -> Result:
    """Open the form, with a previewed condition."""
    await deps.policy.require(turn.asked("alert"))
    return await ALERTS.form(deps, turn, None, "" if click.value == "-" else click.value)


@alerts.button(layout.SNOOZE, label="menu: Snooze alert")
async def snooze(deps: Deps, turn: Turn, click: Click) -> Result:
    """Snooze an alert: nothing is posted meanwhile when its condition begins to hold."""
    choice, page, id_ = (*click.value.split(":", 2), "", "")[:3]
    if choice not in layout.SNOOZES:
        raise ControlNotUnderstood(click.action_id)
    stored = await changeable(deps, turn, ALERTS, id_)
    if stored is None:
        return HomeChanged() if click.view else shown(gone(ALERTS))
    if choice == layout.UNSNOOZE:
        await require_start(deps, turn, stored.spec, *await ALERTS.rights(deps, stored.spec, user=turn.user))
    _text, length = layout.SNOOZES[choice]
    until = deps.now() + length if length else None
    value = str(epoch_ms(until)) if until else "" if choice == layout.UNSNOOZE else choice
    await deps.inbox.write(*AlertStore(deps.scripts).snooze(stored.id, value))
    about = named("alert", stored.id, stored.called)
    if click.view:
        return HomeChanged()
    if page:
        return shown(await listed(ALERTS, deps, turn, page, replaces_original=click.is_ephemeral), "snoozed", about)
    return shown(layout.snoozed(ALERTS.told_apart(deps, stored), until, choice), "snoozed", about)


@alerts.kind(AlertEdge)
async def edge_reached(deps: Deps, turn: Turn, reached: AlertEdge) -> Result:
    """Post that a condition holds, or in that message's thread that it's over; pause it if its owner has no access."""
    stored = await found(deps, ALERTS, reached.alert)
    if isinstance(stored, Done):
        return stored
    try:
        if (done := await may_happen(deps, turn, ALERTS, stored)) is not None:
            return done
    except ProjectError as exc:
        raise TryLater from exc
    if reached.is_check:
        return Done("its owner has access again")
    about_it, stored = named("alert", stored.id, stored.called), ALERTS.told_apart(deps, stored)
    if reached.is_unknown:
        reply = layout.unknown(stored, reached.detail)
        return Outcome(what="alert unknown", reply=reply, mark=MARK, concerns=about_it)
    if reached.ended is not None:
        facts = (stored, reached.detail, reached.since, reached.ended)
        over, recovered = layout.over(*facts), layout.recovered(*facts)
        return await tell(deps, turn, reached, over, recovered, what="recovered", mark=MARK, about=about_it)
    name = await deps.directory.user_name(stored.spec.owner)
    reply = layout.begun(stored, reached.detail, reached.facts, reached.since, name, project=turn.project_name)
    text = layout.alert_text(stored.called, reached.detail, reached.facts)
    posted = PostedAlert(alert=stored.id, called=layout.typed_words(stored.spec), since=reached.since, text=text)
    return Outcome(what="alert", reply=reply, mark=MARK, after=(posted,), concerns=about_it)


@alerts.once_posted(PostedAlert)
async def alert_posted(deps: Deps, turn: Turn, alert: PostedAlert, ts: str) -> None:
    """Store where an alert was posted, and queue the workflow that it runs, in the same step."""
    if not ts:
        return
    stored = await AlertStore(deps.scripts).get(alert.alert)
    words = deps.scripts.keys.words(ThreadKey(turn.team, turn.channel, ts))
    more: list[Write] = [("set", words, milliseconds(deps.session_lifetime), alert.text)]
    if stored and stored.spec.run is not None:
        message = InboundMessage(
            team=turn.team, channel=turn.channel, user=turn.user, project=turn.project_key, source="app",
            text=kit.escape(alert.text), ts=ts, app_name="an alert",
        )  # fmt: skip
        run = TriggeredRun(
            team=turn.team, channel=turn.channel, user=turn.user, project=turn.project_key,
            workflow=stored.spec.run, message=message, is_alert=True,
        )  # fmt: skip
        more.append(deps.inbox.queues(run, why="an alert runs it"))
    key = deps.scripts.keys.alert(alert.alert)
    turn.stage(*unless_posted(key, alert.since, ("field", key, 0, "post", ts), *more))
