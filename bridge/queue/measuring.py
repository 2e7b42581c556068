"""What Redis knows of the queue whenever metrics are read, in seven round trips."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from redis.exceptions import ResponseError

from bridge.ids import Lane
from bridge.metrics import Metrics
from bridge.queue.keys import GROUP
from bridge.queue.scripting import Scripts, epoch_ms, server_time
from bridge.queue.status import first_accepted

_MOST: Final = 100  # lanes looked at, in each state
_LATE: Final = timedelta(minutes=1)


async def measure_queue(scripts: Scripts, metrics: Metrics, due: Sequence[tuple[str, str]]) -> None:
    """Have *metrics* show how Redis answers, and what's late. Raises `StoreUnavailable`.

    *due* names what's due at times, each with the line of its sorted set in the table of keys.
    """
    redis, keys, now, began = scripts.redis, scripts.keys, scripts.clock.now(), time.perf_counter()
    metrics.redis_round_trip.set(math.nan)
    by_redis = await server_time(redis)
    metrics.redis_round_trip.set(time.perf_counter() - began)
    lanes = await _lanes(scripts)
    accepted = dict(zip(lanes, await first_accepted(scripts, list(lanes)), strict=True))
    for state in ("waiting", "running", "parked", "held"):
        oldest = min((at for lane, at in accepted.items() if at and lanes[lane] == state), default=now)
        metrics.oldest_message.labels(state).set(max(0.0, (now - oldest).total_seconds()))
    async with redis.pipeline(transaction=False) as pipe:
        for _what, line in due:
            pipe.zcount(getattr(keys, line)(), "-inf", epoch_ms(now - _LATE))
        pipe.hget(keys.consumed(), "entry")
        *late, consumed = await pipe.execute()
    for (what, _line), slots in zip(due, late, strict=True):
        metrics.late_slots.labels(what).set(slots)
    entries: Any = await redis.xrange(keys.audit(), min=f"({consumed}" if consumed else "-", count=1)
    finished = int(entries[0][0].partition("-")[0]) / 1000 if entries else by_redis  # the server made its ID
    metrics.finished_lag.set(max(0.0, by_redis - finished))


async def _lanes(scripts: Scripts) -> dict[Lane, str]:
    """Return the first lanes in each state. What was delivered to a process is running there, or is taken over soon."""
    redis, keys = scripts.redis, scripts.keys
    try:
        groups: Any = await redis.xinfo_groups(keys.ready())
    except ResponseError:  # the store was just wiped
        groups = []
    last = next((group["last-delivered-id"] for group in groups if group["name"] == GROUP), "0-0")
    async with redis.pipeline(transaction=False) as pipe:
        pipe.xrange(keys.ready(), min=f"({last}", count=_MOST)
        pipe.xrange(keys.ready(), max=last, count=_MOST)
        pipe.hscan(keys.parked(), count=_MOST)
        waiting, running, (_, turns) = await pipe.execute()
    parked = list(turns)[:_MOST]
    stops: Any = await redis.hmget(keys.held(), parked) if parked else []
    return {
        **{Lane(lane): "held" if stop else "parked" for lane, stop in zip(parked, stops, strict=True)},
        **{Lane(fields["lane"]): "waiting" for _entry, fields in waiting},
        **{Lane(fields["lane"]): "running" for _entry, fields in running},
    }
