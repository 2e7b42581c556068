"""``/stats report`` and ``/stats reports``, and what their buttons and their form do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bridge.errors import BadSchedule, NotAllowed
from bridge.features.deps import Deps
from bridge.features.feature import Feature
from bridge.features.reports import layout as blocks
from bridge.features.reports.keeping import Reports
from bridge.features.reports.reporter import due, post
from bridge.features.reports.schedule import ReportSpec, read_report
from bridge.features.results import Form, HomeChanged, PostedReport, Result, shown
from bridge.features.shared.lookups import check_runner
from bridge.ids import ThreadKey
from bridge.inbound import Click, Notice, Report, Submission
from bridge.queue.audit import named
from bridge.queue.turn import Turn
from bridge.slack.blockkit.failures import sentence
from bridge.slack.blockkit.modals import FormErrors, Origin
from bridge.slack.blockkit.mrkdwn import mentions_in
from bridge.slack.blockkit.reply import Block

_DIGITS: Final = 5
_CHANGES: Final = {blocks.PAUSE: "paused", blocks.RESUME: "resumed"}

reports = Feature("reports")
reports.notice(blocks.PAUSED)(blocks.told_paused)
reports.slots(due)


@reports.command(
    "/stats report [schedule]",
    "Have the statistics posted on time: daily 09:00, weekly mon 09:00, …; without words, a form asks.",
)
async def keep_report(deps: Deps, turn: Turn, *, schedule: str = "") -> Result:
    """Have the statistics posted on time: daily 09:00, weekly mon 09:00, …; without words, a form asks."""
    await check_runner(deps, turn.user)
    if not schedule:
        return await open_report_form(deps, turn)
    wanted = read_report(schedule)
    return await _keep(deps, turn, wanted, await _meant(deps, wanted, turn))


@reports.command("/stats reports", "List the scheduled reports, to pause, run or delete them.")
async def list_reports(deps: Deps, turn: Turn) -> Result:  # noqa: ARG001 - every command gets a turn
    """List the scheduled reports, to pause, run or delete them."""
    return shown(blocks.report_list(await Reports.of(deps).listed(0)))


async def open_report_form(deps: Deps, turn: Turn) -> Result:
    """Open the form, for who may keep reports."""
    await check_runner(deps, turn.user)
    zone, _why = await Reports.of(deps).zone_of(turn.user)
    thread_ts = turn.thread.root if turn.thread else ""
    origin = Origin(channel=turn.channel, thread_ts=thread_ts, response_url=turn.response_url)
    return Form(blocks.report_form(origin, zone), otherwise=blocks.offer_report_form())


def read_report_form(values: Mapping[str, Any]) -> ReportSpec | FormErrors:
    """Read the form; what is wrong is said under its field."""
    try:
        return read_report(blocks.form_words(values))
    except BadSchedule as exc:
        return FormErrors({blocks.field_of(exc.part): sentence(exc)})


@reports.form(blocks.FORM, reader=read_report_form)
async def form_sent(deps: Deps, turn: Turn, submission: Submission, wanted: ReportSpec) -> Result:
    """Keep the report that a form asks for."""
    await check_runner(deps, turn.user)
    return await _keep(deps, turn, wanted, str(submission.values.get(blocks.CHANNEL) or ""))


@reports.button(*blocks.BUTTONS)
async def pressed(deps: Deps, turn: Turn, click: Click) -> Result:
    """Do what a button of the reports says."""
    match click.action_id:
        case blocks.OPEN:
            return await open_report_form(deps, turn)
        case blocks.PAGE | blocks.NEXT_PAGE:
            page = _page(click.value)
            listed = await Reports.of(deps).listed(page)
            return shown(blocks.report_list(listed, page, replaces_original=click.is_ephemeral))
        case _:
            return await _change(deps, turn, click)


async def _change(deps: Deps, turn: Turn, click: Click) -> Result:
    """Do what a button of a report says, if this person may."""
    page, id_ = _page(click.value), click.value.partition(":")[2]
    kept = await Reports.of(deps).store.get(id_)
    if kept is None:
        return HomeChanged() if click.view else shown(blocks.report_not_kept())
    if click.user != kept.spec.owner and not await deps.access.may_run(click.user):
        raise NotAllowed("not_yours")
    about, what = named("report", kept.id), _CHANGES.get(click.action_id, "deleted")
    match click.action_id:
        case blocks.NOW:
            await Reports.of(deps).post_now(kept, turn.id)
            return shown(blocks.posting_now(), "requested", about)
        case blocks.PAUSE:
            await deps.inbox.write(*Reports.of(deps).store.pause(kept.id, blocks.ASKED))
        case blocks.RESUME:
            await Reports.of(deps).resume(kept)
        case _:
            await deps.inbox.write(*Reports.of(deps).store.forget(kept.id))
    if click.view:
        return HomeChanged()
    if click.value.startswith(f"{blocks.ALONE}:"):
        return shown(blocks.report_deleted(), what, about)
    listed = blocks.report_list(await Reports.of(deps).listed(page), page, replaces_original=True)
    return shown(listed, what, about)


def _page(value: str) -> int:
    """Read the page of the list that a button stands on, or leads to."""
    page = value.partition(":")[0]
    return int(page) if page.isascii() and page.isdecimal() and len(page) < _DIGITS else 0


async def _keep(deps: Deps, turn: Turn, wanted: ReportSpec, channel: str) -> Result:
    store, team, owner = Reports.of(deps), turn.team, turn.user
    report, why_zone, writes = await store.keep(wanted, id_=turn.id, team=team, channel=channel, owner=owner)
    turn.stage(*writes)
    return shown(blocks.report_kept(report, why_zone), what="report kept", about=named("report", report.id))


async def _meant(deps: Deps, wanted: ReportSpec, turn: Turn) -> str:
    """Find the channel that is meant. Raises `BadSchedule`.

    Mostly Slack has put its id behind the name that was typed; where it hasn't, the name is looked up.
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
    """Show a person's own reports."""
    return blocks.home_section(
        [one for one in await Reports.of(deps).store.all() if (one.spec.team, one.spec.owner) == (turn.team, turn.user)]
    )


@reports.kind(Report)
async def report_due(deps: Deps, turn: Turn, report: Report) -> Result:  # noqa: ARG001 - every handler gets a turn
    """Post a report for a slot that was claimed."""
    return await post(Reports.of(deps), report)


@reports.once_posted(PostedReport)
async def report_posted(deps: Deps, turn: Turn, report: PostedReport, ts: str) -> None:
    """Keep what a later report and the first question in its thread need of one that stands in Slack as *ts*."""
    if not ts:
        return
    store = Reports.of(deps).store
    kept = await store.get(report.report)
    turn.stage(*store.posted(report, ThreadKey(turn.team, turn.channel, ts), kept.skipped if kept else None))


@reports.once_refused(PostedReport)
async def report_refused(deps: Deps, turn: Turn, report: PostedReport, error: str) -> None:
    """Pause a report that Slack does not take, and tell its owner in a direct message: once, in a turn."""
    what = blocks.pause_notice(report.called, turn.channel, error)
    notice = Notice(team=turn.team, channel=turn.user, user=turn.user, what=what, of="report")
    pause = Reports.of(deps).store.pause(report.report, error)
    await deps.inbox.put(notice, event=f"paused:{turn.id}", why="a report was paused", writes=pause)
