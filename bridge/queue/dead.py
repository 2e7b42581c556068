"""Dead letters: work that could not be finished, kept with its texts for 30 days so that somebody may decide.

`retry` queues one again at the end of its lane, in one script, at most once for each death. What the journal knows
decides what that means: an answer that was recorded is shown, and nobody is asked again; what was never sent is sent;
and where nobody knows whether it had arrived, this is the explicit wish to send it again, as a new turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from bridge.errors import RecordNotUnderstood
from bridge.ids import TurnId, new_turn_id
from bridge.inbound import WAITING_LIMIT, Click, Inbound, InboundMessage, Notice, StopRequest, from_json
from bridge.queue.keys import TRACE, milliseconds
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts, epoch_ms


class Retried(StrEnum):
    """What became of the wish to retry."""

    QUEUED = "queued"  # it is done from the beginning
    SHOWING = "showing"  # its recorded outcome is shown; nobody is asked
    ASKING = "asking"  # it is sent again, in a turn of its own: nobody knows whether it arrived the first time
    UNKNOWN = "unknown"  # there is no such dead letter (any more)
    GONE = "gone"  # its texts are kept no longer; it was taken off the list
    FULL = "full"  # too many wait in its lane


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """One turn that could not be finished, for *reason*; *step* is how far it was, *what* what its outcome was.

    Of a body that cannot be read *channel* and *user* are ``""``. *ts* is of the message that it is about.
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
        keys = self._scripts.keys
        with translated():
            found: Any = await self._scripts.redis.zrange(keys.dead(), 0, -1, withscores=True)
            async with self._scripts.redis.pipeline(transaction=False) as pipe:
                for turn, _score in found:
                    pipe.hgetall(keys.turn(turn))
                records = await pipe.execute()
        return [_letter(TurnId(turn), score, fields) for (turn, score), fields in zip(found, records, strict=True)]

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


def _letter(turn: TurnId, score: float, fields: Mapping[str, str]) -> DeadLetter:
    body = _body(fields.get("body", ""))
    return DeadLetter(
        id=turn,
        died_at=datetime.fromtimestamp(score / 1000, UTC),
        reason=fields.get("what", ""),
        step=fields.get("died") or "queued",
        what=fields.get("was", ""),
        kind=body.kind if body else fields.get("kind", ""),
        channel=body.channel if body else "",
        thread_ts=_thread_ts(body),
        ts=_ts(body) or fields.get("card", ""),
        user=body.user if body else "",
        has_text="body" in fields,
    )


def _body(text: str) -> Inbound | None:
    try:
        return from_json(text)
    except RecordNotUnderstood:
        return None


def _ts(body: Inbound | None) -> str:
    match body:
        case InboundMessage() | Notice():
            return body.ts
        case Click() | StopRequest():
            return body.message_ts
        case _:
            return ""


def _thread_ts(body: Inbound | None) -> str:
    return body.thread_ts if isinstance(body, InboundMessage | Notice | Click | StopRequest) else ""
