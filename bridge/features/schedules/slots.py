"""The slots of tasks: which are due, and whether what was scheduled may still happen.

`due` lists due slots; one process claims each (`bridge.engine.clock`). From then on it's a turn, which asks `opened`
first. A slot that every process missed still counts in the first half of the time to the next one. After that it's
skipped, and the next post says so.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Final

from bridge.ends.failures import failure
from bridge.engine.results import Done, TryLater
from bridge.engine.turn import Turn
from bridge.errors import NotAllowed, ProjectError
from bridge.features.deps import Deps
from bridge.features.schedules.kind import SCHEDULES, continued
from bridge.features.schedules.records import Report, ScheduledTask
from bridge.features.schedules.schedule import Spec, StoredTask
from bridge.features.schedules.store import TaskStore, due_task
from bridge.features.standing.pauses import found, may_happen, why_not_start
from bridge.features.standing.times import is_too_late
from bridge.inbound import Notice
from bridge.policy.policy import UNREACHABLE

log = logging.getLogger(__name__)

_ASKED_FOR: Final = timedelta(hours=1)  # how late a task requested by a button may be
_LONGEST_PAUSE: Final = timedelta(minutes=5)
_SHORTEST_PAUSE: Final = timedelta(seconds=5)


async def body_of(deps: Deps, stored: StoredTask, slot: datetime) -> Report | ScheduledTask:
    """Return what to queue for a *slot* of a task. Raises `StoreUnavailable`."""
    return due_task(stored, slot, thread_ts=await continued(deps, stored))


async def opened(deps: Deps, turn: Turn, slot: Report | ScheduledTask, id_: str) -> StoredTask | Done:
    """Return the task of a claimed *slot*, or why nothing happens; pause it if its owner may no longer have it.

    Raises `StoreUnavailable` and `TryLater`.
    """
    now = deps.now()
    stored = await found(deps, SCHEDULES, id_, though_paused=slot.is_asked_for)
    if isinstance(stored, Done):
        return stored
    if slot.is_asked_for:
        is_late = now - slot.slot > _ASKED_FOR
    else:
        is_late = is_too_late(stored.spec.schedule, stored.clock, slot.slot, now)
    if is_late:
        if not slot.is_asked_for:
            await deps.inbox.write(*TaskStore(deps.scripts).skip(stored.id, slot.slot))
        return Done("it's too late for this slot")
    try:
        if (done := await may_happen(deps, turn, SCHEDULES, stored)) is not None:
            return done
    except ProjectError as exc:
        raise later(slot, now, exc) from exc
    if slot.is_asked_for and (refusal := await _refusal_of_asker(deps, slot, stored.spec)):
        return Done(f"refused: {refusal}")
    return stored


async def _refusal_of_asker(deps: Deps, slot: Report | ScheduledTask, spec: Spec) -> str | None:
    """Return why the person who requested a *slot* may not do so, and tell them; None if they may.

    They were asked when they pressed the button. Raises `TryLater` and `ProjectError`.
    """
    wanted = await SCHEDULES.rights(deps, spec, user=slot.user, by="person")
    refusal = await why_not_start(deps, slot.user, spec, *wanted)
    if refusal and refusal not in UNREACHABLE:
        reply = failure(NotAllowed(refusal)).stored()
        notice = Notice.direct(slot.team, slot.user, refusal, reply)
        await deps.inbox.write(deps.inbox.queues(notice, why="they may no longer start it"))
    return refusal


def later(slot: Report | ScheduledTask, now: datetime, exc: ProjectError | None = None) -> TryLater:
    """Return how to wait for the service, or for a task's predecessor: longer and longer."""
    log.info("a slot is waiting", extra={"kind": slot.kind, "why": type(exc).__name__ if exc else "predecessor"})
    return TryLater(min(max((now - slot.slot) / 8, _SHORTEST_PAUSE), _LONGEST_PAUSE))
