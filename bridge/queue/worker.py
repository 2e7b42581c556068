"""The worker of a process: takes lanes from the inbox, and works on each in a task of its own.

Five loops in one TaskGroup: new lanes (a blocking read), lanes of the dead (every second), renewal of the leases
held here (every quarter of the lease), the heartbeat of the namespace, and a subscription to stops. Redis being away
ends none of them: each waits and goes on by itself. Most lanes come another way: while a place is free, whoever takes
a message in, in this process, hands its lane over (`bridge.queue.lanes.Offer`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from datetime import timedelta

from redis.asyncio import Redis

from bridge.errors import LaneLost, StoreUnavailable, StoreWiped
from bridge.logs import facts, new_reference
from bridge.queue.inbox import Inbox
from bridge.queue.journal import Journal
from bridge.queue.lanes import Head, Held, InDoubt, Offer, Terms
from bridge.queue.lease import LEASE, Lease
from bridge.queue.namespace import Namespace
from bridge.queue.patience import Patience
from bridge.queue.redis.connection import stop_if_cancelled
from bridge.queue.slots import Slots
from bridge.queue.watching import Watches

log = logging.getLogger(__name__)

_BLOCK = timedelta(seconds=1)
_CLAIM_EVERY = timedelta(seconds=1)
_RENEW_EVERY = LEASE / 4
_HEARTBEAT_EVERY = timedelta(seconds=5)
_STORE_RETRY = timedelta(seconds=0.5)
_CLAIM_MOST = 64

Work = Callable[[Lease], Awaitable[None]]
Begin = Callable[[Held, float], None]


class Worker:
    """Works on lanes until `draining` is set.

    *blocking* is a Redis connection of its own, for reads that wait. *drain* is how long turns in flight may take
    to finish after that; *block* how long one such read waits; *watches* are told of what is stopped. While it
    *may_begin* nothing, because Slack does not accept the bot's token, it takes no lane: another process may.
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
        self._patience = Patience(draining)
        self._monotonic = monotonic
        self._block = block
        self._watches = watches or Watches()
        self._may_begin = may_begin
        self.depth = 0  # lanes that have work, anywhere
        self._held: dict[str, Lease] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, work: Work, terms: Callable[[], Terms] | None = None) -> None:
        """Do *work* on one lane after the other until draining, then finish what is in flight.

        With *terms*, on which a head is taken, lanes are also taken from the hand of whoever takes messages in.
        """
        context = copy_context()
        async with asyncio.TaskGroup() as group:

            def start(task: Coroutine[None, None, None]) -> None:
                # In a context of its own: whoever takes a message in must not lend its facts to all that follows.
                started = group.create_task(task, context=context.copy())
                self._tasks.add(started)
                started.add_done_callback(self._tasks.discard)

            def begin(held: Held, began: float) -> None:
                self._slots.take()
                start(self._one(work, self._hold(held, began)))

            def offer() -> Offer | None:
                if terms is None or self._draining.is_set() or self._slots.free <= 0 or not self._may_begin():
                    return None
                self._slots.take()
                made = Offer(terms(), asyncio.get_running_loop().create_future())
                start(self._offered(work, made, self._monotonic()))
                return made

            self._inbox.hand_to(offer)

            upkeep = [
                group.create_task(self._repeat(_RENEW_EVERY, self._renew)),
                group.create_task(self._repeat(_HEARTBEAT_EVERY, self._heartbeat)),
                group.create_task(self._repeat(_STORE_RETRY, lambda: self._watches.listen(self._inbox.stops))),
            ]
            takers = [
                group.create_task(self._repeat(timedelta(0), lambda: self._take_new(begin), until_draining=True)),
                group.create_task(self._repeat(_CLAIM_EVERY, lambda: self._take_over(begin), until_draining=True)),
            ]
            await asyncio.wait(takers)
            await self._finish_in_flight()
            for loop in upkeep:
                loop.cancel()

    async def _finish_in_flight(self) -> None:
        if not self._tasks:
            return
        _done, late = await asyncio.wait(self._tasks, timeout=self._drain.total_seconds())
        if late:
            log.warning("turns still ran when the time to drain was over", extra={"turns": len(late)})
            for task in late:
                task.cancel()
            await asyncio.wait(late)

    async def _repeat(
        self, pause: timedelta, step: Callable[[], Awaitable[None]], *, until_draining: bool = False
    ) -> None:
        was_away = False
        while not (until_draining and self._draining.is_set()):
            is_away = await self._is_away(step, was_away=was_away)
            stop_if_cancelled()
            await self._rest(_STORE_RETRY if is_away else pause, until_draining=until_draining)
            was_away = is_away

    async def _rest(self, pause: timedelta, *, until_draining: bool) -> None:
        if not until_draining:
            await asyncio.sleep(pause.total_seconds())
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(pause.total_seconds()):
                await self._draining.wait()

    async def _is_away(self, step: Callable[[], Awaitable[None]], *, was_away: bool) -> bool:
        try:
            await step()
        except StoreUnavailable as exc:
            if not was_away:
                log.warning("redis is not available, waiting for it", extra={"reason": str(exc)})
            return True
        return False

    async def _take_new(self, begin: Begin) -> None:
        if not self._may_begin():
            await self._rest(self._block, until_draining=True)
            return
        try:
            async with asyncio.timeout(self._block.total_seconds()):
                room = await self._slots.room()  # first a free place, so that what is taken is begun at once
        except TimeoutError:
            return
        began = self._monotonic()
        for held in await self._new_lanes(room):
            if self._draining.is_set() or self._slots.free <= 0:  # the room was given to what was handed over meanwhile
                with suppress(LaneLost):  # this process was suspended since, and another one has it
                    await self._journal.release(held)
            else:
                self._begin_once(begin, held, began)

    async def _new_lanes(self, most: int) -> list[Held]:
        try:
            return await self._inbox.wait_for_lanes(self._blocking, most=most, block=self._block)
        except StoreWiped:
            await self._namespace.hold()  # whoever waits now shall not wait for the heartbeat
            return []

    def _begin_once(self, begin: Begin, held: Held, began: float) -> None:
        """Begin with a lane; one that is in work here already is only renewed.

        That happens to one that was renewed too late while nobody else wanted it, and to one whose handing out was
        lost in a failover.
        """
        if held.entry in self._held:
            self._held[held.entry].renewed(began)
        else:
            begin(held, began)

    async def _take_over(self, begin: Begin) -> None:
        if not self._may_begin():
            return
        began = self._monotonic()
        for held in await self._inbox.claim_from_the_dead(lease=LEASE, most=_CLAIM_MOST):
            log.info("took over a lane", extra={"lane": held.lane})
            self._begin_once(begin, held, began)

    async def _renew(self) -> None:
        began = self._monotonic()
        leases = dict(self._held)
        lost = set(await self._inbox.renew(list(leases)))
        for entry, lease in leases.items():
            if entry in lost:
                lease.lose()
            else:
                lease.renewed(began)

    async def _heartbeat(self) -> None:
        await self._namespace.hold()
        await self._namespace.prune_dead_consumers()
        self.depth = await self._inbox.depth()

    def _hold(self, held: Held, began: float, head: Head | None = None) -> Lease:
        lease = Lease(held, monotonic=self._monotonic, renewed_at=began, renew=self._renew, head=head)
        self._held[held.entry] = lease
        return lease

    async def _offered(self, work: Work, offer: Offer, began: float) -> None:
        """Work on what is handed over for *offer*, whose place is taken."""
        lease = None
        try:
            lease = await self._handed(offer, began)
        except Exception:  # as below: if this process has the lane, it is taken again when its lease is over
            log.exception("a lane could not be taken from hand to hand", extra={"reference": new_reference()})
        finally:
            if lease is None:
                self._slots.give()
        if lease is not None:
            await self._one(work, lease)

    async def _handed(self, offer: Offer, began: float) -> Lease | None:
        handed = await offer.answer
        if not isinstance(handed, InDoubt):
            return self._hold_once(handed, began)
        began, head = await self._patience.through_outages(lambda: self._settled(handed, offer.terms))
        return self._hold_once(head, began)

    def _hold_once(self, handed: Head | Held | None, began: float) -> Lease | None:
        if handed is None:
            return None
        held, head = (handed, None) if isinstance(handed, Held) else (handed.held, handed)
        if held.entry in self._held:  # what was in doubt has been taken from the stream meanwhile
            return None
        return self._hold(held, began, head)

    async def _settled(self, doubt: InDoubt, terms: Terms) -> tuple[float, Head | None]:
        """Find out what there is, and since when the lease lasts."""
        began = self._monotonic()
        return began, await self._inbox.settle(doubt, terms)

    async def _one(self, work: Work, lease: Lease) -> None:
        try:
            with facts(lane=lease.lane):
                await work(lease)
        except LaneLost:
            log.warning("lost a lane to another worker", extra={"lane": lease.lane})
        except Exception:  # the one net of the product: whatever was forgotten ends one turn, not the process
            # The lane is not renewed any more, so it is taken again when its lease is over, and buried if it
            # fails time after time (`bridge.features.turn`).
            log.exception("a turn failed unexpectedly", extra={"reference": new_reference()})
        finally:
            self._slots.give()
            self._held.pop(lease.held.entry, None)
