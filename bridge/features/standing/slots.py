"""The slots of what's due at times: which are due, and whether what was set up may still happen.

Each slot gets exactly one turn: the step that queues it also advances the thing to its next slot (`DueStore.advance`,
`bridge.engine.clock`). That's a turn of a `DueJob`, which asks `opened` first. A slot that every process missed still
counts in the first half of the time to the next one. After that it's skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from bridge.ends.failures import failure
from bridge.engine.feature import Feature, Slot
from bridge.engine.results import Done, TryLater
from bridge.engine.turn import Turn
from bridge.errors import NotAllowed, ProjectError, RecordNotUnderstood
from bridge.features.deps import Deps
from bridge.features.standing.due import D
from bridge.features.standing.pauses import found, may_happen, why_not_start
from bridge.features.standing.records import DueJob
from bridge.features.standing.timed import TimedKind
from bridge.features.standing.times import is_too_late, last_due, next_due
from bridge.features.standing.zones import clock_called
from bridge.inbound import Notice
from bridge.policy.policy import UNREACHABLE
from bridge.queue.scripting import epoch_ms

log = logging.getLogger(__name__)

NO_CLOCK = "no clock"
"""The reason of what's paused because the bridge's machine doesn't know its time zone."""

_ASKED_FOR: Final = timedelta(hours=1)  # how late something requested by a button may be
_LONGEST_PAUSE: Final = timedelta(minutes=5)
_SHORTEST_PAUSE: Final = timedelta(seconds=5)


Body = Callable[[Deps, D, datetime], Awaitable[DueJob]]
"""Return what to queue for a slot."""


def occurs(feature: Feature, kind: TimedKind[D], body: Body[D]) -> None:
    """Have a *feature* queue the *body* of each slot, once."""
    feature.slots(partial(_slots, kind, body))


async def _slots(kind: TimedKind[D], body: Body[D], deps: Deps, most: int) -> list[Slot]:
    """Return due slots: the latest of each record, without a body if it's too late for it."""
    name, store, now, found = kind.name, kind.stored(deps), deps.now(), []
    for record, seen in await store.due(now, most):
        schedule = record.spec.schedule
        try:
            zone = clock_called(record.spec.zone)
        except RecordNotUnderstood:
            log.warning("this machine doesn't know a schedule's time zone", extra={name: record.id})
            found.append(Slot(record.id, None, store.pause(record.id, NO_CLOCK)))
            continue
        slot = last_due(schedule, zone, record.due, now)
        is_late = is_too_late(schedule, zone, slot, now)
        skipped = record.due if is_late or record.due < slot else None
        writes = store.advance(record.id, seen, next_due(schedule, zone, slot), skipped)
        queued = None if is_late else await body(deps, record, slot)
        found.append(Slot(f"{name}:{record.id}:{epoch_ms(slot)}", queued, writes))
    return found


async def opened(deps: Deps, turn: Turn, kind: TimedKind[D], due: DueJob) -> D | Done:
    """Return the thing whose slot is *due*, or why nothing happens; pause it if its owner may no longer have it.

    Raises `StoreUnavailable` and `TryLater`.
    """
    now = deps.now()
    record = await found(deps, kind, due.thing, though_paused=due.is_asked_for)
    if isinstance(record, Done):
        return record
    if due.is_asked_for:
        is_late = now - due.slot > _ASKED_FOR
    else:
        is_late = is_too_late(record.spec.schedule, clock_called(record.spec.zone), due.slot, now)
    if is_late:
        if not due.is_asked_for:
            await deps.inbox.write(*kind.stored(deps).skip(record.id, due.slot))
        return Done("it's too late for this slot")
    try:
        if (done := await may_happen(deps, turn, kind, record)) is not None:
            return done
    except ProjectError as exc:
        raise later(due, now, exc) from exc
    if due.is_asked_for:  # they might when they pressed the button
        wanted = await kind.rights(deps, record.spec, user=due.user, by="person")
        refusal = await why_not_start(deps, due.user, record.spec, *wanted)
        if refusal and refusal not in UNREACHABLE:
            notice = Notice.direct(due.team, due.user, refusal, failure(NotAllowed(refusal)).stored())
            await deps.inbox.write(deps.inbox.queues(notice, why="they may no longer start it"))
        if refusal:
            return Done(f"refused: {refusal}")
    return record


def later(due: DueJob, now: datetime, exc: ProjectError | None = None) -> TryLater:
    """Return how to wait for the service, or for a slot's predecessor: longer and longer."""
    log.info("a slot is waiting", extra={"kind": due.kind, "why": type(exc).__name__ if exc else "predecessor"})
    return TryLater(min(max((now - due.slot) / 8, _SHORTEST_PAUSE), _LONGEST_PAUSE))
