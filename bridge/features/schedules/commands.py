"""``/stats report`` and ``/stats reports``, with their buttons and their form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from zoneinfo import ZoneInfo

from bridge.engine.feature import Feature
from bridge.engine.results import Form, HomeChanged, PostedReport, Result, shown
from bridge.engine.turn import Turn
from bridge.errors import BadSchedule, NotAllowed
from bridge.features.deps import Deps
from bridge.features.schedules import layout
from bridge.features.schedules.phrases import find_zone
from bridge.features.schedules.reporter import due, post
from bridge.features.schedules.schedule import ReportSpec, StoredTask, next_due, read_report
from bridge.features.schedules.store import MOST_TASKS, due_report, store_of
from bridge.ids import ThreadKey
from bridge.inbound import Click, Notice, Report, Submission
from bridge.queue.audit import named
from bridge.queue.records import Write
from bridge.slack.blockkit.failures import sentence
from bridge.slack.blockkit.modals import FormErrors, Origin
from bridge.slack.blockkit.mrkdwn import mentions_in
from bridge.slack.blockkit.reply import Block

_DIGITS: Final = 5
_CHANGES: Final = {layout.PAUSE: "paused", layout.RESUME: "resumed"}

reports = Feature("reports")
reports.notice(layout.PAUSED)(layout.report_paused)
reports.notice(layout.CHANGED)(layout.report_changed)
reports.slots(due)
reports.labels["report, by hand"] = "report (Post now)"
reports.outcomes |= {
    "report": "posted",
    "report_paused": "notified: report paused",
    "report_changed": "notified: someone else changed the report",
    "exists": "the same report was already scheduled",
    "requested": "report requested",
}


@reports.command("/stats report [schedule]")
async def schedule_report(deps: Deps, turn: Turn, *, schedule: str = "") -> Result:
    """Post the statistics on a schedule, such as every Monday at 9. Leave it out to get a form."""
    await deps.access.check_runner(turn.user, "report")
    if not schedule:
        return await open_report_form(deps, turn)
    try:
        wanted = read_report(schedule)
        return await _schedule(deps, turn, wanted, await _channel_of(deps, wanted, turn))
    except BadSchedule as exc:
        return shown(layout.not_scheduled(exc), what=type(exc).__name__)


@reports.command("/stats reports")
async def list_reports(deps: Deps, turn: Turn) -> Result:
    """List scheduled reports, to pause, post or delete them."""
    return shown(layout.report_list(await _with_owners(deps, turn.user, 0)))


async def open_report_form(deps: Deps, turn: Turn) -> Result:
    """Open the form to schedule a report, for people who may."""
    await deps.access.check_runner(turn.user, "report")
    zone = await _zone_of(deps, turn.user) or "UTC"
    thread_ts = turn.thread.root if turn.thread else ""
    origin = Origin(channel=turn.channel, thread_ts=thread_ts, response_url=turn.response_url)
    return Form(layout.report_form(origin, zone), otherwise=layout.offer_report_form())


def read_report_form(values: Mapping[str, Any]) -> ReportSpec | FormErrors:
    """Parse the form; errors are shown under their fields."""
    try:
        return read_report(layout.form_words(values))
    except BadSchedule as exc:
        return FormErrors({layout.field_of(exc.part): sentence(exc)})


@reports.form(layout.FORM, label="form: Schedule report", reader=read_report_form)
async def form_sent(deps: Deps, turn: Turn, submission: Submission, wanted: ReportSpec) -> Result:
    """Schedule the report described in the form."""
    await deps.access.check_runner(turn.user, "report")
    try:
        return await _schedule(deps, turn, wanted, str(submission.values.get(layout.CHANNEL) or ""))
    except BadSchedule as exc:
        return shown(layout.not_scheduled(exc), what=type(exc).__name__)


@reports.button(layout.OPEN, label="button: Schedule report")
@reports.button(layout.PAGE, label="button: All reports")
@reports.button(layout.NEXT_PAGE, label="button: Next")
@reports.button(layout.PAUSE, label="button: Pause report")
@reports.button(layout.RESUME, label="button: Resume report")
@reports.button(layout.NOW, label="button: Post now")
@reports.button(layout.DELETE, label="button: Delete report")
async def pressed(deps: Deps, turn: Turn, click: Click) -> Result:
    """Handle a button of scheduled reports."""
    match click.action_id:
        case layout.OPEN:
            return await open_report_form(deps, turn)
        case layout.PAGE | layout.NEXT_PAGE:
            page = _page(click.value)
            listed = await _with_owners(deps, click.user, page)
            return shown(layout.report_list(listed, page, replaces_original=click.is_ephemeral))
        case _:
            return await _change(deps, turn, click)


async def _change(deps: Deps, turn: Turn, click: Click) -> Result:
    """Handle a button that changes or posts one report: its owner may, and people who may run workflows."""
    page, id_ = _page(click.value), click.value.partition(":")[2]
    stored = await store_of(deps).get(id_)
    if stored is None:
        return HomeChanged() if click.view else shown(layout.report_gone())
    if click.user != stored.spec.owner and not await deps.access.may_run(click.user):
        raise NotAllowed("not_yours")
    about, what = named("report", stored.id, stored.called), _CHANGES.get(click.action_id, "deleted")
    if click.action_id in {layout.NOW, layout.RESUME}:
        owner = stored.spec.owner
        if refusal := await deps.access.refusal_now(owner, stored.spec.channel, is_set_up=True):
            name = "" if owner == click.user else await deps.directory.user_name(owner)
            return shown(layout.may_not_post(refusal, name), f"refused: {refusal}", about)
    match click.action_id:
        case layout.NOW:
            body, event = due_report(stored, deps.now(), is_asked_for=True), f"report:{stored.id}:asked:{turn.id}"
            await deps.inbox.put(body, event=event, why="someone requested a report")
            return shown(layout.posting_now(), "requested", about)
        case layout.PAUSE:
            told = await _notice_of_change(deps, stored, click.user, is_deleted=False)
            await deps.inbox.write(*store_of(deps).pause(stored.id, layout.ASKED, *told))
        case layout.RESUME:
            if stored.paused:
                due_at = next_due(stored.spec.schedule, stored.clock, deps.now())
                await deps.inbox.write(*store_of(deps).resume(stored, due_at))
        case _:
            told = await _notice_of_change(deps, stored, click.user, is_deleted=True)
            await deps.inbox.write(*store_of(deps).delete(stored.id, *told))
    if click.view:
        return HomeChanged()
    deleted = None
    if what == "deleted":
        deleted = layout.report_deleted(stored, await deps.directory.user_name(stored.spec.owner))
    if deleted and click.value.startswith(f"{layout.ALONE}:"):
        return shown(deleted, what, about)
    listed = await _with_owners(deps, click.user, page)
    return shown(layout.report_list(listed, page, replaces_original=True, above=deleted), what, about)


async def _notice_of_change(deps: Deps, stored: StoredTask, by: str, *, is_deleted: bool) -> list[Write]:
    """Return the write that tells a report's owner what someone else did with it; none if it was the owner."""
    spec = stored.spec
    if by == spec.owner:
        return []
    what = layout.change_notice(stored, await deps.directory.user_name(by), is_deleted=is_deleted)
    notice = Notice(team=spec.team, channel=spec.owner, user=spec.owner, what=what, of="notice", is_offer=True)
    return [deps.inbox.queues(notice, why="someone changed a report")]


