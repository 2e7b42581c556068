"""The wires: connections that stay open for the life of the process."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from redis.asyncio import Redis

from bridge.metrics import Metrics
from bridge.project import ProjectClient
from bridge.queue.inbox import Inbox
from bridge.queue.journal import Journal
from bridge.queue.redis.connection import blocking_connection, connect
from bridge.queue.redis.embedded import Keeper, embedded_redis
from bridge.queue.worker import Work
from bridge.setting_types import EMBEDDED
from bridge.settings import Settings
from bridge.slack.api import SlackWeb, opened
from bridge.slack.payloads import Dispatch

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Kinds:
    """What some parts are built with, and what wraps the *door* and the worker's *work*; traces have other kinds."""

    inbox: type[Inbox] = Inbox
    journal: type[Journal] = Journal
    client: type[ProjectClient] = ProjectClient
    web: type[SlackWeb] = SlackWeb
    door: Callable[[Dispatch], Dispatch] = lambda dispatch: dispatch
    work: Callable[[Work], Work] = lambda work: work


@dataclass(frozen=True, slots=True)
class Connections:
    """Connections to Redis (one of them for reads that block), Slack's Web API, and the project service.

    *keeper* watches an embedded Redis, and is None for any other.
    """

    metrics: Metrics
    redis: Redis
    blocking: Redis
    web: SlackWeb
    project: ProjectClient
    keeper: Keeper | None = None
    kinds: Kinds = Kinds()


@asynccontextmanager
async def opened_connections(settings: Settings) -> AsyncIterator[Connections]:
    """Open the wires to the addresses in *settings*."""
    metrics = Metrics()
    async with AsyncExitStack() as stack:
        url, keeper = settings.redis_url.get_secret_value(), None
        if url == EMBEDDED:
            keeper = Keeper(settings.data_dir)
            url = await stack.enter_async_context(embedded_redis(settings.data_dir))
            log.info("using the embedded Redis, for one machine only", extra={"data_dir": str(settings.data_dir)})
        kinds = Kinds()
        if settings.otel_endpoint and os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true":
            from bridge.app.traces import exporting  # noqa: PLC0415 - an extra, which takes time and memory

            kinds = await stack.enter_async_context(exporting(settings.otel_endpoint))
        redis, blocking = connect(url), blocking_connection(url)
        stack.push_async_callback(redis.aclose)
        stack.push_async_callback(blocking.aclose)
        token = settings.slack_bot_token.get_secret_value()
        web = await stack.enter_async_context(opened(settings.slack_api_url, token, metrics, kind=kinds.web))
        project = kinds.client(
            settings.project_base_url,
            settings.project_api_key.get_secret_value(),
            chat_timeout=settings.chat_timeout,
            run_timeout=settings.run_timeout,
            observe=metrics.upstream,
        )
        yield Connections(metrics, redis, blocking, web, await stack.enter_async_context(project), keeper, kinds)
