"""The namespaces in a Redis, each of one bot. Only reads."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from operator import attrgetter
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from bridge.errors import StoreUnavailable
from bridge.queue.keys import Keys
from bridge.queue.scripting import server_time
from bridge.queue.status import RUNNING, last_heard

_SCAN: Final = 10_000  # keys at a time; a server scans millions per second
_ROUNDS: Final = 300
_MOST: Final = 200  # namespaces that are looked up


@dataclass(frozen=True, slots=True)
class Tenant:
    """A *namespace* that a bridge has used: when it was last used, and whether a bridge is running."""

    namespace: str
    last_used: timedelta
    is_at_work: bool


async def tenant(redis: Redis, namespace: str) -> Tenant | None:
    """Look up *namespace*; None if it was never used. Raises `StoreUnavailable`."""
    keys = Keys(namespace)
    since = await redis.hget(keys.owner(), "since")
    if since is None:
        return None
    try:
        # The IDs of a stream are times by this server's clock, and survive restarts.
        latest = int(str((await redis.xinfo_stream(keys.ready()))["last-generated-id"]).partition("-")[0])
    except ResponseError:  # wiped and not set up again yet
        latest = 0
    seconds = int(await server_time(redis))
    heard = await last_heard(redis, keys)
    used = timedelta(seconds=max(0, seconds - max(int(since), latest) // 1000))
    return Tenant(namespace, used, any(ago < RUNNING for ago in heard.values()))


async def all_tenants(redis: Redis) -> list[Tenant]:
    """Find every tenant, latest first: in a cluster those of one node, in a huge Redis those of the first keys."""
    owners = Keys("*").owner()
    prefix, _, suffix = owners.partition("*")
    names: set[str] = set()
    cursor = 0
    with suppress(StoreUnavailable):  # SCAN may be forbidden
        for _ in range(_ROUNDS):
            cursor, keys = await redis.scan(cursor, match=owners, count=_SCAN)
            names.update(str(key).removeprefix(prefix).removesuffix(suffix) for key in keys)
            if cursor == 0:
                break
    tenants: list[Tenant] = []
    for name in sorted(names)[:_MOST]:
        with suppress(StoreUnavailable, ResponseError):  # others' keys may be forbidden
            tenants += filter(None, [await tenant(redis, name)])
    return sorted(tenants, key=attrgetter("last_used"))
