"""The namespace: whose it is, since when the store knows anything, and how safe a write is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bridge.errors import BridgeError, NamespaceTaken
from bridge.queue.keys import REFUSING_LENGTH, SENT_AGAIN, milliseconds
from bridge.queue.scripting import Scripts, epoch_ms

_CONSUMER_GONE = timedelta(hours=1)
_HEARTBEAT_MISSED = timedelta(seconds=12)  # there is one every 5 s


class Namespace:
    """The part of a Redis that belongs to one bot.

    `since` is when this store was first opened: a thread that is older may have been bound before the store was
    lost. `hold` is called at start, every few seconds, and by whoever misses the consumer group, so that a wiped store
    is set up again; `is_held` is whether that went well the last time. *workspace* is the address that permalinks
    begin with.
    """

    def __init__(
        self,
        scripts: Scripts,
        *,
        name: str,
        team: str,
        bot: str,
        now: Callable[[], datetime],
        audit_lifetime: timedelta = timedelta(0),
        workspace: str = "",
    ) -> None:
        self.since: datetime | None = None
        self.is_held = False
        self._scripts = scripts
        self._name = name
        self._team = team
        self._bot = bot
        self._now = now
        self._audit_lifetime = audit_lifetime
        self._workspace = workspace

    async def hold(self) -> None:
        """Take or confirm the namespace. Raises `NamespaceTaken` and `StoreUnavailable`."""
        # A process that starts was not there, however short that was.
        gap = milliseconds(_HEARTBEAT_MISSED if self.since else timedelta(0))
        about = self._team, self._bot, epoch_ms(self._now()), self._workspace, gap, milliseconds(SENT_AGAIN)
        try:
            answer, since, *clock = await self._scripts.run("open", *about, REFUSING_LENGTH)
            if answer == "taken":
                raise NamespaceTaken(self._name, since)
            self.since = datetime.fromtimestamp(int(since) / 1000, UTC)
            self._scripts.clock_ahead = datetime.fromtimestamp(int(float(clock[0])) / 1000, UTC) - self._now()
            await self._scripts.look_for_replicas()
        except BridgeError:
            self.is_held = False
            raise
        self.is_held = True

    async def prune_dead_consumers(self) -> int:
        """Drop consumers of processes that ended long ago and hold nothing, and old entries of the audit.

        Returns how many consumers were dropped.
        """
        oldest = self._scripts.redis_time(self._now(), -self._audit_lifetime)
        return int(await self._scripts.run("forget", milliseconds(_CONSUMER_GONE), oldest))
