"""Whatever happens in whatever order, the inbox and the journal do what the model of them does."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from hypothesis import HealthCheck, settings
from redis.asyncio import Redis

from support.fake_redis import InProcessRedis
from support.inbox_machine import InboxMachine


class InProcess(InboxMachine):
    """On the Redis in this process."""

    def opened(self) -> AbstractAsyncContextManager[Redis]:
        return InProcessRedis(decode_responses=True, protocol=2, version=(7,))


TestInProcess = InProcess.TestCase
TestInProcess.settings = settings(
    max_examples=20, stateful_step_count=50, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