def _page(value: str) -> int:
    """Return the list's page from a button's value; 0 if it has none."""
    page = value.partition(":")[0]
    return int(page) if page.isascii() and page.isdecimal() and len(page) < _DIGITS else 0


async def _schedule(deps: Deps, turn: Turn, spec: ReportSpec, channel: str) -> Result:
    """Schedule a report, once for each turn. Raises `BadSchedule` and `StoreUnavailable`."""
    store = store_of(deps)
    if deps.access.not_listed("", channel):
        raise BadSchedule("disabled", spec.channel)
    if not channel or not await deps.directory.may_post(channel):  # as far as Slack says
        raise BadSchedule("channel", spec.channel)
    if await deps.access.refusal_now(turn.user, channel, is_set_up=True) == "left":
        raise BadSchedule("name", spec.channel)
    known_zone = spec.zone or await _zone_of(deps, turn.user)
    zone = known_zone or "UTC"
    who = {"team": turn.team, "owner": turn.user, "project": turn.project.key}
    spec = spec.model_copy(update={**who, "channel": channel, "zone": zone})
    for known in await store.all():
        if known.id != turn.id and known.is_same(spec):
            about = named("report", known.id, known.called)
            return shown(layout.report_exists(known, await deps.directory.user_name(known.spec.owner)), "exists", about)
    if await store.is_full():
        raise BadSchedule("many", f"{MOST_TASKS:,}")
    report = StoredTask(turn.id, spec, next_due(spec.schedule, ZoneInfo(zone), deps.now()))
    turn.stage(*store.add(report.id, spec, report.due, deps.now()))
    reply = layout.report_scheduled(report, knows_zone=bool(known_zone))
    return shown(reply, what="report scheduled", about=named("report", report.id, report.called))


