"""A real bridge that kills itself at a given point, forked by `support.fork_server` for `support.system`."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx_aiohttp

from bridge.app import Bridge, Connections
from bridge.app.connections import Kinds
from bridge.cli.running import config_of, run
from bridge.common_clock import CommonClock
from bridge.logs import configure
from bridge.metrics import Metrics
from bridge.project import ProjectClient
from bridge.queue.redis.connection import blocking_connection, connect
from bridge.settings import Settings, load
from bridge.slack.api import opened
from support.kill_points import SEPARATOR, InstrumentedTransport, KillPoints, instrumented, watch_slack
from support.ports import NO_TLS


async def serve(
    settings: Settings, points: KillPoints, timing: Mapping[str, timedelta], ahead: timedelta = timedelta(0)
) -> int:
    """Run a bridge as `bridge.app.serve` does, on instrumented wires; its machine's clock is *ahead*."""
    configure(settings.log_format, settings.log_level)
    draining = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, draining.set)
    metrics, url = Metrics(), str(settings.redis_url and settings.redis_url.get_secret_value())

    def connected(*arguments: Any, **options: Any) -> ProjectClient:
        transport = InstrumentedTransport(httpx_aiohttp.AiohttpTransport(verify=NO_TLS), points)
        return ProjectClient(*arguments, **options, transport=transport)

    project = connected(
        settings.project_base_url,
        settings.project_api_key.get_secret_value(),
        chat_timeout=settings.chat_timeout,
        run_timeout=settings.run_timeout,
        observe=metrics.upstream,
    )
    token, clock = settings.slack_bot_token.get_secret_value(), CommonClock(lambda: datetime.now(UTC) + ahead)
    async with (
        instrumented(connect(url), points) as redis,
        instrumented(blocking_connection(url), points) as blocking,
        opened(settings.slack_api_url, token, metrics, clock=clock) as web,
        project,
    ):
        if web.client.session is not None:
            watch_slack(web.client.session, points)
        wires = Connections(metrics, redis, blocking, web, project, kinds=Kinds(client=connected))
        read = partial(config_of, dict(os.environ))
        await Bridge(settings, wires, draining, read, **timing).run()
    return 0


def run_until_killed(kill_at: str, point_log: str, timing: Mapping[str, float]) -> int:
    """Run the bridge that the environment configures until *kill_at*; write the points passed to *point_log*, if any.

    *timing* has seconds for arguments of `serve` and `Bridge`.
    """
    lasting = {name: timedelta(seconds=seconds) for name, seconds in timing.items()}
    file = os.open(point_log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def may(point: str) -> bool:
        """Whether no other process has been killed at a *point* that several may be."""
        try:
            if SEPARATOR in kill_at:
                Path(point_log).with_name(f"killed {point}".replace("/", " ")).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    points = KillPoints(kill_at, lambda point: os.write(file, f"{point}\n".encode()) and None, may)
    return run(lambda: serve(load(os.environ), points, lasting, lasting.pop("ahead", timedelta(0))))
