"""Posting scheduled reports: `post` returns the outcome of a slot's turn, which is posted once."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from bridge.engine.results import Done, Outcome, Result
from bridge.engine.turn import Turn
from bridge.errors import ProjectError
from bridge.features.deps import Deps
from bridge.features.schedules.kind import SCHEDULES
from bridge.features.schedules.layout import small_print
from bridge.features.schedules.records import PostedReport, Report
from bridge.features.schedules.schedule import ReportSpec, span_of
from bridge.features.standing.slots import later, opened
from bridge.features.statistics.agents import agents_reply
from bridge.features.statistics.aggregating import WorkStore
from bridge.features.statistics.layout import with_below
from bridge.features.statistics.numbers import PARTS
from bridge.features.statistics.snapshots import Snapshot, snapshot_of
from bridge.queue.finished_turns import named
from bridge.slack.blockkit.mrkdwn import plain_command_text
from bridge.slack.blockkit.reply import Audience

MARK: Final = "bridge_report"
_A_DAY: Final = timedelta(days=1)
_A_WEEK: Final = timedelta(weeks=1)


async def post(deps: Deps, turn: Turn, report: Report) -> Result:
    """Return the outcome for a claimed slot. Raises what `opened` raises."""
    stored = await opened(deps, turn, SCHEDULES, report)
    if isinstance(stored, Done):
        return stored
    spec = stored.spec
    if not isinstance(spec, ReportSpec):
        return Done("it isn't a report")
    statistics = deps.statistics(turn.project)
    try:
        stats = await statistics.read()
    except ProjectError as exc:
        raise later(report, deps.now(), exc) from exc
    last = None if spec.compare else Snapshot.parse(stored.numbers)
    moment = deps.now() - span_of(spec.compare) if spec.compare else last.at if last else None
    work = WorkStore(deps.scripts)
    failed = await work.failed_since(moment or deps.now() - _A_DAY, deps.now(), turn.project.key)
    changes = await statistics.changes(stats, last=last, since=moment if spec.compare else None)
    if spec.only_if_changed and not report.is_asked_for and changes and not (changes.is_any or failed):
        return Done("nothing has changed since the last report")
    card = await statistics.card(
        stats,
        since=moment if spec.compare else None,
        last=last,
        only=spec.only or PARTS,
        audience=Audience.CHANNEL,
        is_report=True,
        failed=failed,
        zone=stored.clock,
    )
    if spec.agents:
        below, _file = await agents_reply(deps, turn.project, moment or deps.now() - _A_WEEK, audience=Audience.CHANNEL)
        card = card.model_copy(update={"replies": (*card.replies, below)})
    default = (await deps.channels.get(spec.team, report.channel)).of(turn.project_key).agent
    posted = PostedReport(
        report=stored.id,
        called=stored.called,
        slot=report.slot,
        words=plain_command_text("\n".join([card.text, *(one.text for one in card.replies)])),
        numbers=snapshot_of(stats, deps.now()).to_text(),
        binds=default is not None or bool(turn.project.default_agent),
    )
    asked_by = await deps.directory.user_name(turn.user) if report.is_asked_for else ""
    reply = with_below(card, *small_print(stored, asked_by))
    return Outcome(
        what="report", reply=reply, mark=MARK, after=(posted,), concerns=named("report", stored.id, stored.called)
    )
