"""The store as several processes see it, with a clock that tests move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from redis.asyncio import Redis

from bridge.common_clock import CommonClock
from bridge.engine.said_once import SaidOnce
from bridge.features.channels.settings import Channels, ChannelSettings
from bridge.features.conversations.sessions import Sessions
from bridge.ids import Lane, MessageKey, ThreadKey, TurnId, thread_lane
from bridge.inbound import InboundMessage
from bridge.metrics import Metrics
from bridge.playground.emulator import sample
from bridge.queue.inbox import Arrival, Condition, Inbox
from bridge.queue.journal import Journal
from bridge.queue.namespace import Namespace
from bridge.queue.patience import Patience
from bridge.queue.put import Put, Queued
from bridge.queue.quotas import Quota
from bridge.queue.records import Held, Offer, Taken
from bridge.queue.scripting import Scripts
from bridge.queue.turn_log import read_log

NAMESPACE = "test"
PREFIX = "{test}:"
SESSION_LIFETIME = timedelta(days=90)
START = datetime(2026, 3, 4, 12, tzinfo=UTC)
AT_ONCE = timedelta(milliseconds=1)
LONG_IDLE_MS = 60_000
SPARE = timedelta(hours=1)
"""Added to Redis' clock: the test's clock stands still, and no put should be late on a slow machine."""

TEAM, CHANNEL, USER, BOT = sample.TEAM, sample.GENERAL, sample.ALICE, sample.BRIDGE
SECOND = "1700000000."
ROOT = f"{SECOND}000100"
THREAD = ThreadKey(TEAM, CHANNEL, ROOT)
LANE = thread_lane(THREAD)


def message(text: str = "hello there", ts: str = ROOT, **changes: Any) -> InboundMessage:
    """Make a message of `USER`; a reply to `ROOT` unless its *ts* is in another second."""
    fields: dict[str, Any] = {
        "team": TEAM, "channel": CHANNEL, "user": USER, "text": text, "ts": ts, "event_id": f"Ev{ts}",
        "thread_ts": ROOT if ts != ROOT and ts.startswith(SECOND) else "",
    }  # fmt: skip
    return InboundMessage(**fields | changes)


def ts(number: int) -> str:
    """The timestamp of the *number*-th message after `ROOT`."""
    return f"1700000000.{100 + number:06d}"


@dataclass
class Clock:
    """A timezone-aware clock that tests move."""

    time: datetime = START

    def __call__(self) -> datetime:
        return self.time


class ProcessClock(CommonClock):
    """The clock of a process: for it, Redis' and Slack's show the tests' time, and its machine's is *ahead* of that.

    What scripts compare with Redis' real time is converted, with `SPARE`.
    """

    def __init__(self, clock: Clock, ahead: timedelta = timedelta(0)) -> None:
        super().__init__(machine=lambda: clock() + self.is_ahead, elapsed=lambda: clock().timestamp())
        self._clock = clock
        self.is_ahead = ahead
        self.redis_ahead = timedelta(0)

    def hear_redis(self, moment: datetime, asked: float) -> None:
        self.redis_ahead = moment - self._clock() + SPARE
        super().hear_redis(self._clock(), asked)

    def by_redis(self) -> datetime:
        return self._clock() + self.redis_ahead


@dataclass
class Process:
    """One process's use of the store."""

    name: str
    redis: Redis
    inbox: Inbox
    journal: Journal

    async def offer(self) -> Offer:
        """Offer an idle worker for the next message."""
        made = Offer()
        offers = [made]
        self.inbox.hand_to(lambda: offers.pop() if offers else None)
        return made

    async def hold(self, most: int = 10) -> list[Held]:
        """Claim unowned entries."""
        return await self.inbox.wait_for_lanes(self.redis, most=most, block=AT_ONCE)

    async def take_over(self) -> list[Held]:
        """Take over every lane, as if all leases had expired."""
        return await self.inbox.claim_from_the_dead(lease=timedelta(0), most=10)

    async def take(self, held: Held | None = None, *, begins: bool = True) -> Taken:
        """Take a readable head: of *held*, or of the next unowned lane."""
        taken = await self.journal.take(held or (await self.hold(most=1))[0], begins=begins)
        assert isinstance(taken, Taken)
        return taken


