"""Who uses a Redis: the namespaces in it, each of one bot. Nothing is written."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from bridge.errors import StoreUnavailable
from bridge.queue.keys import GROUP, Keys
from bridge.queue.redis.connection import connect, translated

_AT_WORK: Final = timedelta(seconds=20)  # a worker asks for work every five
_SCAN: Final = 10_000  # keys at a time, of which a server looks through millions in a second
_ROUNDS: Final = 300
_MOST: Final = 200  # namespaces that are asked


@dataclass(frozen=True, slots=True)
class Tenant:
    """A *namespace* that a bridge has used: when it last took something in, and whether one is running there now."""

    namespace: str
    last_used: timedelta
    is_at_work: bool


async def tenants(url: str, namespace: str) -> tuple[Tenant | None, list[Tenant]]:
    """Find the tenant of *namespace* in the Redis at *url*; where there is none, also all others.

    Of a cluster only the node is looked through that would have *namespace*; of a huge Redis, the first keys.
    Raises `StoreUnavailable`.
    """
    async with connect(url) as redis:
        with translated():
            found = await _tenant(redis, namespace)
        if found:
            return found, []
        others: list[Tenant] = []
        for name in (await _namespaces(redis))[:_MOST]:
            # Another's keys may be forbidden, or another program's.
            with suppress(StoreUnavailable, ResponseError), translated():
                others += filter(None, [await _tenant(redis, name)])
        return None, sorted(others, key=lambda tenant: tenant.last_used)


async def _namespaces(redis: Redis) -> list[str]:
    names: set[str] = set()
    owners = Keys("*").owner()
    before, _, behind = owners.partition("*")
    cursor = 0
    with suppress(StoreUnavailable), translated():  # SCAN may be forbidden
        for _ in range(_ROUNDS):
            cursor, keys = await redis.scan(cursor, match=owners, count=_SCAN)
            names.update(str(key).removeprefix(before).removesuffix(behind) for key in keys)
            if cursor == 0:
                break
    return sorted(names)


async def _tenant(redis: Redis, namespace: str) -> Tenant | None:
    keys = Keys(namespace)
    since = await redis.hget(keys.owner(), "since")
    if since is None:
        return None
    try:
        # The ids of a stream are times of this server, and outlive its restarts.
        latest = int(str((await redis.xinfo_stream(keys.ready()))["last-generated-id"]).partition("-")[0])
        consumers: list[dict[str, Any]] = await redis.xinfo_consumers(keys.ready(), GROUP)
    except ResponseError:  # wiped, and not set up again yet
        latest, consumers = 0, []
    seconds, _ = await redis.time()
    used = timedelta(seconds=max(0, seconds - max(int(since), latest) // 1000))
    is_at_work = any(timedelta(milliseconds=int(one["idle"])) < _AT_WORK for one in consumers)
    return Tenant(namespace, used, is_at_work)