async def _zone_of(deps: Deps, user: str) -> str:
    """Return a person's time zone; ``""`` if Slack doesn't say it."""
    try:
        return find_zone(await deps.directory.time_zone(user))
    except BadSchedule:
        return ""


async def _with_owners(deps: Deps, user: str, page: int) -> list[tuple[StoredTask, str]]:
    """Return the reports that *user* may know of by their next slots, paused ones last, with their owners' names.

    These are all but the reports in other people's direct messages. Names are looked up only for the reports shown on
    *page*; the others have ``""``. Raises `StoreUnavailable`.
    """
    known = [one for one in await _all(deps) if one.spec.owner == user or not one.spec.channel.startswith("D")]
    reports = sorted(known, key=lambda one: (bool(one.paused), one.due, one.id))
    places = layout.shown_on(page, len(reports))
    names = {place: await deps.directory.user_name(reports[place].spec.owner) for place in places}
    return [(report, names.get(place, "")) for place, report in enumerate(reports)]


async def _all(deps: Deps) -> list[StoredTask]:
    """Return all reports, with their projects' names; one whose project was removed counts as paused."""
    found = await store_of(deps).all()
    projects = deps.projects
    return [
        replace(
            one,
            paused=one.paused or ("" if projects.get(one.spec.project) else layout.REMOVED),
            project_name=projects.name_of(one.spec.project) if projects.is_several else "",
        )
        for one in found
    ]


async def _channel_of(deps: Deps, wanted: ReportSpec, turn: Turn) -> str:
    """Return the ID of the channel that was typed, or else of *turn*'s channel. Raises `BadSchedule`.

    Slack usually sends a channel's ID with its name; if it doesn't, the name is looked up.
    """
    if not wanted.channel:
        return turn.channel
    mentioned = mentions_in(getattr(turn.body, "text", "")).channels
    if mentioned:
        return mentioned[-1]
    found = await deps.directory.channel_called(wanted.channel, turn.user)
    if not found:
        raise BadSchedule("name", wanted.channel)
    return found


@reports.home_section
async def shown_in_home(deps: Deps, turn: Turn) -> list[Block]:
    """Return the section of Home with the person's own reports."""
    return layout.home_section(
        [
            one
            for one in await _all(deps)
            if (one.spec.team, one.spec.owner, one.spec.project) == (turn.team, turn.user, turn.project_key)
        ]
    )


@reports.kind(Report)
async def report_due(deps: Deps, turn: Turn, report: Report) -> Result:
    """Post a report for a claimed slot, or on request."""
    return await post(deps, turn, report)


@reports.once_posted(PostedReport)
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


@reports.once_refused(PostedReport)
async def report_refused(deps: Deps, turn: Turn, report: PostedReport, error: str) -> None:
    """Pause a report that Slack rejects, and notify its owner in a direct message, unless it's already paused."""
    what = layout.pause_notice(report.called, turn.channel, error)
    notice = Notice(team=turn.team, channel=turn.user, user=turn.user, what=what, of="report")
    turn.stage(*store_of(deps).pause(report.report, error, deps.inbox.queues(notice, why="a report was paused")))
