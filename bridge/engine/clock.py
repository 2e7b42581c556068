"""Scheduled work: slots (`Feature.slots`) and periodic jobs (`Feature.every`).

Every process looks for due slots twice a second. Only one process claims a slot, because the step that queues its turn
also advances the schedule (`Slot`); from then on it's an ordinary turn. The process that claims a job's period first
does the job. A failed attempt's claim expires before the next attempt; a job with a short period is done in the next
one instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from bridge.engine.deps import EngineDeps
from bridge.engine.feature import Periodic, SlotsDue
from bridge.errors import BridgeError, StoreUnavailable
from bridge.queue.keys import CLAIMED, milliseconds
from bridge.queue.patience import Draining, Patience

log = logging.getLogger(__name__)

LOOKS_EVERY: Final = timedelta(minutes=5)  # for due jobs, at most; longer than a claim's lifetime
_LOOKS: Final = 12  # in each period
_EVERY: Final = timedelta(seconds=0.5)
_MOST: Final = 100  # slots claimed at a time


class Clock:
    """Claims due slots of *clocks* and due *jobs*."""

    def __init__(
        self, deps: EngineDeps, clocks: Sequence[SlotsDue], jobs: Sequence[Periodic], patience: Patience
    ) -> None:
        self._deps = deps
        self._clocks = clocks
        self._jobs = jobs
        self._patience = patience

    async def run(self) -> None:
        """Watch slots and jobs until the process drains."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.watch_slots())
            for job in self._jobs:
                group.create_task(self.watch(job))

    async def watch_slots(self) -> None:
        """Claim slots as they become due."""
        was_away = False
        try:
            while True:
                try:
                    claimed, was_away = await self.claim_slots(), False
                except StoreUnavailable as exc:
                    claimed = 0
                    if not was_away:
                        log.warning("Redis is unavailable, schedules are waiting", extra={"reason": exc.reason})
                    was_away = True
                if claimed < _MOST:
                    await self._patience.pause(_EVERY)
        except Draining:
            return

    async def claim_slots(self) -> int:
        """Claim the slots that are due now, and return their number. Raises `StoreUnavailable`.

        A slot's turn is queued and its schedule advanced in one step, unless another process was faster.
        """
        await self._deps.scripts.ask_clock()
        count = 0
        for due in self._clocks:
            for slot in await due(self._deps, _MOST):
                claimed = "skipped"
                if slot.body is None:
                    await self._deps.inbox.write(*slot.writes)
                else:
                    claimed = await self._deps.queue(slot.body, event=slot.id, why="it's due", writes=slot.writes)
                log.info("scheduled job due", extra={"slot": slot.id, "claimed": claimed})
                count += 1
        return count

    async def watch(self, job: Periodic) -> None:
        """Do *job* when it's due; the first check comes after a pause, as a process that has just started is busy."""
        try:
            while True:
                await self._patience.pause(job.period if job.is_everywhere else min(LOOKS_EVERY, job.period / _LOOKS))
                await self.do(job)
        except Draining:
            return

    async def do(self, job: Periodic) -> None:
        """Do *job*, unless another process claimed this period. A failure is only logged, and retried later."""
        redis = self._deps.scripts.redis
        try:
            if job.is_everywhere:
                await job.handler(self._deps)
                return
            await self._deps.scripts.ask_clock()
            number = int(self._deps.now().timestamp() // job.period.total_seconds())
            key = self._deps.scripts.keys.claimed(job.name, number)
            if not await redis.set(key, self._deps.inbox.consumer, nx=True, px=milliseconds(CLAIMED)):
                return
            await job.handler(self._deps)
            await redis.pexpire(key, milliseconds(job.period))
        except StoreUnavailable as exc:  # each job would say every few seconds what `watch_slots` says once
            log.debug("periodic job failed, will retry", extra={"job": job.name, "why": exc.reason})
        except BridgeError as exc:
            log.info("periodic job failed, will retry", extra={"job": job.name, "why": type(exc).__name__})
