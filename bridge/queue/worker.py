"""The worker of a process: takes lanes from the inbox, and works on each in a task.

Five loops in one TaskGroup: new lanes (a blocking read), abandoned lanes (every second), renewal of leases (every
quarter of a lease), the namespace's heartbeat, and a subscription to stops. Each waits while Redis is down. Most lanes
come another way: while a place is free, this process hands a message's lane over as it accepts it
(`bridge.queue.records.Offer`).

Turns that wait for the service continue in the order their messages were accepted (`Line`), and lend out their place
among the running turns meanwhile (`Slots`).
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from redis.asyncio import Redis

from bridge.errors import LaneLost, StoreUnavailable, StoreWiped
from bridge.logs import facts, new_reference
from bridge.queue.inbox import Inbox
from bridge.queue.namespace import Namespace
from bridge.queue.patience import Patience
from bridge.queue.records import Head, Held, InDoubt, Offer
from bridge.queue.redis.connection import stop_if_cancelled
from bridge.queue.turn import LEASE, Journal, Lease, Watches

log = logging.getLogger(__name__)

_BLOCK = timedelta(seconds=1)
_CLAIM_EVERY = timedelta(seconds=1)
_RENEW_EVERY = LEASE / 4
_HEARTBEAT_EVERY = timedelta(seconds=5)
_STORE_RETRY = timedelta(seconds=0.5)
_CLAIM_MOST = 64

Work = Callable[[Lease], Awaitable[None]]


class Slots:
    """A count of *free* places. A turn that waits for the service lends out its place.

    It's negative after taking over abandoned lanes, which aren't turned away.
    """

    def __init__(self, most: int) -> None:
        self.free = most
        self._freed = asyncio.Event()

    async def room(self) -> int:
        """Wait until a place is free; returns how many are."""
        while self.free <= 0:
            self._freed.clear()
            await self._freed.wait()
        return self.free

    def give(self) -> None:
        """Give a place back."""
        self.free += 1
        self._freed.set()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Lend out one's place for a while, and wait for one afterwards."""
        self.give()
        try:
            yield
            await self.room()
        finally:
            self.free -= 1


@dataclass(order=True, slots=True)
class _Place:
    accepted_at: datetime
    number: int
    is_first: asyncio.Event = field(default_factory=asyncio.Event, compare=False)
    has_left: bool = field(default=False, compare=False)


class Line:
    """Continues with the oldest first."""

    def __init__(self) -> None:
        self._places: list[_Place] = []
        self._count = 0

    async def wait(self, accepted_at: datetime, is_over: Callable[[], Awaitable[None]]) -> None:
        """Return when *is_over* has, and nothing accepted earlier is waiting."""
        self._count += 1
        place = _Place(accepted_at, self._count)
        heapq.heappush(self._places, place)
        try:
            await is_over()
            while self._places[0] is not place:
                place.is_first.clear()  # it was first until a longer-waiting one came
                await place.is_first.wait()
        finally:
            place.has_left = True
            while self._places and self._places[0].has_left:
                heapq.heappop(self._places)
            if self._places:
                self._places[0].is_first.set()


