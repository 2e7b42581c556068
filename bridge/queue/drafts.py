"""Drafts: stored texts that aren't sent unless someone asks for it, and then once.

A draft is the text of a turn that ended without its answer (in the turn's record), the new text of a message that an
agent has already got, or a reply that the agent didn't get (both in ``draft:<message>``). It's known by that turn or
message. A button, an app's edit or ``bridge dead retry`` puts it at the end of its lane, in one script (``draft.lua``).
Only a reply that never was a turn is put as when it arrived (`Inbox.put_arrival`): its thread may be muted by now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bridge.ids import MessageKey, ThreadKey, TurnId, new_turn_id
from bridge.inbound import WAITING_LIMIT, Inbound, InboundMessage, from_json, to_json
from bridge.queue.keys import MARKED, TRACE, milliseconds
from bridge.queue.put import Put, Queued, not_queued
from bridge.queue.quotas import Quota, as_arguments
from bridge.queue.records import VERSION, Step
from bridge.queue.scripting import Scripts, epoch_ms
from bridge.queue.writes import Write, only_if

_MOST_OFFERED = 500


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft's text as an input: *body*. *is_reply*: it never was a turn."""

    body: Inbound
    is_reply: bool


class Drafts:
    """One namespace's drafts; *now* is the clock. Methods may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts, now: Callable[[], datetime]) -> None:
        self._scripts = scripts
        self._redis = scripts.redis
        self._keys = scripts.keys
        self._now = now

    async def get(self, id_: str) -> Draft | None:
        """Return a draft; None if its text is gone. Raises `RecordNotUnderstood`."""
        key = self._keys.draft(id_) if ":" in id_ else self._keys.turn(id_)
        stored: Any = await self._redis.hmget(key, ["body", "lane"])
        body, lane = stored
        if body is None and ":" in id_:  # an earlier release stored it elsewhere
            body = await self._redis.get(self._keys.unsent(id_))
            if body is None:
                lane = await self._redis.get(self._keys.seen_message(MessageKey(*id_.split(":"))))
                body = await self._redis.hget(self._keys.turn(str(lane)), "edited")
        return Draft(from_json(str(body)), is_reply=":" in id_ and not lane) if body else None

    async def put(
        self, draft: str, *, by: str, user: str = "", limits: Sequence[Quota] = (), is_retry: bool = False
    ) -> Put:
        """Queue a draft's text, once: only what it's put *by* at first, such as a click's turn, may repeat this.

        *user* is who chose to, *limits* are what it counts for. With *is_retry*, an operator retries a dead letter.
        """
        facts = {
            "draft": draft,
            "turn": new_turn_id(),
            "by": by,
            "user": user,
            "limits": as_arguments(limits),
            "is_retry": is_retry,
            "now": str(epoch_ms(self._now())),
            "limit": WAITING_LIMIT,
            "marked_ms": milliseconds(MARKED),
            "trace_ms": milliseconds(TRACE),
        }
        answer = await self._scripts.run("draft", facts, confirmed=True)
        match answer:
            case [("queued" | "showing" | "asking") as how, new, waiting]:
                return Queued(TurnId(new), int(waiting), how=how)
        return not_queued(limits, answer)

    def keeps(self, message: InboundMessage) -> tuple[Write, ...]:
        """Return the writes that store a reply that the agent didn't get, for a button that sends it."""
        key, lives = self._keys.draft(message.key), milliseconds(TRACE)
        fields = {"v": str(VERSION), "body": to_json(message), "version": message.edited_ts}
        return tuple([("field", key, lives, name, value) for name, value in fields.items()])

    def offers(self, thread: ThreadKey, turn: TurnId) -> Write:
        """Return the write that adds *turn*, whose message is too old, to the offer in *thread*."""
        return ("push", self._keys.offered(thread), milliseconds(TRACE), turn, _MOST_OFFERED)

    async def offered(self, thread: ThreadKey) -> list[TurnId]:
        """List the turns offered in *thread*, oldest first."""
        turns: Any = await self._redis.lrange(self._keys.offered(thread), 0, -1)
        return [TurnId(turn) for turn in reversed(turns)]

    async def is_offered(self, thread: ThreadKey) -> bool:
        """Whether *thread* has an offer that still sends something, which more turns may join."""
        newest = await self._redis.lindex(self._keys.offered(thread), 0)
        fields: Any = await self._redis.hmget(self._keys.turn(str(newest)), ["body", "again"]) if newest else [None]
        return bool(fields[0] and not fields[1])

    async def note(self, turn: TurnId, notice: str) -> bool:
        """Store the *notice* (a ``ts`` or a response_url) that *turn* was queued; False if it has its outcome."""
        key = self._keys.turn(turn)
        writes = [
            write
            for step in (Step.QUEUED, Step.SENT)
            for write in only_if(key, {"step": step}, ("field", key, 0, "notice", notice))
        ]
        return "holds" in await self._scripts.run("write", writes, confirmed=True)

    async def noted(self, turn: TurnId) -> str:
        """Return what `note` stored, or ``""``."""
        return str(await self._redis.hget(self._keys.turn(turn), "notice") or "")

    async def forget_note(self, turn: TurnId) -> None:
        """Delete what `note` stored."""
        await self._redis.hdel(self._keys.turn(turn), "notice")
