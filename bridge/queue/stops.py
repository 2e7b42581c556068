"""Stops: the mark in Redis that ends a turn, the word to whoever works on it, and what waits behind.

The mark is made by one script, whichever process was asked, past the thread's queue, and it is what counts: every step
of the journal looks at it. The process that works on the turn is told by pub/sub as well, so that it closes its call to
the service at once. That word may be lost; then the answer is recorded when it comes, and not shown. What waits behind
a stopped turn is held until somebody lets it go on, drops it, or writes on.

The process that works on a turn has one subscription for all of its turns (`Watches`). Where that broke, the marks are
looked at when it is open again, so that at most a word that came meanwhile is late.

A stop carries the ``ts`` at which it was given, by Slack's clock, and never touches a turn that was begun after it. A
message that was written before a stop and that Slack delivers after it is not stopped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from redis.asyncio.client import PubSub

from bridge.ids import Lane, MessageKey, ThreadKey, TurnId
from bridge.queue.redis.connection import stop_if_cancelled, translated
from bridge.queue.scripting import Scripts, epoch_ms


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

    async def marked(self, turns: Sequence[TurnId]) -> list[TurnId]:
        """Which of *turns* were stopped."""
        with translated():
            async with self._scripts.redis.pipeline(transaction=False) as pipe:
                for turn in turns:
                    pipe.hexists(self._scripts.keys.turn(turn), "stopped")
                found = await pipe.execute() if turns else []
        return [turn for turn, is_stopped in zip(turns, found, strict=True) if is_stopped]

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Heard]:
        """Listen for stops, on a connection of its own."""
        pubsub = self._scripts.redis.pubsub(ignore_subscribe_messages=True)
        try:
            with translated():
                await pubsub.subscribe(self._scripts.keys.stops())
            yield Heard(pubsub)
        finally:
            await pubsub.aclose()  # type: ignore[no-untyped-call] # redis-py leaves it so


class Heard:
    """An open ear."""

    def __init__(self, pubsub: PubSub) -> None:
        self._pubsub = pubsub

    async def next(self, wait: timedelta) -> TurnId | None:
        """Wait for the next turn that is stopped; None where none was, for as long as *wait*."""
        with translated():
            message = await self._pubsub.get_message(timeout=wait.total_seconds())
        stop_if_cancelled()
        return TurnId(str(message["data"])) if message else None
