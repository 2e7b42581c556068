"""A turn in work: what its handler is given.

A handler is a coroutine that may run again from its beginning, for as long as its turn is ``queued``: after a crash, in
another process; after Redis was away in the middle of it; after its message was edited. So whatever it awaits must be
repeatable, or idempotent by turn, except what goes through `Turn.once`. What it wants written with its outcome it
stages; nothing of that is written before, and nothing twice (`tests/model`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from bridge.errors import DID_NOT_ARRIVE, ProjectError
from bridge.ids import ThreadKey
from bridge.inbound import Click, InboundMessage, Notice
from bridge.queue.journal import FirstAgent, Journal
from bridge.queue.lanes import Taken
from bridge.queue.lease import Lease
from bridge.queue.watching import Watches
from bridge.queue.writes import Write

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
        self.thread = _thread_of(body)
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


def _thread_of(body: object) -> ThreadKey | None:
    match body:
        case InboundMessage():
            return body.thread
        case Click() | Notice() if body.thread_ts:
            return ThreadKey(body.team, body.channel, body.thread_ts)
        case _:
            return None
