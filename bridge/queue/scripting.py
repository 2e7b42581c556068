"""Run the Lua scripts: each is one atomic step, and the only place where the inbox and the journal are written.

A script is sent by its hash, and as a whole where Redis does not have it (after a restart or a failover). To load it
first would be a step of its own: while a master is replaced, that can reach one server and the script the other.
Every script may be repeated when its answer was lost: it finds what it did, and says so.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoScriptError

from bridge.errors import StoreUnavailable
from bridge.metrics import Metrics
from bridge.queue.keys import Keys, helpers
from bridge.queue.records import VERSION
from bridge.queue.redis.batching import Batches
from bridge.queue.redis.connection import translated

_REPLICA_WAIT_MS = 50


@cache
def source(name: str) -> str:
    """The text of ``scripts/<name>.lua`` with the prelude before it, and what is made of Python's: VERSION and keys."""
    folder = files("bridge.queue") / "scripts"
    text = f"{(folder / 'prelude.lua').read_text()}\n{(folder / f'{name}.lua').read_text()}"
    return f"local VERSION = {VERSION}\n{helpers(text)}\n{text}"


@cache
def digest(name: str) -> str:
    """The hash by which Redis knows the script."""
    return hashlib.sha1(source(name).encode(), usedforsecurity=False).hexdigest()


def epoch_ms(moment: datetime) -> int:
    """A moment as scripts take it."""
    return int(moment.timestamp() * 1000)


def or_empty(value: int | None) -> str | int:
    """A number as scripts take it where there may be none."""
    return "" if value is None else value


class Scripts:
    """The scripts of one namespace on one *redis*.

    With replicas present (`has_replicas`, kept by the heartbeat) a step that is run with ``confirmed=True`` waits
    briefly until one of them has it, because a failover could otherwise undo it; a missing confirmation is counted.
    Where there is no replica any more either, one of them may just have become the master, without the step: so a
    step that is *repeatable* counts as not done then, and whoever asked for it does it again.
    """

    def __init__(self, redis: Redis, namespace: str, metrics: Metrics) -> None:
        self.redis = redis
        self.keys = Keys(namespace)
        self.has_replicas = False
        self.clock_ahead = timedelta(0)  # how far this server's clock is ahead of ours
        self._metrics = metrics
        self._batches = Batches(redis)

    async def run(self, name: str, *args: str | int, confirmed: bool = False, repeatable: bool = False) -> Any:
        """Run script *name*. Raises `bridge.errors.StoreUnavailable`."""
        with translated():
            try:
                answer, is_sure = await self._send("EVALSHA", digest(name), args, confirmed=confirmed)
            except NoScriptError:  # it has not run
                answer, is_sure = await self._send("EVAL", source(name), args, confirmed=confirmed)
        if not is_sure:
            self._metrics.wait_missing()
            if repeatable:
                await self.look_for_replicas()
                if not self.has_replicas:
                    raise StoreUnavailable("away")
        return answer

    async def look_for_replicas(self) -> None:
        """Find out whether there are any now."""
        with translated():
            replication = await self.redis.info("replication")
        self.has_replicas = int(replication.get("connected_slaves", 0)) > 0

    def redis_time(self, now: datetime, later: timedelta) -> int:
        """The server's own clock (ms), *later* than our *now*."""
        return epoch_ms(now + self.clock_ahead + later)

    async def _send(self, verb: str, script: str, args: tuple[str | int, ...], *, confirmed: bool) -> tuple[Any, bool]:
        """Run it; gives the answer, and False where a replica should have it and none says so."""
        command = (verb, script, 1, self.keys.prefix, *args)
        if not (confirmed and self.has_replicas):
            return await self._batches.run(command), True
        async with self.redis.pipeline(transaction=False) as pipe:  # WAIT speaks of its own connection's writes
            pipe.execute_command(*command)
            pipe.wait(1, _REPLICA_WAIT_MS)
            answer, replicas = await pipe.execute()
        return answer, replicas > 0
