"""How long a worker may act for the lane it holds, by its own clock.

The fence in Redis (`bridge.queue.journal`) can't recall a request. So a worker checks its lease right before each
outside effect: a process that was suspended for longer than the lease does nothing.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

from bridge.common_clock import since_boot
from bridge.errors import LaneLost
from bridge.queue.records import Head, Held

LEASE = timedelta(seconds=15)
"""How long a worker holds a lane without renewing its lease. Workers look for abandoned lanes every second, so another
process takes over within 20 s."""


class Elapsed:
    """The default clock of leases: seconds that also pass while the machine is suspended.

    ``time.monotonic`` may stand still then. Linux' CLOCK_BOOTTIME doesn't, but in a virtual machine that its host
    paused, only the wall clock jumps. So each call adds the largest advance of any of *clocks* since the last call;
    setting one back adds nothing.
    """

    def __init__(self, *clocks: Callable[[], float]) -> None:
        self._clocks = clocks or (since_boot, time.time)
        self._read = [clock() for clock in self._clocks]
        self._elapsed = 0.0

    def __call__(self) -> float:
        """Return the seconds so far."""
        most = 0.0
        for at, clock in enumerate(self._clocks):
            before, now = self._read[at], clock()
            self._read[at] = now
            most = max(most, now - before)
        self._elapsed += most
        return self._elapsed


class Lease:
    """The lease of a *held* lane, last renewed at *renewed_at* (seconds of *monotonic*); *renew* renews it now.

    *head* is the lane's head, if the lane was handed over with it. *length* is how long it lasts.
    """

    def __init__(
        self,
        held: Held,
        *,
        monotonic: Callable[[], float],
        renewed_at: float,
        renew: Callable[[], Awaitable[None]],
        head: Head | None = None,
        length: timedelta = LEASE,
    ) -> None:
        self.held = held
        self.lane = held.lane
        self.monotonic = monotonic
        self.is_lost = False  # another worker has it
        self.head = head
        self._length = length.total_seconds()
        self._until = renewed_at + self._length
        self._renew = renew

    def has_passed_since(self, since: float) -> bool:
        """Whether more time than a lease has passed since *since* (seconds of *monotonic*)."""
        return self.monotonic() - since > self._length

    def renewed(self, at: float) -> None:
        """Note that a command sent at *at* (seconds of *monotonic*) renewed the lease."""
        self._until = max(self._until, at + self._length)

    def check(self) -> None:
        """Raise `LaneLost` if the lease is over; call this immediately before an outside effect."""
        if self.is_lost or self.monotonic() > self._until:
            raise LaneLost(self.lane)

    async def ensure(self, needs: timedelta) -> None:
        """Renew the lease if it doesn't last for *needs*. Raises `LaneLost` if it still doesn't."""
        least, has_renewed = min(needs.total_seconds(), self._length * 2 / 3), False
        while self.is_lost or self.monotonic() + least > self._until:
            if has_renewed:
                raise LaneLost(self.lane)
            await self._renew()
            has_renewed = True
