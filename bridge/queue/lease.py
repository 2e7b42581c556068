"""The lease of a lane, as its worker may believe it: the clock that keeps a suspended process from acting.

The fence protects Redis; it cannot call back a request that is already out. So each worker also keeps the time of
its own last renewal, on its own monotonic clock, and looks at it immediately before each outside effect. A process
that was suspended for longer than the lease and wakes up finds its lease over, and does nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

from bridge.errors import LaneLost
from bridge.queue.lanes import Head, Held

LEASE = timedelta(seconds=15)
"""How long a lane stays with a worker that does not renew it. With the search for abandoned lanes once a second,
another process goes on within 20 s."""

SLACK_TIMEOUT = timedelta(seconds=10)
"""The longest that one post may take. When a successor looks into the thread, an earlier post has to be over, one
way or the other: so a post begins only while the lease has at least this long to go."""


class Lease:
    """The lease of one *held* lane, last renewed at *renewed_at* (seconds of *monotonic*); *renew* renews it now.

    *head* is what was found in it, where it was handed over with its head taken.
    """

    def __init__(
        self,
        held: Held,
        *,
        monotonic: Callable[[], float],
        renewed_at: float,
        renew: Callable[[], Awaitable[None]],
        head: Head | None = None,
    ) -> None:
        self.held = held
        self.lane = held.lane
        self.monotonic = monotonic
        self.is_lost = False  # another worker has it
        self._head = head
        self._renewed_at = renewed_at
        self._renew = renew

    def pop_head(self) -> Head | None:
        """Give the head that was taken with the lane, once: later it is taken anew."""
        head, self._head = self._head, None
        return head

    def was_outlived(self, since: float) -> bool:
        """Whether what began at *since* took longer than a lease lasts, and so longer than it may."""
        return self.monotonic() - since > LEASE.total_seconds()

    def renewed(self, at: float) -> None:
        """It was renewed by a command that began at *at*."""
        self._renewed_at = max(self._renewed_at, at)

    def check(self, needs: timedelta = timedelta(0)) -> None:
        """Raise `LaneLost` if it is over: to be called with nothing between this and the effect outside."""
        age = self.monotonic() - self._renewed_at
        if self.is_lost or age + needs.total_seconds() > LEASE.total_seconds():
            raise LaneLost(self.lane)

    async def ensure(self, needs: timedelta) -> None:
        """See to it that it lasts for *needs*, renewing it where it has to. Raises `LaneLost`."""
        try:
            self.check(needs)
        except LaneLost:
            await self._renew()
            self.check(needs)
