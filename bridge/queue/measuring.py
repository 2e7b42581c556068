"""What Redis knows of the queue whenever metrics are read, in some fifteen round trips."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any, Final

from redis.exceptions import ResponseError

from bridge.ids import Lane
from bridge.metrics import Metrics
from bridge.queue.keys import GROUP
from bridge.queue.scripting import Scripts, epoch_ms, server_time
from bridge.queue.status import oldest_of

_MOST: Final = 100  # lanes looked at, in each state
_LATE: Final = timedelta(minutes=1)


async def measure(scripts: Scripts, metrics: Metrics) -> None:
    """Have *metrics* show how Redis answers, and what's late. Raises `StoreUnavailable`."""
    redis, keys, now, began = scripts.redis, scripts.keys, scripts.clock.now(), time.perf_counter()
    by_redis = await server_time(redis)
    metrics.redis_round_trip.set(time.perf_counter() - began)
    for state, lanes in (await _lanes(scripts)).items():
        oldest = await oldest_of(scripts, lanes) or now
        metrics.oldest_message.labels(state).set(max(0.0, (now - oldest).total_seconds()))
    for what, key in (("schedules", keys.due()), ("approvals", keys.approvals())):
        metrics.late_slots.labels(what).set(await redis.zcount(key, "-inf", epoch_ms(now - _LATE)))
    consumed: Any = await redis.hget(keys.consumed(), "entry")
    entries: Any = await redis.xrange(keys.audit(), min=f"({consumed}" if consumed else "-", count=1)
    finished = int(entries[0][0].partition("-")[0]) / 1000 if entries else by_redis  # the server made its ID
    metrics.finished_lag.set(max(0.0, by_redis - finished))


async def _lanes(scripts: Scripts) -> dict[str, list[Lane]]:
    """Return the first lanes in each state. What was delivered to a process is running there, or is taken over soon."""
    redis, keys, most = scripts.redis, scripts.keys, _MOST
    try:
        groups: Any = await redis.xinfo_groups(keys.ready())
    except ResponseError:  # the store was just wiped
        groups = []
    last = next((one["last-delivered-id"] for one in groups if one["name"] == GROUP), "0-0")
    async with redis.pipeline(transaction=False) as pipe:
        pipe.xrange(keys.ready(), min=f"({last}", count=most)
        pipe.xrange(keys.ready(), max=last, count=most)
        pipe.hscan(keys.parked(), count=most)
        pipe.hscan(keys.held(), count=most)
        waiting, running, (_, parked), (_, held) = await pipe.execute()
    return {
        "waiting": [Lane(fields["lane"]) for _entry, fields in waiting],
        "running": [Lane(fields["lane"]) for _entry, fields in running],
        "parked": [Lane(lane) for lane in parked if lane not in held][:most],
        "held": [Lane(lane) for lane in parked if lane in held][:most],
    }