@dataclass
class Store:
    """The store of one namespace."""

    redis: Redis
    scripts: Scripts
    sessions: Sessions
    said_once: SaidOnce
    channels: Channels
    namespace: Namespace
    clock: Clock
    process_clock: ProcessClock
    processes: dict[str, Process] = field(default_factory=dict)
    limits: Sequence[Quota] = ()
    audit_lifetime: timedelta = timedelta(0)
    make: Callable[[str], Process] | None = None  # a process with more than the store
    on_put: Callable[[InboundMessage], None] = lambda _: None  # notified of each put

    def process(self, name: str = "a") -> Process:
        """Return the process *name*."""
        if name not in self.processes:
            self.processes[name] = (self.make or self._process)(name)
        return self.processes[name]

    def _process(self, name: str) -> Process:
        how: Any = {"consumer": name, "session_lifetime": SESSION_LIFETIME, "now": self.clock}
        inbox = Inbox(self.scripts, **how, limits=lambda _: self.limits)
        journal = Journal(self.scripts, Patience(asyncio.Event()), **how)
        return Process(name, self.redis, inbox, journal)

    async def put(self, inbound: InboundMessage | None = None, *, by: str = "a", **changes: Any) -> Put:
        """Put a message as the receiver of the process *by* does, binding its thread or requiring that it is bound."""
        inbound = inbound or message()
        self.on_put(inbound)
        condition = Condition.START if inbound.is_root else Condition.BOUND
        arrival = Arrival(inbound=inbound, message=inbound, thread=inbound.thread, condition=condition)
        return await self.process(by).inbox.put_arrival(replace(arrival, **changes))

    async def queue(self, inbound: InboundMessage | None = None, **changes: Any) -> TurnId:
        """Queue a message; return its turn."""
        put = await self.put(inbound, **changes)
        assert isinstance(put, Queued)
        return put.turn

    async def conversation(self, agent: int = 1) -> TurnId:
        """Start a conversation with *agent*; its first message is queued, without a menu."""
        return await self.queue(agent=agent)

    async def field(self, turn: TurnId, name: str) -> str | None:
        """Read one field of a turn's record."""
        found = await self.redis.hget(f"{PREFIX}turn:{turn}", name)
        return None if found is None else str(found)

    async def did(self, turn: TurnId) -> list[str]:
        """List what a turn's log says it did."""
        return [entry.did for entry in read_log(await self.redis.hgetall(f"{PREFIX}turn:{turn}"))]

    async def box(self, lane: Lane = LANE) -> list[str]:
        """List the turns queued in a lane."""
        return [str(turn) for turn in await self.redis.lrange(f"{PREFIX}box:{lane}", 0, -1)]

    async def entries(self) -> int:
        """Count the entries of the ready stream."""
        return int(await self.redis.xlen(f"{PREFIX}ready"))

    async def days_left(self, key: str) -> float:
        """A key's remaining lifetime in days."""
        return float(await self.redis.pttl(f"{PREFIX}{key}")) / 86_400_000

    async def expire_lease(self, held: Held) -> None:
        """Make an entry idle long enough for its lease to expire."""
        await self._expire([one for one in await self._held() if one["message_id"] == held.entry])

    async def expire_all_leases(self) -> None:
        """Make every entry idle long enough for its lease to expire."""
        await self._expire(await self._held())

    async def wear_out(self, times: int = 8) -> None:
        """Make every lane one that *times* workers took without finishing it."""
        for one in await self._held():
            await self._command(
                "XCLAIM", f"{PREFIX}ready", "workers", one["consumer"], 0, one["message_id"],
                "RETRYCOUNT", times, "JUSTID",
            )  # fmt: skip

    async def leases_are_fresh(self) -> bool:
        """Whether no entry is as idle as `expire_all_leases` makes it."""
        return all(one["time_since_delivered"] < LONG_IDLE_MS for one in await self._held())

    async def _expire(self, entries: list[dict[str, Any]]) -> None:
        for one in entries:
            await self._command(
                "XCLAIM", f"{PREFIX}ready", "workers", one["consumer"], 0, one["message_id"],
                "IDLE", LONG_IDLE_MS, "JUSTID",
            )  # fmt: skip

    async def _held(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self.redis.xpending_range(f"{PREFIX}ready", "workers", "-", "+", 2000)
        return found

    async def dump(self) -> dict[str, Any]:
        """Read the whole keyspace: values, owners, and which keys expire."""
        keys = sorted([key async for key in self.redis.scan_iter()])
        return {key: (await self._value(key), await self.redis.pttl(key) >= 0) for key in keys}

    async def _value(self, key: str) -> Any:
        kind = str(await self.redis.type(key))
        if kind == "stream":
            return await self.redis.xrange(key), await self._all_pending(key)
        if ":distinct:" in key:  # a HyperLogLog, whose string isn't text
            return await self._command("PFCOUNT", key)
        how = {"string": ("GET", key), "hash": ("HGETALL", key), "list": ("LRANGE", key, 0, -1)}
        command = how.get(kind, ("ZRANGE", key, 0, -1, "WITHSCORES"))
        return await self._command(*command)

    async def _command(self, *words: str | int) -> Any:
        return await self.redis.execute_command(*words)  # type: ignore[no-untyped-call] # untyped in redis-py

    async def set_channel(self, channel: str = CHANNEL, team: str = TEAM, **settings: Any) -> None:
        """Replace a channel's settings with *settings*."""
        stored = await self.channels.stored(team, channel)
        assert await self.channels.replace(team, channel, stored, ChannelSettings(**settings))

    async def _all_pending(self, key: str) -> list[tuple[Any, ...]]:
        try:
            pending = await self.redis.xpending_range(key, "workers", "-", "+", 100)
        except Exception as exc:  # noqa: BLE001 - a stream without its group, which redis-py has no class for
            return [("no group", "NOGROUP" in str(exc))]
        return [(one["message_id"], one["consumer"], one["times_delivered"]) for one in pending]

    async def contains_text(self, words: str) -> bool:
        """Whether *words* occur anywhere in Redis."""
        return words in repr(await self.dump())


async def open_store(
    redis: Redis,
    clock: Clock | None = None,
    metrics: Metrics | None = None,
    *,
    limits: Sequence[Quota] = (),
    audit_lifetime: timedelta = timedelta(0),
) -> Store:
    """Open a store in the namespace of the tests."""
    clock = clock or Clock()
    process_clock = ProcessClock(clock)
    scripts = Scripts(redis, NAMESPACE, metrics or Metrics(), process_clock)
    namespace = Namespace(scripts, name=NAMESPACE, team=TEAM, bot=BOT, now=clock, audit_lifetime=audit_lifetime)
    store = Store(
        redis, scripts, Sessions(scripts, session_lifetime=SESSION_LIFETIME), SaidOnce(scripts), Channels(scripts),
        namespace, clock, process_clock, limits=limits, audit_lifetime=audit_lifetime,
    )  # fmt: skip
    await namespace.hold()
    return store


def key_of(ts: str) -> MessageKey:
    """Return the identity of the message *ts* in `CHANNEL`."""
    return MessageKey(TEAM, CHANNEL, ts)
