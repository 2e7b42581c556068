"""The namespace: its owner, the age of its data, and the heartbeat."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta

from bridge.errors import BridgeError, NamespaceTaken, StoreUnavailable
from bridge.queue.keys import HEARD, MARKED, REFUSING_LENGTH, RESENT_WITHIN, TRACE, UNAUDITED, milliseconds
from bridge.queue.permissions import OPTIONAL, cure, denied_to
from bridge.queue.redis.connection import ensured
from bridge.queue.redis.refusals import Unexpected, unexpected
from bridge.queue.scripting import Scripts, epoch_ms, from_epoch_ms
from bridge.queue.wipe import Wipe

_CONSUMER_GONE = timedelta(hours=1)
_HEARTBEAT_MISSED = timedelta(seconds=12)  # there's one every 5 s
_SLACK_SILENT = timedelta(minutes=1)  # Slack may not resend events that it couldn't deliver for longer

log = logging.getLogger(__name__)


async def _nothing() -> str:
    return ""


@dataclass(slots=True, eq=False)
class Namespace:
    """The part of a Redis that belongs to one bot.

    `since` is when this store was first opened; older threads may have been bound before. `hold` is called at start,
    every few seconds, and when the consumer group is missing, so that a wiped store is set up again; `is_held` says
    whether it last succeeded. *workspace* is the address that permalinks begin with.

    The same step records when Slack last reached a process (*hears_slack*). If that was more than a minute ago, or the
    store was wiped, an outage is recorded, unless *notes_outages* is False; `has_outage`: an outage isn't caught up on
    yet. After a wipe, messages that had *waited* up to so long may be lost; `wipe` is set for a week, and says what
    people had set up, in the words of *counts_set_up*. A *process* counts as running from its first `hold` until it
    calls `leave` or stops calling `hold`.
    """

    scripts: Scripts
    _: KW_ONLY
    name: str
    team: str
    bot: str
    now: Callable[[], datetime]
    audit_lifetime: timedelta = timedelta(0)
    workspace: str = ""
    process: str = ""
    session_lifetime: timedelta = TRACE
    hears_slack: Callable[[], bool] = lambda: True
    notes_outages: bool = True
    waited: timedelta = timedelta(days=1)
    counts_set_up: Callable[[], Awaitable[str]] = _nothing
    since: datetime | None = None
    is_held: bool = False
    has_outage: bool = False
    wipe: Wipe | None = None
    _set_up: str = ""

    async def claim(self) -> None:
        """Take the namespace, if the Redis user has all permissions. Raises `NamespaceTaken` and `StoreUnavailable`."""
        await ensured(self._claim)

    async def _claim(self) -> None:
        redis, keys = self.scripts.redis, self.scripts.keys
        try:
            if denied := [command for command in await denied_to(redis, keys) if command not in OPTIONAL]:
                raise StoreUnavailable("refused", ", ".join(denied), cure(redis, keys, denied))
            await self.hold()
        except Unexpected as exc:
            raise unexpected(exc) from exc

    async def hold(self, *, hears_slack: bool = False) -> None:
        """Take or confirm the namespace. Raises `NamespaceTaken` and `StoreUnavailable`.

        With *hears_slack*, Slack is about to reach this process.
        """
        try:
            await self.scripts.ask_clock()
            # A starting process was down, however briefly.
            gap = milliseconds(_HEARTBEAT_MISSED if self.since else timedelta(0))
            set_up = await self.counts_set_up()  # before the wipe is noticed, so that it isn't what is left after it
            now, asked = self.now(), self.scripts.clock.elapsed()
            facts = {
                "team": self.team,
                "bot": self.bot,
                "now": str(epoch_ms(now)),
                "url": self.workspace,
                "gap_ms": gap,  # the longest normal pause between heartbeats
                "refusing_ms": milliseconds(RESENT_WITHIN),
                "most_refusing": REFUSING_LENGTH,
                "hears_slack": hears_slack or self.hears_slack(),
                "silent_ms": milliseconds(_SLACK_SILENT) if self.notes_outages else 0,  # 0: don't catch up
                "outage_ms": milliseconds(MARKED),
                "since": str(epoch_ms(self.since)) if self.since else "",
                "waiting_since": str(epoch_ms(now - min(self.waited, TRACE))),  # no message waits for longer
                "set_up": self._set_up,
                "process": self.process,
                "process_ms": milliseconds(HEARD),
            }
            answer, since, *more = await self.scripts.run("open", facts)
            if answer == "taken":
                raise NamespaceTaken(self.name, since)
            clock, has_outage, *wiped = more
            self.scripts.clock.hear_redis(from_epoch_ms(float(clock)), asked)
            self.wipe = Wipe.read(wiped, now)
            opened_at = from_epoch_ms(since)
            if self.since is not None and opened_at != self.since:
                log.error(
                    "Redis was wiped: set up again what people had set up; "
                    "sessions are recovered from their threads, and waiting messages from Slack's history",
                    extra={"lost": self._set_up},
                )
            self.since, self._set_up = opened_at, set_up
            self.has_outage = bool(has_outage)
            await self.scripts.look_for_replicas()
        except BridgeError:
            self.is_held = False
            raise
        self.is_held = True

    def notice_outage(self) -> None:
        """Notice an outage before the next `hold` does."""
        self.has_outage = True

    async def leave(self) -> None:
        """Remove this process from the running ones. Raises `StoreUnavailable`."""
        await self.scripts.redis.zrem(self.scripts.keys.processes(), self.process)

    async def prune_dead_consumers(self) -> int:
        """Delete consumers of processes that ended long ago, old audit entries, and idle threads from their index.

        Returns how many consumers were deleted.
        """
        facts = {
            "gone_ms": milliseconds(_CONSUMER_GONE),
            "oldest": self.scripts.redis_time(-(self.audit_lifetime or UNAUDITED)),
            "idle_since": epoch_ms(self.now() - self.session_lifetime) // 1000,
            "session_ms": milliseconds(self.session_lifetime),
        }
        return int(await self.scripts.run("forget", facts))
