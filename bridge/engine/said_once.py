"""What people are told once: a greeting, that the service is down, that an answer is late."""

from __future__ import annotations

from datetime import timedelta

from bridge.ids import PersonKey, ThreadKey, TurnId
from bridge.queue.keys import GREETED, GREETING, LATE, SEEN, TRACE, milliseconds
from bridge.queue.scripting import Scripts


class SaidOnce:
    """Decides which turn says it: the first one that claims it, and that one again if it's repeated.

    Methods may raise `StoreUnavailable`.
    """

    def __init__(self, scripts: Scripts) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys

    async def claim_greeting(self, team: str, user: str, turn: TurnId) -> bool:
        """Whether *turn* is to greet *user*: no other turn did or is about to."""
        return await self._claim(self._keys.greeted(PersonKey(team, user)), turn, GREETING)

    async def greeted(self, team: str, user: str) -> None:
        """Record that *user* was greeted, only once the greeting is posted: a turn that fails leaves it to the next."""
        await self._mark(self._keys.greeted(PersonKey(team, user)), GREETED)

    async def claim_outage_notice(self, thread: ThreadKey, turn: TurnId) -> bool:
        """Whether *turn* is to post in *thread* that the service is down: no turn has since the last answer there."""
        return await self._claim(self._keys.outage_notice(thread), turn, SEEN)

    async def notified(self, thread: ThreadKey, ts: str) -> None:
        """Record that the outage notice was posted in *thread* as the message *ts*, or ``""`` if it can't be."""
        await self._mark(self._keys.outage_notice(thread), SEEN, ts)

    async def take_back_outage_notice(self, thread: ThreadKey) -> str:
        """Return the ``ts`` of *thread*'s outage notice, or ``""``; the next turn there may post another."""
        key = self._keys.outage_notice(thread)
        known = str(await self._redis.get(key) or "")
        is_posted = "." in known  # else it's the turn that is about to
        return known if is_posted and await self._redis.delete(key) else ""

    async def claim_late_note(self, thread: ThreadKey, turn: TurnId) -> bool:
        """Whether *turn*'s answer is to say that it's late after an outage: no other turn in *thread* does."""
        return await self._claim(self._keys.seen_event(f"late:{thread}"), turn, LATE)

    async def claim_word_of_work(self, turn: TurnId) -> bool:
        """Whether to tell a message's person that *turn* is still at work: once, even if the turn runs again."""
        key = self._keys.seen_event(f"working:{turn}")
        return bool(await self._redis.set(key, "1", nx=True, px=milliseconds(TRACE)))

    async def _claim(self, key: str, turn: TurnId, lifetime: timedelta) -> bool:
        """Claim *key* for *turn*; True again if the turn runs again."""
        await self._redis.set(key, turn, nx=True, px=milliseconds(lifetime))
        return str(await self._redis.get(key)) == turn

    async def _mark(self, key: str, lifetime: timedelta, ts: str = "") -> None:
        await self._redis.set(key, ts or "1", px=milliseconds(lifetime))
