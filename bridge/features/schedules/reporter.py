"""Posting scheduled reports.

`due` lists due slots; one process claims each (`bridge.engine.clock`). From then on the post is a turn: `post`
returns its outcome, which is posted once, even if a process is killed in between.

A slot that every process missed is still posted in the first half of the time to the next one. After that it's skipped,
and the next post says so.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import timedelta
from typing import Final, assert_never

from bridge.engine.feature import Slot
from bridge.engine.results import Done, Outcome, PostedReport, Result, TryLater
from bridge.engine.turn import Turn
from bridge.errors import ProjectError, RecordNotUnderstood
from bridge.features.deps import Deps
from bridge.features.pauses import notify_of_pause
from bridge.features.schedules.layout import NO_CLOCK, PAUSED, REMOVED, pause_notice, small_print
from bridge.features.schedules.schedule import is_too_late, last_due, next_due, span_of
from bridge.features.schedules.store import due_report, store_of
from bridge.features.statistics.layout import with_below
from bridge.features.statistics.numbers import PARTS
from bridge.features.statistics.snapshots import Snapshot, snapshot_of
from bridge.inbound import Notice, Report
from bridge.queue.audit import named
from bridge.queue.inbox import Duplicate, Queued, Stale
from bridge.queue.scripting import epoch_ms
from bridge.slack.blockkit.mrkdwn import plain_command_text
from bridge.slack.blockkit.reply import Audience

log = logging.getLogger(__name__)

MARK: Final = "bridge_report"
_ASKED_FOR: Final = timedelta(hours=1)  # how late a report requested by a button may be
_LONGEST_PAUSE: Final = timedelta(minutes=5)
_SHORTEST_PAUSE: Final = timedelta(seconds=5)


async def due(deps: Deps, most: int) -> list[Slot]:
    """Return due slots: the latest of each report, without a body if it's too late to post it."""
    store, now, found = store_of(deps), deps.now(), []
    for stored, seen in await store.due(now, most):
        try:
            schedule, zone = stored.spec.schedule, stored.clock
        except RecordNotUnderstood:
            log.warning("this machine doesn't know a report's time zone", extra={"report": stored.id})
            found.append(Slot(stored.id, None, store.pause(stored.id, NO_CLOCK)))
            continue
        slot = last_due(schedule, zone, stored.due, now)
        is_late = is_too_late(schedule, zone, slot, now)
        skipped = stored.due if is_late or stored.due < slot else None
        writes = store.advance(stored.id, seen, next_due(schedule, zone, slot), skipped)
        found.append(
            Slot(f"report:{stored.id}:{epoch_ms(slot)}", None if is_late else due_report(stored, slot), writes)
        )
    return found


async def post(deps: Deps, turn: Turn, report: Report) -> Result:
    """Return the outcome for a claimed slot, or pause the report if its owner may no longer post it.

    Raises `StoreUnavailable` and `TryLater`.
    """
    store, now = store_of(deps), deps.now()
    try:
        stored = await store.get(report.report)
    except RecordNotUnderstood:
        return Done("a newer version wrote this report")
    if stored is None:
        return Done("the report was deleted")
    if stored.paused and not report.is_asked_for:
        return Done("the report is paused")
    if report.is_asked_for:
        is_late = now - report.slot > _ASKED_FOR
    else:
        is_late = is_too_late(stored.spec.schedule, stored.clock, report.slot, now)
    if is_late:
        if not report.is_asked_for:
            await deps.inbox.write(*store.skip(stored.id, report.slot))
        return Done("it's too late for the report")
    if refusal := await deps.access.refusal_now(stored.spec.owner, stored.spec.channel, is_set_up=True):
        pause, about = store.pause(stored.id, refusal), (PAUSED, stored.called)
        await notify_of_pause(deps, turn, stored.spec.owner, refusal, about, event=f"paused:{turn.id}", writes=pause)
        return Done(f"the report was paused: {refusal}")
    if deps.projects.get(stored.spec.project) is None:
        what = pause_notice(stored.called, turn.channel, REMOVED)
        owner = stored.spec.owner
        notice = Notice(team=turn.team, channel=owner, user=owner, what=what, of="report")
        writes = store.missed(stored.id)
        event = f"removed:{turn.id}"
        put = await deps.inbox.put(notice, event=event, why="its report's project was removed", writes=writes)
        match put:
            case Queued() | Duplicate() | Stale():  # if it's stale, they were told before
                return Done("its project was removed")
            case _:
                assert_never(put)
    statistics = deps.statistics(turn.project)
    try:
        stats = await statistics.read()
    except ProjectError as exc:
        waited = now - report.slot
        log.info("report is waiting for the service", extra={"report": stored.id, "why": type(exc).__name__})
        raise TryLater(min(max(waited / 8, _SHORTEST_PAUSE), _LONGEST_PAUSE)) from exc
    spec, last = stored.spec, None
    if stored.numbers and not spec.compare:
        with suppress(RecordNotUnderstood):
            last = Snapshot.from_text(stored.numbers)
    card = await statistics.card(
        stats,
        since=deps.now() - span_of(spec.compare) if spec.compare else None,
        last=last,
        only=spec.only or PARTS,
        audience=Audience.CHANNEL,
        is_report=True,
    )
    default = (await deps.channels.get(spec.team, report.channel)).of(turn.project_key).agent
    posted = PostedReport(
        report=stored.id,
        called=stored.called,
        slot=report.slot,
        words=plain_command_text("\n".join([card.text, *(one.text for one in card.replies)])),
        numbers=snapshot_of(stats, deps.now()).to_text(),
        binds=default is not None or (bool(deps.default_agent) and not turn.project_key),
    )
    reply = with_below(card, *small_print(stored))
    return Outcome(
        what="report", reply=reply, mark=MARK, after=(posted,), concerns=named("report", stored.id, stored.called)
    )
