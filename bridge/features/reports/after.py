"""What is left to do once a scheduled report was posted, or once Slack has said that it will not be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bridge.features.outcome import Outcome, PostedReport
from bridge.features.plan import PostReport
from bridge.features.reports.keeping import ReportStore
from bridge.features.reports.layout import pause_notice
from bridge.ids import ThreadKey
from bridge.inbound import Notice
from bridge.queue.lanes import Taken
from bridge.queue.patience import Patience

MARK: Final = "bridge_report"


def report_outcome(plan: PostReport) -> Outcome:
    """Make the outcome that posts a report."""
    return Outcome(what="report", reply=plan.reply, mark=MARK, report=plan.posted)


@dataclass(frozen=True, slots=True)
class AfterReports:
    """Keeps what is needed of a post. All of it may be repeated."""

    store: ReportStore
    patience: Patience

    async def posted(self, taken: Taken, report: PostedReport, ts: str) -> None:
        """Keep what a later report and the first question in its thread need of one that stands in Slack as *ts*."""
        thread = ThreadKey(taken.turn.body.team, taken.turn.body.channel, ts)
        words, numbers, binds = report.words, report.numbers, report.binds
        await self.patience.through_outages(
            lambda: self.store.posted(report.report, report.slot, thread, words=words, numbers=numbers, binds=binds)
        )

    async def refused(self, taken: Taken, report: PostedReport, error: str) -> None:
        """Pause a report that Slack does not take, and tell its owner in a direct message: once, in a turn."""
        body = taken.turn.body
        what = pause_notice(report.called, body.channel, error)
        notice = Notice(team=body.team, channel=body.user, user=body.user, what=what, of="report")
        await self.patience.through_outages(lambda: self.store.pause(report.report, error, notice))
