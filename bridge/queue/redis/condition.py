"""The state and settings of a Redis server. Only reads."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from bridge.errors import StoreUnavailable
from bridge.queue.keys import Keys
from bridge.queue.permissions import OPTIONAL, cure, denied_to
from bridge.queue.redis.refusals import lacks_command
from bridge.queue.status import RUNNING, last_heard
from bridge.queue.wipe import FIELDS, Wipe

T = TypeVar("T")

NEARLY_FULL: Final = 0.9  # of maxmemory

_PINGS = 5
_CONFIRM_MS = 200


@dataclass(frozen=True, slots=True)
class RedisCondition:
    """The state and settings of a server; *appendfsync* is ``""`` if it's hidden, as managed servers do.

    *syncs_in_rewrites*: it also syncs while rewriting its file. *can_write*: the last write of its file succeeded.
    *policy* is maxmemory-policy, *memory* what's used of *maxmemory* (0: no limit). *owner* is the namespace's (team,
    bot user), or None. *confirming* is how many
    *replicas* have every write. *round_trip* is in seconds. *wipe*: the server was emptied recently. *running* is how
    many bridges run in the namespace. *denied* are commands that the user may not run, and *cure* allows them; without
    INFO, most is unknown.
    """

    product: str
    version: tuple[int, ...]
    is_replica: bool
    is_append_only: bool
    appendfsync: str
    syncs_in_rewrites: bool
    can_write: bool
    policy: str
    maxmemory: int
    memory: int
    replicas: int
    confirming: int
    owner: tuple[str, str] | None
    round_trip: float
    wipe: Wipe | None = None
    running: int = 0
    denied: tuple[str, ...] = ()
    cure: str = ""

    @property
    def evicts(self) -> bool:
        """Whether it deletes data once it's full; otherwise, it refuses writes then."""
        return self.policy not in {"noeviction", ""}

    @property
    def is_nearly_full(self) -> bool:
        """Whether more than `NEARLY_FULL` of its memory is used."""
        return self.maxmemory > 0 and self.memory > NEARLY_FULL * self.maxmemory


async def condition_of(redis: Redis, namespace: str, monotonic: Callable[[], float]) -> RedisCondition:
    """Ask the server that has the keys of *namespace*. Raises `StoreUnavailable`."""
    keys = Keys(namespace)
    denied = await denied_to(redis, keys)
    if not OPTIONAL.issuperset(denied):
        raise StoreUnavailable("refused", ", ".join(denied), cure(redis, keys, denied))

    async def unless_denied(command: str, answer: Awaitable[T], otherwise: T) -> T:
        try:
            return await answer
        except StoreUnavailable as exc:
            if not lacks_command(exc):
                raise
            denied.append(command)
            return otherwise

    owner = await redis.hmget(keys.owner(), ["team", "bot", *FIELDS])  # in a cluster: leads to its node
    heard = await last_heard(redis, keys)
    about: dict[str, Any] = await unless_denied("INFO", redis.info(), {})
    replicas = int(about.get("connected_slaves", 0))
    confirming = int(await unless_denied("WAIT", redis.wait(1, _CONFIRM_MS), 0)) if replicas else 0
    round_trips = []
    for _ in range(_PINGS):
        started_at = monotonic()
        await redis.ping()
        round_trips.append(monotonic() - started_at)
    syncing: dict[Any, Any] = {}
    with suppress(StoreUnavailable, ResponseError):  # managed servers and careful ACLs hide CONFIG
        syncing = await redis.config_get("*appendfsync*")  # 6.2 accepts only one pattern
    valkey = str(about.get("valkey_version", ""))
    version = re.findall(r"\d+", valkey or str(about.get("redis_version", "")))
    return RedisCondition(
        product="Valkey" if valkey else "Redis",
        version=tuple(int(number) for number in version[:3]),
        is_replica=about.get("role") == "slave",
        is_append_only=int(about.get("aof_enabled", 0)) == 1,
        appendfsync=syncing.get("appendfsync", ""),
        syncs_in_rewrites=syncing.get("no-appendfsync-on-rewrite") != "yes",
        can_write=about.get("aof_last_write_status", "ok") == "ok",
        policy=str(about.get("maxmemory_policy", "")),
        maxmemory=int(about.get("maxmemory", 0)),
        memory=int(about.get("used_memory", 0)),
        replicas=replicas,
        confirming=confirming,
        owner=(str(owner[0]), str(owner[1])) if owner[0] else None,
        round_trip=min(round_trips),  # the longer ones measure this machine
        wipe=Wipe.read(owner[2:], datetime.now(UTC)),
        running=sum(ago < RUNNING for ago in heard.values()),
        denied=tuple(denied),
        cure=cure(redis, keys, denied),
    )
