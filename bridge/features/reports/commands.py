"""``/stats report`` and ``/stats reports``, and what their buttons and their form do."""

from __future__ import annotations

from typing import Final

from bridge.errors import BadSchedule, NotAllowed
from bridge.features.deps import Call, Deps
from bridge.features.home.commands import redrawn
from bridge.features.plan import OpenForm, Plan, Show
from bridge.features.reports import layout as blocks
from bridge.features.reports.schedule import ReportSpec, StoredReport, read_report
from bridge.features.routing import Router
from bridge.features.workflows.forms import Origin
from bridge.features.workflows.running import check_runner
from bridge.inbound import Click, Submission
from bridge.queue.audit import named
from bridge.slack.blockkit.failures import sentence

BUTTONS: Final = blocks.BUTTONS
_DIGITS: Final = 5
_CHANGES: Final = {blocks.PAUSE: "paused", blocks.RESUME: "resumed"}

router = Router()


@router.command(
    "/stats report [schedule]",
    "Have the statistics posted on time: daily 09:00, weekly mon 09:00, …; without words, a form asks.",
)
async def keep_report(deps: Deps, call: Call, *, schedule: str = "") -> Plan:
    """Have the statistics posted on time: daily 09:00, weekly mon 09:00, …; without words, a form asks."""
    await check_runner(deps, call.user)
    if not schedule:
        return await open_report_form(deps, call)
    wanted = read_report(schedule)
    return await _keep(deps, call, wanted, await _meant(deps, wanted, call))


@router.command("/stats reports", "List the scheduled reports, to pause, run or delete them.")
async def list_reports(deps: Deps, call: Call) -> Plan:  # noqa: ARG001 - every command gets a call
    """List the scheduled reports, to pause, run or delete them."""
    return Show(blocks.report_list(await deps.reports.listed(0)))


async def open_report_form(deps: Deps, call: Call) -> Plan:
    """Open the form, for who may keep reports."""
    await check_runner(deps, call.user)
    zone, _why = await deps.reports.zone_of(call.user)
    thread_ts = call.thread.root if call.thread else ""
    origin = Origin(channel=call.channel, thread_ts=thread_ts, response_url=call.response_url)
    return OpenForm(blocks.report_form(origin, zone), otherwise=blocks.offer_report_form())


async def report_form_sent(deps: Deps, call: Call, submission: Submission) -> Plan:
    """Keep the report that a form asks for."""
    await check_runner(deps, call.user)
    wanted = read_report(blocks.form_words(submission.values))
    return await _keep(deps, call, wanted, str(submission.values.get(blocks.CHANNEL) or ""))


def problems_of(submission: Submission) -> dict[str, str]:
    """Say what is wrong with a form, by the field under which it is shown."""
    try:
        read_report(blocks.form_words(submission.values))
    except BadSchedule as exc:
        return {blocks.field_of(exc.part): sentence(exc)}
    return {}


async def pressed(deps: Deps, call: Call, click: Click) -> Plan:
    """Do what one of `BUTTONS` says."""
    match click.action_id:
        case blocks.OPEN:
            return await open_report_form(deps, call)
        case blocks.PAGE | blocks.NEXT_PAGE:
            return await _turn_page(deps, click)
        case _:
            return await _change(deps, call, click)


async def _turn_page(deps: Deps, click: Click) -> Plan:
    page = _page(click.value)
    return Show(blocks.report_list(await deps.reports.listed(page), page, replaces_original=click.is_ephemeral))


async def _change(deps: Deps, call: Call, click: Click) -> Plan:
    """Do what a button of a report says, if this person may."""
    page, id_ = _page(click.value), click.value.partition(":")[2]
    kept = await deps.reports.store.get(id_)
    if kept is None:
        return await redrawn(deps, call, click) if click.view else Show(blocks.report_not_kept())
    await _check_keeper(deps, click.user, kept)
    about, what = named("report", kept.id), _CHANGES.get(click.action_id, "deleted")
    match click.action_id:
        case blocks.NOW:
            await deps.reports.post_now(kept, call.turn)
            return Show(blocks.posting_now(), "requested", about)
        case blocks.PAUSE:
            await deps.reports.store.pause(kept.id, blocks.ASKED)
        case blocks.RESUME:
            await deps.reports.resume(kept)
        case _:
            await deps.reports.store.forget(kept.id)
    if click.view:
        return await redrawn(deps, call, click)
    if click.value.startswith(f"{blocks.ALONE}:"):
        return Show(blocks.report_deleted(), what, about)
    listed = blocks.report_list(await deps.reports.listed(page), page, replaces_original=True)
    return Show(listed, what, about)


def _page(value: str) -> int:
    """Read the page of the list that a button stands on, or leads to."""
    page = value.partition(":")[0]
    return int(page) if page.isascii() and page.isdecimal() and len(page) < _DIGITS else 0


async def _check_keeper(deps: Deps, user: str, kept: StoredReport) -> None:
    """Let only its owner and who may keep reports go on. Raises `NotAllowed`."""
    if user != kept.spec.owner and not await deps.may_run(user):
        raise NotAllowed("not_yours")


async def _keep(deps: Deps, call: Call, wanted: ReportSpec, channel: str) -> Plan:
    report, why_zone = await deps.reports.keep(wanted, id_=call.turn, team=call.team, channel=channel, owner=call.user)
    return Show(blocks.report_kept(report, why_zone), what="report kept", about=named("report", report.id))


async def _meant(deps: Deps, wanted: ReportSpec, call: Call) -> str:
    """Find the channel that is meant. Raises `BadSchedule`.

    Mostly Slack has put its id behind the name that was typed; where it hasn't, the name is looked up.
    """
    if not wanted.channel:
        return call.channel
    if call.channels:
        return call.channels[-1]
    found = await deps.reports.directory.channel_called(wanted.channel, call.user)
    if not found:
        raise BadSchedule("name", wanted.channel)
    return found
