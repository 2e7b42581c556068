"""The worker of a process: takes lanes from the inbox, and works on each in a task.

Five loops in one TaskGroup: new lanes (a blocking read), abandoned lanes (every second), renewal of leases (every
quarter of a lease), the namespace's heartbeat, and a subscription to stops. Each waits while Redis is down. Most lanes
come another way: while a slot is free, the inbox hands over a message's lane as it accepts the message
(`bridge.queue.records.Offer`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from redis.asyncio import Redis

from bridge.errors import LaneLost, StoreUnavailable, StoreWiped
from bridge.logs import facts, new_reference
from bridge.queue.inbox import Inbox
from bridge.queue.journal import Journal, WorkPaused
from bridge.queue.lease import LEASE, Lease
from bridge.queue.namespace import Namespace
from bridge.queue.patience import Draining
from bridge.queue.records import Head, Held, Offer
from bridge.queue.redis.connection import stop_if_cancelled
from bridge.queue.slots import Slots
from bridge.queue.watches import Watches

log = logging.getLogger(__name__)

_BLOCK = timedelta(seconds=1.5)  # no part of the 2 seconds after which an older release gives back what it can't read:
# of two processes that wait, Redis serves the one that began first, and that would be the older one each time
_CLAIM_EVERY = timedelta(seconds=1)
_HEARTBEAT_EVERY = timedelta(seconds=5)
_STORE_RETRY = timedelta(seconds=0.5)
_CLAIM_MOST = 64

Work = Callable[[Lease], Awaitable[None]]


@dataclass(slots=True, kw_only=True, eq=False)
class Worker:
    """Works on lanes until `draining` is set.

    *blocking* is a Redis connection for blocking reads, of *block* each. *drain* is how long running turns may take to
    finish once it's draining. *watches* receive stops. While *may_begin* returns False, because Slack rejects the bot
    token, it takes no lanes; other processes may.
    """

    inbox: Inbox
    journal: Journal
    namespace: Namespace
    blocking: Redis
    slots: Slots
    drain: timedelta
    draining: asyncio.Event
    monotonic: Callable[[], float]
    block: timedelta = _BLOCK
    watches: Watches = field(default_factory=Watches)
    may_begin: Callable[[], bool] = lambda: True
    lease: timedelta = LEASE
    depth: int = 0  # lanes with work, in all processes
    _held: dict[str, Lease] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _work: Work = field(init=False)

    async def run(self, work: Work, *, offers: bool = True) -> None:
        """Run *work* for each lane until draining, then finish the running turns.

        With *offers*, the inbox also hands over lanes as it accepts messages.
        """
        self._work = work
        context = copy_context()
        async with asyncio.TaskGroup() as group:

            def start(task: Coroutine[None, None, None]) -> None:
                # In a separate context, so that one message's log facts don't appear with later messages.
                self.slots.free -= 1  # may go below zero: lanes of dead processes are always accepted
                started = group.create_task(task, context=context.copy())
                self._tasks.add(started)
                started.add_done_callback(self._tasks.discard)

            def begin(held: Held, began: float) -> None:
                # A lane already worked on here is only renewed: its lease expired and no other process claimed it, or
                # its delivery was lost in a failover.
                if held.entry in self._held:
                    self._held[held.entry].renewed(began)
                else:
                    start(self._work_on(self._lease(held, began), began))

            def offer() -> Offer | None:
                if self.draining.is_set() or self.slots.free <= 0 or not self.may_begin():
                    return None
                made = Offer()
                start(self._work_on(made, self.monotonic()))
                return made

            if offers:
                self.inbox.hand_to(offer)

            upkeep = [
                group.create_task(self._repeat(self.lease / 4, self._renew)),
                group.create_task(self._repeat(_HEARTBEAT_EVERY, self._heartbeat)),
                group.create_task(self._repeat(_STORE_RETRY, partial(self.watches.listen, self.inbox.stops))),
            ]
            takers = [
                group.create_task(self._repeat(timedelta(0), partial(self._take_new, begin), until_draining=True)),
                group.create_task(self._repeat(_CLAIM_EVERY, partial(self._take_over, begin), until_draining=True)),
            ]
            await asyncio.wait(takers)
            if self._tasks:  # finish the running turns
                _done, late = await asyncio.wait(self._tasks, timeout=self.drain.total_seconds())
                if late:
                    extra = {"turns": len(late), "raise": "BRIDGE_DRAIN_SECONDS"}
                    log.warning("running work is cut off: the time to finish is over", extra=extra)
                    for task in late:
                        task.cancel()
                    await asyncio.wait(late)
            for loop in upkeep:
                loop.cancel()

    async def _repeat(
        self, pause: timedelta, step: Callable[[], Awaitable[None]], *, until_draining: bool = False
    ) -> None:
        was_away = False
        while not (until_draining and self.draining.is_set()):
            is_away = False
            try:
                await step()
            except StoreUnavailable as exc:
                is_away = True
                if not was_away:
                    log.warning("Redis is unavailable, waiting", extra={"reason": exc.reason, "denied": exc.denied})
            stop_if_cancelled()
            seconds = (_STORE_RETRY if is_away else pause).total_seconds()
            if until_draining:
                await self._pause(seconds)
            else:
                await asyncio.sleep(seconds)
            was_away = is_away

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.draining.wait()

    async def _take_new(self, begin: Callable[[Held, float], None]) -> None:
        if not self.may_begin():
            await self._pause(self.block.total_seconds())
            return
        try:
            async with asyncio.timeout(self.block.total_seconds()):
                free = await self.slots.wait_for_free()  # first a free slot, so that work on a lane starts at once
        except TimeoutError:
            return
        began = self.monotonic()
        try:
            lanes = await self.inbox.wait_for_lanes(self.blocking, most=free, block=self.block)
        except StoreWiped:
            await self.namespace.hold()  # don't wait for the heartbeat
            return
        for held in lanes:
            if self.draining.is_set() or self.slots.free <= 0:  # a lane handed over meanwhile took the slot
                with suppress(LaneLost):  # this process was suspended, and another one has the lane
                    await self.journal.release(held)
            else:
                begin(held, began)

    async def _take_over(self, begin: Callable[[Held, float], None]) -> None:
        if not self.may_begin():
            return
        began = self.monotonic()
        for held in await self.inbox.claim_from_the_dead(lease=self.lease, most=_CLAIM_MOST):
            log.info("took over a lane", extra={"lane": held.lane})
            begin(held, began)

    async def _renew(self) -> None:
        began = self.monotonic()
        leases = dict(self._held)
        lost = set(await self.inbox.renew(list(leases)))
        for entry, lease in leases.items():
            if entry in lost:
                lease.is_lost = True
            else:
                lease.renewed(began)

    async def _heartbeat(self) -> None:
        await self.namespace.hold()
        await self.namespace.prune_dead_consumers()
        self.depth = await self.inbox.depth()

    def _lease(self, held: Held, began: float, head: Head | None = None) -> Lease:
        lease = Lease(held, monotonic=self.monotonic, renewed_at=began, renew=self._renew, head=head, length=self.lease)
        self._held[held.entry] = lease
        return lease

    async def _work_on(self, lane: Lease | Offer, began: float) -> None:
        """Work on the lane of a lease, or on the one that answers an offer; its slot is already counted."""
        lease = lane if isinstance(lane, Lease) else None
        try:
            if isinstance(lane, Offer):
                handed = await lane.answer
                held, head = (handed, None) if handed is None or isinstance(handed, Held) else (handed.held, handed)
                if held is not None and held.entry not in self._held:  # else it was read from the stream meanwhile
                    lease = self._lease(held, began, head)
            if lease is not None:
                with facts(lane=lease.lane):
                    try:
                        await self._work(lease)
                    except (Draining, WorkPaused):
                        await self.journal.release(lease.held)
        except LaneLost as exc:
            log.warning("lost a lane to another worker", extra={"lane": str(exc)})
        except Exception:  # the only catch-all: an unexpected error ends one turn, not the process
            # Without renewal, the lane is taken over when its lease expires, and the turn is buried if it
            # fails time after time (`bridge.engine.processor`).
            log.exception("a turn failed unexpectedly", extra={"reference": new_reference()})
        finally:
            self.slots.release()
            if lease is not None:
                self._held.pop(lease.held.entry, None)
