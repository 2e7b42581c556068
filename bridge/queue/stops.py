"""Stops: the mark in Redis that ends a turn, the signal to its worker, and the turns waiting after it.

Any process makes the mark, in one script that ignores the thread's queue; every step of the journal checks it. The
process that runs the turn also gets a pub/sub signal, to close its call to the service at once. If that is lost, the
answer is recorded when it arrives, and not shown. Turns waiting after a stopped one are held until someone sends or
discards them, or writes again.

Each process has one subscription for all its turns (`bridge.queue.turn.Watches`). When it reopens after a break, it
checks the marks, so a signal is at worst late.

A stop carries its ``ts`` by Slack's clock, and never touches a turn that started later. A message written before a stop
but delivered after it isn't stopped.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from bridge.ids import Lane, MessageKey, ThreadKey, TurnId
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts, epoch_ms

SETTINGS = TurnId("channels")
"""Says that channel settings may have changed; no turn has this ID."""

_WAIT = timedelta(seconds=1)  # before it's checked
_CONFIRMED_IN = 5.0  # seconds


class Met(StrEnum):
    """What a stop found."""

    QUEUED = "queued"  # its message wasn't sent, and won't be
    SENT = "sent"  # its message may have reached the agent
    ANSWERED = "posting"  # its answer was waiting for Slack, and won't be posted
    LATE = "late"  # its answer is being posted
    WITHDRAWN = "withdrawn"  # the message was waiting, and is withdrawn
    NOTHING = "nothing"  # nothing to stop


@dataclass(frozen=True, slots=True)
class Stopped:
    """A stop *met* the turn *turn* (``""``: none) of *thread*, behind which *waiting* messages are held."""

    met: Met
    turn: TurnId
    waiting: int
    thread: ThreadKey | None = None


class Stops:
    """Marks turns as stopped. Methods may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts, *, now: Callable[[], datetime]) -> None:
        self._scripts = scripts
        self._now = now

    async def stop(
        self, lane: Lane, given: str, *, by: TurnId | None = None, only: MessageKey | None = None
    ) -> Stopped:
        """Stop the running turn of *lane*, or with *only* the turn of that message.

        *given* is Slack's ts of the request. The turn *by* that requested it remembers the result, so that the call may
        be repeated.
        """
        met, turn, waiting, thread = await self._scripts.run(
            "stop", by or "", lane, str(only or ""), given, epoch_ms(self._now()), confirmed=True
        )
        return Stopped(Met(met), TurnId(turn), int(waiting), ThreadKey.parse(thread) if thread else None)

    async def resume(self, lane: Lane, *, by: TurnId, drop: bool) -> int | None:
        """Continue with what a stop holds in *lane*, or withdraw it with *drop*.

        Returns how many were waiting, None if nothing is held. The turn *by* that decided remembers that, so that the
        call may be repeated.
        """
        count = int(await self._scripts.run("resume", lane, int(drop), by, confirmed=True))
        return None if count < 0 else count

    async def heard(self, watched: Callable[[], Sequence[TurnId]]) -> AsyncGenerator[TurnId]:
        """Yield each stopped turn, on a separate connection, until Redis is down.

        First those of the *watched* that were stopped before. `SETTINGS` is yielded at the start, too.
        """
        redis, keys = self._scripts.redis, self._scripts.keys
        pubsub = redis.pubsub(ignore_subscribe_messages=True)
        try:
            with translated():
                await pubsub.subscribe(keys.stops())
                await pubsub.get_message(timeout=_CONFIRMED_IN)  # nothing is missed from now on
                turns = watched()
                async with redis.pipeline(transaction=False) as pipe:
                    for turn in turns:
                        pipe.hexists(keys.turn(turn), "stopped")
                    marked = await pipe.execute() if turns else []
            yield SETTINGS
            for turn, is_stopped in zip(turns, marked, strict=True):
                if is_stopped:
                    yield turn
            while True:
                with translated():
                    message = await pubsub.get_message(timeout=_WAIT.total_seconds())
                if message:
                    yield TurnId(str(message["data"]))
        finally:
            await pubsub.aclose()  # type: ignore[no-untyped-call] # redis-py leaves it so
