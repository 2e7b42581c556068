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
from bridge.engine.feature import Slot
from bridge.engine.results import Done, TryLater
from bridge.engine.turn import Turn
from bridge.errors import NotAllowed, ProjectError, RecordNotUnderstood
from bridge.features.deps import Deps
from bridge.features.schedules.kind import SCHEDULES, continued
from bridge.features.schedules.records import Report, ScheduledTask
from bridge.features.schedules.schedule import (
    Spec,
    StoredTask,
    is_too_late,
    last_due,
    next_due,
)
from bridge.features.schedules.store import TaskStore, due_task
from bridge.features.standing.pauses import NO_CLOCK, pause, tell_of_removal, why_not_start
from bridge.inbound import Notice
from bridge.policy.policy import UNREACHABLE
from bridge.queue.scripting import epoch_ms

log = logging.getLogger(__name__)

_ASKED_FOR: Final = timedelta(hours=1)  # how late a task requested by a button may be
_LONGEST_PAUSE: Final = timedelta(minutes=5)
_SHORTEST_PAUSE: Final = timedelta(seconds=5)


async def due(deps: Deps, most: int) -> list[Slot]:
    """Return due slots: the latest of each task, without a body if it's too late for it."""
    store, now, found = TaskStore(deps.scripts), deps.now(), []
    for stored, seen in await store.due(now, most):
        try:
            schedule, zone = stored.spec.schedule, stored.clock
        except RecordNotUnderstood:
            log.warning("this machine doesn't know a schedule's time zone", extra={"report": stored.id})
            found.append(Slot(stored.id, None, store.pause(stored.id, NO_CLOCK)))
            continue
        slot = last_due(schedule, zone, stored.due, now)
        is_late = is_too_late(schedule, zone, slot, now)
        skipped = stored.due if is_late or stored.due < slot else None
        writes = store.advance(stored.id, seen, next_due(schedule, zone, slot), skipped)
        body = None if is_late else due_task(stored, slot, thread_ts=await continued(deps, stored))
        found.append(Slot(f"report:{stored.id}:{epoch_ms(slot)}", body, writes))
    return found


async def opened(deps: Deps, turn: Turn, slot: Report | ScheduledTask, id_: str) -> StoredTask | Done:
    """Return the task of a claimed *slot*, or why nothing happens; pause it if its owner may no longer have it.

    Raises `StoreUnavailable` and `TryLater`.
    """
    store, now = TaskStore(deps.scripts), deps.now()
    try:
        stored = await store.get(id_)
    except RecordNotUnderstood:
        return Done("a newer version wrote this schedule")
    if stored is None:
        return Done("its schedule was deleted")
    if stored.paused and not slot.is_asked_for:
        return Done("its schedule is paused")
    if slot.is_asked_for:
        is_late = now - slot.slot > _ASKED_FOR
    else:
        is_late = is_too_late(stored.spec.schedule, stored.clock, slot.slot, now)
    if is_late:
        if not slot.is_asked_for:
            await deps.inbox.write(*store.skip(stored.id, slot.slot))
        return Done("it's too late for this slot")
    try:
        refusal = await may_have(deps, stored.spec)
    except ProjectError as exc:
        raise later(slot, now, exc) from exc
    if refusal:
        await pause(deps, turn, SCHEDULES, stored, refusal)
        return Done(f"its schedule was paused: {refusal}")
    if slot.is_asked_for and (refusal := await _refusal_of_asker(deps, slot, stored.spec)):
        return Done(f"refused: {refusal}")
    if deps.projects.get(stored.spec.project) is None:
        await tell_of_removal(deps, SCHEDULES, stored, event=f"removed:{turn.id}")
        return Done("its project was removed")
    return stored


async def may_have(deps: Deps, spec: Spec) -> str | None:
    """Return why a task's owner may no longer have it, or None if they may. Raises `TryLater` and `ProjectError`."""
    return await deps.refusal_now(spec.owner, spec.channel, *await SCHEDULES.rights(deps, spec))


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
