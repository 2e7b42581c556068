"""Several scripts in one round trip: what is asked for while others are under way goes out together after them.

A process that is busy has dozens of lanes, each at some step; alone, every step would pay for a write, a read and a
connection of its own, which is most of what a step costs. One lane by itself notices nothing: its script goes out at
once. Scripts in a batch know nothing of one another: each has its own answer, or its own error. In the benchmark this
alone gives 1.3 times the acknowledgements and, with 64 threads, 1.3 times the turns in a second.

One batch is under way at a time, so one connection is enough, and it is kept: to take one from the pool for each, and
to give it back, is a third of what a step costs a process that was idle before.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from bridge.queue.redis.redis_py import Command, KeptConnection

MOST_AT_ONCE = 128


@dataclass(frozen=True, slots=True)
class _Asked:
    """One script that somebody waits for."""

    command: Command
    answer: asyncio.Future[Any]

    def settle(self, answer: Any) -> None:
        """Hand over what came back; whoever waited may have given up."""
        if self.answer.done():
            return
        if isinstance(answer, BaseException):
            self.answer.set_exception(answer)
        else:
            self.answer.set_result(answer)


class Batches:
    """Runs scripts on *redis*: one batch after the other."""

    def __init__(self, redis: Redis) -> None:
        self._connection = KeptConnection(redis.connection_pool)
        self._waiting: deque[_Asked] = deque()
        self._sender: asyncio.Task[None] | None = None

    async def run(self, command: Command) -> Any:
        """Run one script: EVAL or EVALSHA with all that belongs to it. Raises what redis-py raises."""
        asked = _Asked(command, asyncio.get_running_loop().create_future())
        self._waiting.append(asked)
        if self._sender is None:
            self._sender = asyncio.create_task(self._send_all())
        return await asked.answer

    async def _send_all(self) -> None:
        batch: list[_Asked] = []
        try:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))]
                for asked, answer in zip(batch, await self._answers(batch), strict=True):
                    asked.settle(answer)
        finally:
            self._sender = None
            for asked in (*batch, *self._waiting):  # only where this task itself is ended: nobody shall wait for ever
                asked.answer.cancel()
            self._waiting.clear()

    async def _answers(self, batch: list[_Asked]) -> list[Any]:
        """What came back for each: an answer or an exception."""
        try:
            return await self._connection.answers([asked.command for asked in batch])
        except RedisError as exc:
            return [exc] * len(batch)
