"""The way of a report to its channel.

Every process looks for what is due, twice a second, with one look into the index; whoever finds something claims the
slot, and one wins (`ReportStore.claim`). From then on the post is a turn: `post` says what is shown
about it, and the journal sees to it that it is posted once, whoever is killed in between.

A slot that everybody missed is posted late if less than half of the time to the next one is over; else it is skipped,
and the next post says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from bridge.errors import ProjectError, RecordNotUnderstood, StoreUnavailable
from bridge.features.reports.keeping import Reports, ReportStore
from bridge.features.reports.layout import NO_CLOCK, small_print
from bridge.features.reports.schedule import StoredReport, is_too_late, last_due, next_due, span_of
from bridge.features.results import Done, Outcome, PostedReport, Result, TryLater
from bridge.features.shared.numbers import PARTS
from bridge.features.shared.snapshots import Snapshot, snapshot_of
from bridge.inbound import Report
from bridge.project.models import Stats
from bridge.slack.blockkit.mrkdwn import plain_command_text
from bridge.slack.blockkit.reply import Audience

log = logging.getLogger(__name__)

MARK: Final = "bridge_report"
_EVERY: Final = timedelta(seconds=0.5)
_AT_ONCE: Final = 100  # reports that are claimed before the next look
_ASKED_FOR: Final = timedelta(hours=1)  # how late one may be that somebody wanted at once
_LONGEST_PAUSE: Final = timedelta(minutes=5)
_SHORTEST_PAUSE: Final = timedelta(seconds=5)


class Reporter:
    """Claims the slots of reports as they become due."""

    def __init__(self, store: ReportStore, now: Callable[[], datetime], *, every: timedelta = _EVERY) -> None:
        self._store = store
        self._now = now
        self._every = every

    async def run(self, draining: asyncio.Event) -> None:
        """Look for what is due until *draining* is set."""
        was_away = False
        while not draining.is_set():
            try:
                found, was_away = await self.claim_due(), False
            except StoreUnavailable as exc:
                found = 0
                if not was_away:
                    log.warning("redis is not available, reports wait for it", extra={"reason": exc.reason})
                was_away = True
            if found < _AT_ONCE:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._every.total_seconds()):
                        await draining.wait()

    async def claim_due(self) -> int:
        """Claim what is due now; returns how many reports that were. Raises `StoreUnavailable`."""
        due = await self._store.due(_AT_ONCE)
        for kept in due:
            try:
                await self._claim(kept)
            except RecordNotUnderstood:
                log.warning("this machine does not know the time zone of a report", extra={"report": kept.id})
                await self._store.pause(kept.id, NO_CLOCK)
        return len(due)

    async def _claim(self, kept: StoredReport) -> None:
        schedule, zone, now = kept.spec.schedule, kept.clock, self._now()
        slot = last_due(schedule, zone, kept.due, now)
        following = next_due(schedule, zone, slot)
        is_late = is_too_late(schedule, zone, slot, now)
        skipped = kept.due if is_late or kept.due < slot else None
        claimed = await self._store.claim(kept, following=following, slot=None if is_late else slot, skipped=skipped)
        if claimed != "taken":
            log.info("a report was due", extra={"report": kept.id, "claimed": claimed})


async def post(reports: Reports, report: Report) -> Result:
    """Make the post of a slot that was claimed. Raises `StoreUnavailable` and `TryLater`."""
    try:
        kept = await reports.store.get(report.report)
    except RecordNotUnderstood:
        return Done("a newer release wrote this report")
    if kept is None:
        return Done("the report is not kept any more")
    if kept.paused and not report.is_asked_for:
        return Done("the report is paused")
    if report.is_asked_for:
        is_late = reports.now() - report.slot > _ASKED_FOR
    else:
        is_late = is_too_late(kept.spec.schedule, kept.clock, report.slot, reports.now())
    if is_late:
        if not report.is_asked_for:
            await reports.store.skip(kept.id, report.slot)
        return Done("it is too late for the report")
    try:
        stats = await reports.statistics.read()
    except ProjectError as exc:
        waited = reports.now() - report.slot
        log.info("a report waits for the service", extra={"report": kept.id, "why": type(exc).__name__})
        raise TryLater(min(max(waited / 8, _SHORTEST_PAUSE), _LONGEST_PAUSE)) from exc
    return await _post(reports, kept, report, stats)


async def _post(reports: Reports, kept: StoredReport, report: Report, stats: Stats) -> Outcome:
    spec, last = kept.spec, None
    if kept.numbers and not spec.compare:
        with suppress(RecordNotUnderstood):
            last = Snapshot.from_text(kept.numbers)
    card = await reports.statistics.card(
        stats,
        since=reports.now() - span_of(spec.compare) if spec.compare else None,
        last=last,
        only=spec.only or PARTS,
        audience=Audience.CHANNEL,
    )
    default = await reports.sessions.channel_default(spec.team, report.channel)
    posted = PostedReport(
        report=kept.id,
        called=kept.called,
        slot=report.slot,
        words=plain_command_text(card.text),
        numbers=snapshot_of(stats, reports.now()).to_text(),
        binds=default is not None or reports.has_default_agent,
    )
    below = small_print(kept)  # below each form that the card may take
    plainer = tuple((*form, *below) for form in card.plainer)
    reply = card.model_copy(update={"blocks": (*card.blocks, *below), "plainer": plainer})
    return Outcome(what="report", reply=reply, mark=MARK, after=(posted,), concerns=f"report {kept.id}")
