"""Stops: the mark in Redis that ends a turn, the signal to its worker, and the turns waiting after it.

Any process can make the mark, in one script that doesn't wait for the thread's queue; every step of the journal checks
it. The process that runs the turn also gets a pub/sub signal, to close its call to the service at once. If the signal
is lost, the answer is recorded when it arrives, and not shown. Turns waiting after a stopped one are held until someone
sends or discards them, or writes again.

Each process has one subscription for all its turns (`bridge.queue.watches.Watches`). When it reopens after a break, it
checks the marks, so a signal is at worst late.

The deletion of a message stops its turn in the same way, without holding those after it (``withdraw.lua``).

A stop carries its ``ts`` by Slack's clock, and never touches a turn that started later. A message written before a stop
but delivered after it isn't stopped.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from bridge.errors import StoreUnavailable
from bridge.ids import Lane, MessageKey, ThreadKey, TurnId
from bridge.queue.records import END_FIELDS, end_in
from bridge.queue.scripting import Scripts, epoch_ms

_SETTINGS = "channels"
"""Sent in place of a turn's ID: settings of channels or agents may have changed."""

_WAIT = timedelta(seconds=1)  # for one signal
_CONFIRMED_IN = 5.0  # seconds


async def signal_settings(scripts: Scripts) -> None:
    """Have all processes read settings again. If Redis can't be reached, they do when they hear of another change."""
    with suppress(StoreUnavailable):
        await scripts.redis.publish(scripts.keys.stops(), _SETTINGS)


class StopResult(StrEnum):
    """How far the turn was that a stop was for."""

    QUEUED = "queued"  # its message wasn't sent, and won't be
    SENT = "sent"  # its message may have reached the agent
    ANSWERED = "posting"  # its answer was waiting for Slack, and won't be posted
    LATE = "late"  # its answer is being posted, and isn't stopped
    WITHDRAWN = "withdrawn"  # its message was waiting, and is withdrawn
    NOTHING = "nothing"  # there was no turn to stop


@dataclass(frozen=True, slots=True)
class Stopped:
    """The *result* for the stopped *turn* (``""``: none) of *thread*; *waiting* messages after it are held."""

    result: StopResult
    turn: TurnId
    waiting: int
    thread: ThreadKey | None = None


class Stops:
    """Marks turns as stopped. Methods may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts, *, now: Callable[[], datetime]) -> None:
        self._scripts = scripts
        self._now = now

    async def stop(
        self, lane: Lane, requested_ts: str, *, by: TurnId | None = None, only: MessageKey | None = None
    ) -> Stopped:
        """Stop the running turn of *lane*, or with *only* the turn of that message.

        *requested_ts* is Slack's ts of the request. The turn *by* that requested the stop records which turn it
        stopped, so that the call may be repeated.
        """
        facts = {
            "by": by or "",
            "only": str(only or ""),
            "requested_ts": requested_ts,
            "now": str(epoch_ms(self._now())),
        }
        result, turn, waiting, thread = await self._scripts.run("stop", lane, facts, confirmed=True)
        return Stopped(StopResult(result), TurnId(turn), int(waiting), ThreadKey.parse(thread) if thread else None)

    async def resume(self, lane: Lane, *, by: TurnId, drop: bool) -> int | None:
        """Send the messages that a stop holds in *lane*, or withdraw them with *drop*.

        Returns how many were waiting, None if nothing is held. The turn *by* that requested this records the number, so
        that the call may be repeated.
        """
        count = int(await self._scripts.run("resume", lane, int(drop), by, confirmed=True))
        return None if count < 0 else count

    async def heard(self, watched: Callable[[], Sequence[TurnId]]) -> AsyncGenerator[TurnId | None]:
        """Yield each stopped turn, on a separate connection, until Redis is down. Raises `StoreUnavailable`.

        None: settings of channels or agents may have changed. At the start, yields that, and the *watched* turns that
        are already stopped.
        """
        redis, keys = self._scripts.redis, self._scripts.keys
        pubsub = redis.pubsub(ignore_subscribe_messages=True)
        try:
            await pubsub.subscribe(keys.stops())
            await pubsub.get_message(timeout=_CONFIRMED_IN)  # nothing is missed from now on
            turns = watched()
            async with redis.pipeline(transaction=False) as pipe:
                for turn in turns:
                    pipe.hmget(keys.turn(turn), END_FIELDS)
                marked = await pipe.execute() if turns else []
            yield None
            for turn, end in zip(turns, marked, strict=True):
                if end_in(end).startswith(("stopped", "deleted")):
                    yield turn
            while True:
                message = await pubsub.get_message(timeout=_WAIT.total_seconds())
                if message and message["data"]:  # empty: sent to find out whether that is allowed
                    heard = str(message["data"])
                    yield None if heard == _SETTINGS else TurnId(heard)
        finally:
            await pubsub.aclose()  # type: ignore[no-untyped-call] # redis-py leaves it so
