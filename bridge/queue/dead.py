"""Dead letters: turns that couldn't be finished, stored with their text for 30 days.

`retry` puts a dead letter at the end of its lane again, once per death (`bridge.queue.drafts`). The rest depends on the
turn's step: a recorded outcome is posted, a request that was never sent starts over, and a request that may have been
sent is deliberately sent again, as a new turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bridge.errors import RecordNotUnderstood
from bridge.ids import TurnId
from bridge.inbound import from_json
from bridge.queue.drafts import Drafts
from bridge.queue.keys import TRACE, milliseconds
from bridge.queue.put import Put
from bridge.queue.scripting import Scripts, epoch_ms, pipelined


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A turn that failed for *reason*; *step* is how far it got, *what* its outcome.

    *channel* and *user* are ``""`` if its body can't be read. *ts* is its message's, or else its card's.
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

    @classmethod
    def from_redis(cls, turn: TurnId, died_at: float, fields: dict[str, str]) -> DeadLetter:
        """Read the record of a *turn*."""
        try:
            body: Any = from_json(fields.get("body", ""))
        except RecordNotUnderstood:
            body = None
        return cls(
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

    @property
    def asks_again(self) -> bool:
        """Whether a retry may repeat a request that the service has already received."""
        return self.step == "sent" or (self.step == "posting" and self.what == "unknown")


class DeadLetters:
    """One namespace's dead letters. Methods may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts, now: Callable[[], datetime]) -> None:
        self._scripts = scripts
        self._now = now

    async def all(self) -> list[DeadLetter]:
        """Return all dead letters, oldest first."""
        keys, redis = self._scripts.keys, self._scripts.redis
        dead: Any = await redis.zrange(keys.dead(), 0, -1, withscores=True)
        records = await pipelined(redis, lambda pipe: [pipe.hgetall(keys.turn(turn)) for turn, _ in dead])
        return [
            DeadLetter.from_redis(TurnId(turn), died_at, fields)
            for (turn, died_at), fields in zip(dead, records, strict=True)
        ]

    async def retry(self, turn: TurnId) -> Put:
        """Queue a dead letter again."""
        return await Drafts(self._scripts, self._now).put(turn, by="", is_retry=True)

    async def drop(self, turn: TurnId) -> bool:
        """Discard a dead letter and delete its text; False if there's no such letter."""
        now = epoch_ms(self._now())
        return bool(await self._scripts.run("drop", turn, now, milliseconds(TRACE), confirmed=True) == "dropped")
