"""A turn in work: what its handler is given.

A handler is a coroutine that may run again from its beginning, for as long as its turn is ``queued``: after a crash, in
another process; after Redis was away in the middle of it; after its message was edited. So whatever it awaits must be
repeatable, or idempotent by turn, except what goes through `Turn.once`. What it wants written with its outcome it
stages; nothing of that is written before, and nothing twice (`tests/model`).

The lease of its lane is the clock that keeps a suspended process from acting. The fence protects Redis; it cannot call
back a request that is already out. So each worker also keeps the time of its own last renewal, on its own monotonic
clock, and looks at it immediately before each outside effect. A process that was suspended for longer than the lease
and wakes up finds its lease over, and does nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, TypeVar

from bridge.errors import DID_NOT_ARRIVE, LaneLost, ProjectError
from bridge.ids import ThreadKey
from bridge.inbound import Click, InboundMessage, Notice
from bridge.queue.journal import FirstAgent, Journal
from bridge.queue.records import Head, Held, Taken, Write
from bridge.queue.stops import Watches

T = TypeVar("T")


class NothingBegins(Exception):
    """Nothing may begin at the moment: the turn stays queued, for whoever may."""


class Turn:
    """One message, command, click or form in work: its *record*, its *body*, and what its thread is bound to.

    *response_url* and *trigger_id* are ``""`` where Slack gave none. *thread* is set for what was said or pressed in a
    thread. What is entered into *until_shown* ends when its outcome is shown, or the handler runs again.
    """

    def __init__(
        self, taken: Taken, lease: Lease, journal: Journal, watches: Watches, *, may_begin: Callable[[], bool]
    ) -> None:
        self.taken = taken
        self.record = record = taken.record
        self.body = body = record.body
        self.id = record.id
        self.team, self.channel, self.user = body.team, body.channel, body.user
        self.thread: ThreadKey | None = None
        if isinstance(body, InboundMessage):
            self.thread = body.thread
        elif isinstance(body, Click | Notice) and body.thread_ts:
            self.thread = ThreadKey(body.team, body.channel, body.thread_ts)
        self.response_url: str = getattr(body, "response_url", "")
        self.trigger_id: str = getattr(body, "trigger_id", "")
        self.conversation = taken.conversation
        self.channel_default = taken.channel_default
        self.lease = lease
        self.journal = journal
        self.card = record.card
        self.is_card_in_doubt = record.takes > 1 and bool(record.note)  # an earlier worker may have posted one
        self.staged: list[Write] = []
        self.until_shown = AsyncExitStack()
        self._watches = watches
        self.has_sent = False
        self._may_begin = may_begin
        self._is_used = False
        self._result: list[Any] = []

    async def begin(self) -> None:
        """Forget what an earlier run of the handler staged; what `once` gave is remembered."""
        self.staged.clear()
        self._is_used = False
        await self.until_shown.aclose()

    def stage(self, *writes: Write) -> None:
        """Have *writes* made with the outcome."""
        self.staged += writes

    async def once(self, effect: Callable[[], Awaitable[T]], *, note: str = "", first_agent: int | None = None) -> T:
        """Do *effect* at most once, whoever is killed: SENT is written before it.

        Whoever finds SENT on taking over does not do it again; *note* is what they know of it. A handler that runs
        again in this process gets the same answer, or error. *first_agent* is the agent of the thread from now on, if
        it has none. Raises `TurnChanged`, `TooOften`, `NothingBegins`, `TurnStopped` and `LaneLost`; where *effect*
        raises one of `DID_NOT_ARRIVE`, the turn is queued as before.
        """
        if self._is_used:
            raise RuntimeError("a turn has one effect only")
        self._is_used = True
        if not self._result:
            first = FirstAgent(self.thread, first_agent) if self.thread and first_agent is not None else None
            if not self._may_begin():
                raise NothingBegins
            await self.journal.sent(self.taken, note=note, first=first)
            self.has_sent = True
            try:
                async with self._watches.ends_when_stopped(self.id):
                    self.lease.check()
                    self._result.append(await effect())
            except DID_NOT_ARRIVE:
                await self.journal.unsent(self.taken)
                self.has_sent = False
                raise
            except ProjectError as exc:
                self._result.append(exc)
        result = self._result[0]
        if isinstance(result, ProjectError):
            raise result
        return result  # type: ignore[no-any-return]


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
