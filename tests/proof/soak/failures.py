"""Random failures, one after another; each ends after a while."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

from bridge.playground.emulator import faults
from bridge.playground.sample_project.answers import DropAfter, DropBefore, PlannedAnswer
from proof.soak.fleet import Fleet
from support.real_redis import RealRedis
from support.system import System

_CHAT = "/api/sdk/agents/1/chat"
_SLACK = (
    faults.RateLimited(2),
    faults.Http(500),
    faults.Http(503),
    faults.Slow(2.0),
    faults.DropBefore(),
    faults.DropAfter(),
)
_SERVICE = (
    PlannedAnswer(500, {"error": "boom"}),
    PlannedAnswer(429, {"error": "slow down"}, headers={"Retry-After": "1"}),
    PlannedAnswer(200, body=b"<html>hello</html>"),
    PlannedAnswer(200, body=b'{"sessionId": 1, "mess'),
    DropBefore(),
    DropAfter(),
)
# Commands that make Redis refuse writes (out of memory, replica missing, turned into a replica), each with its inverse.
_REDIS = (
    (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
    (("CONFIG", "SET", "min-replicas-to-write", "1"), ("CONFIG", "SET", "min-replicas-to-write", "0")),
    (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
)
_MORE_OFTEN = ("bridge killed", "bridge killed", "redis killed", "slack fails", "service fails")


class Failures:
    """Causes failures in the *fleet* of bridges, Slack, the project service and Redis."""

    def __init__(self, system: System, fleet: Fleet, redis: RealRedis, chance: random.Random) -> None:
        self.made: Counter[str] = Counter()
        self._system = system
        self._fleet = fleet
        self._redis = redis
        self._chance = chance
        self._kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "bridge killed": self._kill,
            "bridge suspended": self._suspend,
            "bridge terminated": self._end,
            "redis killed": self._kill_redis,
            "redis suspended": self._suspend_redis,
            "redis refuses": self._let_redis_refuse,
            "redis hangs up": self._let_redis_hang_up,
            "service down": self._stop_service,
            "service fails": self._let_service_fail,
            "slack fails": self._let_slack_fail,
            "slack redelivers": self._redeliver,
        }

    def another_chance(self) -> random.Random:
        """A generator of its own for each task, so that timing doesn't change the choices."""
        return random.Random(self._chance.random())  # noqa: S311 - the same seed makes the same choices

    async def run(self, is_over: asyncio.Event) -> None:
        """Cause failures until *is_over*."""
        while not is_over.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._chance.uniform(0.5, 4)):
                    await is_over.wait()
                return
            kind = self._chance.choice([*self._kinds, *_MORE_OFTEN])
            self.made[kind] += 1
            await self._kinds[kind]()

    async def _kill(self) -> None:
        self._fleet.signal_one(signal.SIGKILL)

    async def _suspend(self) -> None:
        bridge = self._fleet.signal_one(signal.SIGSTOP)
        await self._for(2, 22)  # often longer than a lease
        bridge.send_signal(signal.SIGCONT)

    async def _end(self) -> None:
        self._fleet.signal_one(signal.SIGTERM)

    async def _kill_redis(self) -> None:
        await asyncio.to_thread(self._redis.kill)
        await self._for(0, 3)
        await asyncio.to_thread(self._redis.start)

    async def _suspend_redis(self) -> None:
        self._redis.send_signal(signal.SIGSTOP)
        await self._for(0.5, 5)
        self._redis.send_signal(signal.SIGCONT)

    async def _let_redis_refuse(self) -> None:
        begin, end = self._chance.choice(_REDIS)
        await self._system.redis.execute_command(*begin)
        await self._for(0.1, 3)
        await self._system.redis.execute_command(*end)

    async def _let_redis_hang_up(self) -> None:
        """Drop all connections and cached scripts, as after a failover."""
        await self._system.redis.script_flush()
        await self._system.redis.client_kill_filter(_type="normal", skipme=True)

    async def _stop_service(self) -> None:
        await self._system.project.stop()
        await self._for(1, 12)
        await self._system.project.start()

    async def _let_service_fail(self) -> None:
        self._system.project.on("POST", _CHAT, self._chance.choice(_SERVICE), times=self._chance.randint(1, 4))

    async def _let_slack_fail(self) -> None:
        method = self._chance.choice(
            ("chat.postMessage", "chat.postMessage", "chat.update", "conversations.replies", "*")
        )
        self._system.slack.faults.on(method, self._chance.choice(_SLACK), times=self._chance.randint(1, 5))

    async def _redeliver(self) -> None:
        """Deliver some past events again, out of order."""
        events = [one for one in self._system.slack.deliveries if one.kind == "event"]
        for one in self._chance.sample(events, min(5, len(events))):
            event = one.payload["event"]
            await self._system.slack.people.send_event(
                event, event.get("channel", ""), event_id=one.payload["event_id"]
            )

    async def _for(self, least: float, most: float) -> None:
        await asyncio.sleep(self._chance.uniform(least, most))