class Worker:
    """Works on lanes until `draining` is set.

    *blocking* is a Redis connection for reads that wait. *drain* is how long running turns may take to finish after
    that; *block* how long one read waits; *watches* get stops. Without *may_begin*,
    because Slack rejects the bot's token, it takes no lanes; another process may.
    """

    def __init__(
        self,
        *,
        inbox: Inbox,
        journal: Journal,
        namespace: Namespace,
        blocking: Redis,
        slots: Slots,
        drain: timedelta,
        draining: asyncio.Event,
        patience: Patience,
        monotonic: Callable[[], float],
        block: timedelta = _BLOCK,
        watches: Watches | None = None,
        may_begin: Callable[[], bool] = lambda: True,
    ) -> None:
        self._inbox = inbox
        self._journal = journal
        self._namespace = namespace
        self._blocking = blocking
        self._slots = slots
        self._drain = drain
        self._draining = draining
        self._patience = patience
        self._monotonic = monotonic
        self._block = block
        self._watches = watches or Watches()
        self._may_begin = may_begin
        self.depth = 0  # lanes with work, anywhere
        self._held: dict[str, Lease] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._work: Work

    async def run(self, work: Work, *, offers: bool = True) -> None:
        """Do *work* on one lane after another until draining, then finish what is running.

        With *offers*, lanes are also handed over as messages are accepted.
        """
        self._work = work
        context = copy_context()
        async with asyncio.TaskGroup() as group:

            def start(task: Coroutine[None, None, None]) -> None:
                # In a separate context, so that one message's log facts don't stick to later ones.
                self._slots.free -= 1  # may go below zero: lanes of dead processes aren't turned away
                started = group.create_task(task, context=context.copy())
                self._tasks.add(started)
                started.add_done_callback(self._tasks.discard)

            def begin(held: Held, began: float) -> None:
                # A lane already worked on here is only renewed: that was late while no other process wanted it, or its
                # delivery was lost in a failover.
                if held.entry in self._held:
                    self._held[held.entry].renewed(began)
                else:
                    start(self._one(self._lease(held, began), began))

            def offer() -> Offer | None:
                if self._draining.is_set() or self._slots.free <= 0 or not self._may_begin():
                    return None
                made = Offer()
                start(self._one(made, self._monotonic()))
                return made

            if offers:
                self._inbox.hand_to(offer)

            upkeep = [
                group.create_task(self._repeat(_RENEW_EVERY, self._renew)),
                group.create_task(self._repeat(_HEARTBEAT_EVERY, self._heartbeat)),
                group.create_task(self._repeat(_STORE_RETRY, partial(self._watches.listen, self._inbox.stops))),
            ]
            takers = [
                group.create_task(self._repeat(timedelta(0), partial(self._take_new, begin), until_draining=True)),
                group.create_task(self._repeat(_CLAIM_EVERY, partial(self._take_over, begin), until_draining=True)),
            ]
            await asyncio.wait(takers)
            if self._tasks:  # finish what is in flight
                _done, late = await asyncio.wait(self._tasks, timeout=self._drain.total_seconds())
                if late:
                    log.warning("drain timed out with turns still running", extra={"turns": len(late)})
                    for task in late:
                        task.cancel()
                    await asyncio.wait(late)
            for loop in upkeep:
                loop.cancel()

    async def _repeat(
        self, pause: timedelta, step: Callable[[], Awaitable[None]], *, until_draining: bool = False
    ) -> None:
        was_away = False
        while not (until_draining and self._draining.is_set()):
            is_away = False
            try:
                await step()
            except StoreUnavailable as exc:
                is_away = True
                if not was_away:
                    log.warning("Redis is unavailable, waiting", extra={"reason": str(exc)})
            stop_if_cancelled()
            seconds = (_STORE_RETRY if is_away else pause).total_seconds()
            if until_draining:
                await self._rest(seconds)
            else:
                await asyncio.sleep(seconds)
            was_away = is_away

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._draining.wait()

    async def _take_new(self, begin: Callable[[Held, float], None]) -> None:
        if not self._may_begin():
            await self._rest(self._block.total_seconds())
            return
        try:
            async with asyncio.timeout(self._block.total_seconds()):
                room = await self._slots.room()  # first a free place, so that work on a lane starts at once
        except TimeoutError:
            return
        began = self._monotonic()
        try:
            lanes = await self._inbox.wait_for_lanes(self._blocking, most=room, block=self._block)
        except StoreWiped:
            await self._namespace.hold()  # don't wait for the heartbeat
            return
        for held in lanes:
            if self._draining.is_set() or self._slots.free <= 0:  # the place was given to a lane handed over meanwhile
                with suppress(LaneLost):  # this process was suspended, and another one has it
                    await self._journal.release(held)
            else:
                begin(held, began)

    async def _take_over(self, begin: Callable[[Held, float], None]) -> None:
        if not self._may_begin():
            return
        began = self._monotonic()
        for held in await self._inbox.claim_from_the_dead(lease=LEASE, most=_CLAIM_MOST):
            log.info("took over a lane", extra={"lane": held.lane})
            begin(held, began)

    async def _renew(self) -> None:
        began = self._monotonic()
        leases = dict(self._held)
        lost = set(await self._inbox.renew(list(leases)))
        for entry, lease in leases.items():
            if entry in lost:
                lease.is_lost = True
            else:
                lease.renewed(began)

    async def _heartbeat(self) -> None:
        await self._namespace.hold()
        await self._namespace.prune_dead_consumers()
        self.depth = await self._inbox.depth()

    def _lease(self, held: Held, began: float, head: Head | None = None) -> Lease:
        renew = partial(self._patience.through_outages, self._renew)
        lease = Lease(held, monotonic=self._monotonic, renewed_at=began, renew=renew, head=head)
        self._held[held.entry] = lease
        return lease

    async def _accepted(self, offer: Offer, began: float) -> Lease | None:
        """Wait for the lane handed over for *offer*; None if there is none."""
        try:
            handed = await offer.answer
            while isinstance(handed, InDoubt):
                began = self._monotonic()  # as long as its lease lasts at least
                try:
                    handed = await self._inbox.settle(handed)
                except StoreUnavailable:
                    await self._patience.wait_for_redis()
        except Exception:  # as below: if this process has the lane, it's taken again when its lease expires
            log.exception("handing over a lane failed", extra={"reference": new_reference()})
            return None
        held, head = (handed, None) if handed is None or isinstance(handed, Held) else (handed.held, handed)
        if held is None or held.entry in self._held:  # it was taken from the stream meanwhile
            return None
        return self._lease(held, began, head)

    async def _one(self, given: Lease | Offer, began: float) -> None:
        """Work on a lease's lane, or on the one handed over for an offer; its place is taken."""
        lease = given if isinstance(given, Lease) else None
        try:
            if isinstance(given, Offer):
                lease = await self._accepted(given, began)
            if lease is not None:
                with facts(lane=lease.lane):
                    await self._work(lease)
        except LaneLost as exc:
            log.warning("lost a lane to another worker", extra={"lane": str(exc)})
        except Exception:  # the only catch-all: an unexpected error ends one turn, not the process
            # Without renewal, the lane is taken again when its lease is over, and buried if it
            # fails time after time (`bridge.features.turns`).
            log.exception("a turn failed unexpectedly", extra={"reference": new_reference()})
        finally:
            self._slots.give()
            if lease is not None:
                self._held.pop(lease.held.entry, None)
