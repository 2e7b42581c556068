"""Stored requests for approval: a hash for each, and a sorted set of those that wait, by when something is due.

A request is stored in the step that records its card, and its end is one step, too: `decide` for people's clicks, and
the claim of a slot (`ends`) when its time is over. Whatever dies, and however many processes there are, it ends once.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from bridge.engine.home import Reads
from bridge.engine.turn import Turn
from bridge.errors import RecordNotUnderstood, TooManyRequests
from bridge.features.approvals.request import APPROVED, WAITING, Request, StoredRequest
from bridge.features.standing.store import RecordStore
from bridge.ids import TurnId
from bridge.queue.keys import APPROVAL, APPROVALS, TYPED, milliseconds
from bridge.queue.scripting import Scripts, epoch_ms
from bridge.queue.writes import Write, only_if

DRAFT: Final = "draft"
"""The state of a request whose asker has yet to say why."""

MOST_OF_ONE: Final = 20
MOST_WAITING: Final = 200
"""How many requests may wait at once, of one asker and in all. `claim` counts them."""

_CLAIM: Final = timedelta(minutes=10)

Decided = Literal["counted", "already", "over", "late", "other", "changed", "gone"]
"""What became of a click, see ``decide.lua``."""


class ApprovalStore(RecordStore[StoredRequest]):
    """The requests of one namespace; `get` returns None for one that has expired long ago."""

    listed, stored = "approvals", "approval"

    def __init__(self, scripts: Scripts) -> None:
        super().__init__(scripts)
        self._scripts = scripts

    @classmethod
    def parse(cls, id_: str, fields: Mapping[str, str]) -> StoredRequest:
        """Parse a record's hash. Raises `RecordNotUnderstood`."""
        return StoredRequest.from_redis(id_, fields)

    async def waiting(self, reads: Reads | None = None) -> list[StoredRequest]:
        """Return the requests that wait, first those that end first, without those of a newer version."""
        waiting = [stored for stored in await self.all(reads) if stored.state == WAITING]
        return sorted(waiting, key=lambda stored: stored.request.until)

    async def due(self, now: datetime, most: int) -> list[tuple[str, StoredRequest | None]]:
        """Return the requests with something due, each with its ID, or None if it's gone."""
        ids: Any = await self._redis.zrangebyscore(self._keys.approvals(), "-inf", epoch_ms(now), start=0, num=most)
        due = []
        for id_ in map(str, ids):
            with suppress(RecordNotUnderstood):  # a newer version cares for it
                due.append((id_, await self.get(id_)))
        return due

    async def claim(self, turn: Turn, id_: str, asker: str, now: datetime) -> None:
        """Claim a place for a request that *turn* is about to add. Raises `TooManyRequests` and `LaneLost`."""
        asks: Write = ("field", self._keys.approval(id_), milliseconds(_CLAIM), "asker", asker)
        claim = {
            "approval": id_, "asker": asker, "most_of_one": MOST_OF_ONE, "most": MOST_WAITING,
            "writes": [asks, self._due_at(id_, now + _CLAIM)],
        }  # fmt: skip
        (answer,) = await turn.run("features.approvals.claim", claim)
        if answer != "ok":
            raise TooManyRequests(str(answer))

    def add(
        self, id_: str, request: Request, input_: str, state: str = WAITING, *, after: str = ""
    ) -> tuple[Write, ...]:
        """Return the writes that store a request with its input, if its state is still *after*."""
        key, lives = self._keys.approval(id_), milliseconds(request.until - request.asked_at + APPROVAL)
        if state == DRAFT:
            lives = milliseconds(TYPED)
        fields = {
            "v": "1", "body": request.model_dump_json(), "input": input_, "digest": request.digest,
            "terms": request.terms, "state": state, "asker": request.asker,
        }  # fmt: skip
        writes: list[Write] = [("field", key, lives, name, value) for name, value in fields.items()]
        if state == WAITING:
            writes.append(self._due_at(id_, request.remind_at))
        return only_if(key, {"state": after}, *writes)

    def takes_draft(self, id_: str, turn: TurnId) -> tuple[Write, ...]:
        """Return the writes by which *turn* makes a request of a draft, unless another turn does."""
        key = self._keys.approval(id_)
        return only_if(key, {"state": DRAFT}, ("field", key, 0, "state", f"{DRAFT} {turn}"))

    def _due_at(self, id_: str, at: datetime) -> Write:
        return ("rank", self._keys.approvals(), milliseconds(APPROVALS), id_, epoch_ms(at), 0)

    def posted(self, id_: str, card: str) -> Write:
        """Return the write that stores the ``ts`` of a request's card, unless that's known."""
        return ("field if", self._keys.approval(id_), 0, "card", card, "")

    def reminds(self, stored: StoredRequest) -> tuple[Write, ...]:
        """Return the writes that claim a request's reminder; the next thing that's due is its end."""
        key = self._keys.approval(stored.id)
        next_due = self._due_at(stored.id, stored.request.until)
        return only_if(key, {"state": WAITING, "reminded": ""}, ("field", key, 0, "reminded", "1"), next_due)

    def ends(self, id_: str, state: str, *more: Write) -> tuple[Write, ...]:
        """Return the writes that end a request without a decision, and *more*, if it waits."""
        key = self._keys.approval(id_)
        ended: Write = ("field", key, milliseconds(APPROVAL), "state", state)
        return only_if(key, {"state": WAITING}, ended, self.forget(id_), *more)

    def forget(self, id_: str) -> Write:
        """Return the write that removes a request from those that wait."""
        return ("unrank", self._keys.approvals(), 0, id_)

    def starts(self, id_: str, turn: TurnId) -> tuple[Write, ...]:
        """Return the writes, made with SENT, that use an approval up: it starts one run, whatever repeats its turn."""
        key = self._keys.approval(id_)
        return only_if(key, {"state": APPROVED, "started": ""}, ("field", key, 0, "started", turn))

    def unstarts(self, id_: str, turn: TurnId) -> tuple[Write, ...]:
        """Return the writes that undo `starts`: the request to the service certainly didn't arrive."""
        key = self._keys.approval(id_)
        return only_if(key, {"started": turn}, ("field", key, 0, "started", ""))

    def stops(self, id_: str, state: str, *more: Write) -> tuple[Write, ...]:
        """Return the writes by which an approved request ends without a run, and *more*."""
        key = self._keys.approval(id_)
        return only_if(key, {"state": APPROVED, "started": ""}, ("field", key, 0, "state", state), *more)

    def loses(self, id_: str, lost: str) -> Write:
        """Return the write that stores why a request is no longer allowed (`StoredRequest.lost`)."""
        return ("field", self._keys.approval(id_), 0, "lost", lost)

    async def decide(
        self,
        turn: Turn,
        stored: StoredRequest,
        decides: Literal["approve", "deny", "withdraw"],
        *,
        now: datetime,
        terms: str = "",
        reason: str = "",
        only: int = 0,
        ends: tuple[Write, ...] = (),
        changed: tuple[Write, ...] = (),
    ) -> Decided:
        """Decide about a request as *turn*'s person, in one step. *terms* are those in force now.

        An approval may count for *only* one of those that it takes (from 1 on).

        *ends* are made if this decides it, *changed* if it ends because its terms are no longer in force. Raises
        `LaneLost`.
        """
        request = stored.request
        decision = {
            "approval": stored.id, "what": decides, "user": turn.user, "digest": request.digest, "terms": terms,
            "counts": [needed.count for needed in request.needs], "only": only, "said": reason,
            "now": str(epoch_ms(now)), "deadline": self._scripts.redis_time(request.until - now),
            "lives_ms": milliseconds(APPROVAL), "ends": list(ends), "changed": list(changed),
        }  # fmt: skip
        answer = await turn.run("features.approvals.decide", decision)
        decided: Decided = answer[0]
        return decided
