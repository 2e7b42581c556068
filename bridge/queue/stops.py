"""Stops: the mark in Redis that ends a turn, the word to whoever works on it, and what waits behind.

The mark is made by one script, whichever process was asked, past the thread's queue, and it is what counts: every step
of the journal looks at it. The process that works on the turn is told by pub/sub as well, so that it closes its call to
the service at once. That word may be lost; then the answer is recorded when it comes, and not shown. What waits behind
a stopped turn is held until somebody lets it go on, drops it, or writes on.

The process that works on a turn has one subscription for all of its turns (`bridge.queue.turn.Watches`). Where that
broke, the marks are looked at when it is open again, so that at most a word that came meanwhile is late.

A stop carries the ``ts`` at which it was given, by Slack's clock, and never touches a turn that was begun after it. A
message that was written before a stop and that Slack delivers after it is not stopped.
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
"""The word that what is set for a channel may have changed: no turn is called that."""

_WAIT = timedelta(seconds=1)  # then it is asked again
_CONFIRMED_IN = 5.0  # seconds


class Met(StrEnum):
    """What a stop met."""

    QUEUED = "queued"  # a turn whose message had not gone out, and will not
    SENT = "sent"  # a turn whose message may have reached the agent
    ANSWERED = "posting"  # a turn whose answer waited for Slack, and will not be posted
    LATE = "late"  # a turn whose answer is on its way to Slack
    WITHDRAWN = "withdrawn"  # the message waited, and is taken back
    NOTHING = "nothing"  # nothing that it may stop


@dataclass(frozen=True, slots=True)
class Stopped:
    """A stop has *met* the turn *turn* (``""``: none) of *thread*, behind which *waiting* messages are held."""

    met: Met
    turn: TurnId
    waiting: int
    thread: ThreadKey | None = None


class Stops:
    """Marks turns as stopped. Every method may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts, *, now: Callable[[], datetime]) -> None:
        self._scripts = scripts
        self._now = now

    async def stop(
        self, lane: Lane, given: str, *, by: TurnId | None = None, only: MessageKey | None = None
    ) -> Stopped:
        """Stop the turn that is in work in *lane*, or the turn of the one message that is meant with *only*.

        *given* is Slack's ts of when that was asked for. The turn *by* that it was asked for with remembers what it
        met, so that the call may be repeated.
        """
        met, turn, waiting, thread = await self._scripts.run(
            "stop", by or "", lane, str(only or ""), given, epoch_ms(self._now()), confirmed=True
        )
        return Stopped(Met(met), TurnId(turn), int(waiting), ThreadKey.parse(thread) if thread else None)

    async def resume(self, lane: Lane, *, by: TurnId, drop: bool) -> int | None:
        """Let what a stop holds in *lane* go on, or take it back with *drop*.

        Returns how many waited, None where nothing is held. The turn *by* that decided remembers that, so that the call
        may be repeated.
        """
        count = int(await self._scripts.run("resume", lane, int(drop), by, confirmed=True))
        return None if count < 0 else count

    async def heard(self, watched: Callable[[], Sequence[TurnId]]) -> AsyncGenerator[TurnId]:
        """Give each turn that is stopped, as heard on a connection of its own, until Redis is away.

        First come those of the *watched* that were stopped before. `SETTINGS` comes when this begins, too.
        """
        redis, keys = self._scripts.redis, self._scripts.keys
        pubsub = redis.pubsub(ignore_subscribe_messages=True)
        try:
            with translated():
                await pubsub.subscribe(keys.stops())
                await pubsub.get_message(timeout=_CONFIRMED_IN)  # from now on nothing is missed
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
