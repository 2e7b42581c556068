"""Dead letters: work that could not be finished, kept with its texts for 30 days so that somebody may decide.

`retry` queues one again at the end of its lane, in one script, at most once for each death. What the journal knows
decides what that means: an answer that was recorded is shown, and nobody is asked again; what was never sent is sent;
and where nobody knows whether it had arrived, this is the explicit wish to send it again, as a new turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from bridge.errors import RecordNotUnderstood
from bridge.ids import TurnId, new_turn_id
from bridge.inbound import WAITING_LIMIT, from_json
from bridge.queue.keys import TRACE, milliseconds
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts, epoch_ms


class Retried(StrEnum):
    """What a retry did."""

    QUEUED = "queued"  # it is done from the beginning
    SHOWING = "showing"  # its recorded outcome is shown; nobody is asked
    ASKING = "asking"  # it is sent again, in a turn of its own: nobody knows whether it arrived the first time
    UNKNOWN = "unknown"  # there is no such dead letter, or no longer
    GONE = "gone"  # its texts have expired; it was taken off the list
    FULL = "full"  # too many wait in its lane


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """One turn that could not be finished, for *reason*; *step* is how far it was, *what* what its outcome was.

    Of a body that can't be read *channel* and *user* are ``""``. *ts* is of the message that it is about.
    """

    id: TurnId
    died_at: datetime
    reason: str
    step: str
    what: str = ""
    kind: str = ""
    channel: str = ""
    thread_ts: str = ""
    ts: str = ""
    user: str = ""
    has_text: bool = False

    @property
    def asks_again(self) -> bool:
        """Whether a retry may do a second time what was perhaps done already."""
        return self.step == "sent" or (self.step == "posting" and self.what == "unknown")


class DeadLetters:
    """The dead letters of one namespace. Every method may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts, now: Callable[[], datetime]) -> None:
        self._scripts = scripts
        self._now = now

    async def all(self) -> list[DeadLetter]:
        """List them, oldest first."""
        keys, redis = self._scripts.keys, self._scripts.redis
        with translated():
            found: Any = await redis.zrange(keys.dead(), 0, -1, withscores=True)
            async with redis.pipeline(transaction=False) as pipe:
                for turn, _ in found:
                    pipe.hgetall(keys.turn(turn))
                records = await pipe.execute()
        return [_letter(TurnId(turn), died_at, fields) for (turn, died_at), fields in zip(found, records, strict=True)]

    async def retry(self, turn: TurnId) -> tuple[Retried, int]:
        """Queue one again; says what became of that, and how many are before it."""
        answer = await self._scripts.run(
            "retry", turn, epoch_ms(self._now()), WAITING_LIMIT, new_turn_id(), milliseconds(TRACE), confirmed=True
        )
        return Retried(answer[0]), int(answer[1]) if len(answer) > 1 else 0

    async def drop(self, turn: TurnId) -> bool:
        """Give one up, and delete its texts; False where there is none of this id."""
        now = epoch_ms(self._now())
        return bool(await self._scripts.run("drop", turn, now, milliseconds(TRACE), confirmed=True) == "dropped")


def _letter(turn: TurnId, died_at: float, fields: dict[str, str]) -> DeadLetter:
    try:
        body: Any = from_json(fields.get("body", ""))
    except RecordNotUnderstood:
        body = None
    return DeadLetter(
        id=turn,
        died_at=datetime.fromtimestamp(died_at / 1000, UTC),
        reason=fields.get("what", ""),
        step=fields.get("died") or "queued",
        what=fields.get("was", ""),
        kind=body.kind if body else fields.get("kind", ""),
        channel=body.channel if body else "",
        thread_ts=getattr(body, "thread_ts", ""),
        ts=getattr(body, "ts", "") or getattr(body, "message_ts", "") or fields.get("card", ""),
        user=body.user if body else "",
        has_text="body" in fields,
    )
