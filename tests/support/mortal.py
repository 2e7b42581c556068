"""``python -m support.mortal``: starts real bridges, each a process of its own that ends at a point of its choice.

A process that has read all modules once forks one bridge for each line on its standard input, because reading them
anew would be most of what each of hundreds of short lives costs. It answers with a line for each process that begins
or ends; when its input ends, it ends all of them.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import sys
from contextlib import suppress
from typing import Any

import httpx_aiohttp

import bridge.app.parts  # noqa: F401 - so that no fork has to read it
from bridge.app import Bridge, Wires
from bridge.cli.running import run
from bridge.logs import configure
from bridge.metrics import Metrics
from bridge.project import ProjectClient
from bridge.settings import Settings, load
from bridge.slack.web import opened
from bridge.store.connection import blocking_connection, connect
from support.points import PointedTransport, Points, names_by_hash, pointed, watch_slack

_REAP_SECONDS = 0.02


async def live(settings: Settings, points: Points) -> int:
    """Run a bridge as `bridge.app.serve` does, on wires that are watched."""
    configure(settings.log_format, settings.log_level)
    draining = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, draining.set)
    metrics, url = Metrics(), str(settings.redis_url and settings.redis_url.get_secret_value())
    project = ProjectClient(
        settings.project_base_url,
        settings.project_api_key.get_secret_value(),
        chat_timeout=settings.chat_timeout,
        run_timeout=settings.run_timeout,
        transport=PointedTransport(httpx_aiohttp.AiohttpTransport(), points),
        observe=metrics.upstream,
    )
    async with (
        pointed(connect(url), points) as redis,
        pointed(blocking_connection(url), points) as blocking,
        opened(settings.slack_api_url, settings.slack_bot_token.get_secret_value(), metrics) as web,
        project,
    ):
        if web.client.session is not None:
            watch_slack(web.client.session, points)
        await Bridge(settings, Wires(metrics, redis, blocking, web, project), draining).run()
    return 0


def live_here(wish: dict[str, Any]) -> int:
    """Become the bridge that *wish* describes."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    log = os.open(wish["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in (1, 2):
        os.dup2(log, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    diary = os.open(wish["diary"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    points = Points(wish["fate"], lambda point: os.write(diary, f"{point}\n".encode()) and None)
    return run(lambda: live(load(wish["environ"]), points))


class Nursery:
    """The forks, told of on *out*."""

    def __init__(self, out: int) -> None:
        self._out = out
        self._alive: set[int] = set()

    def bear(self, wish: dict[str, Any]) -> None:
        """Fork one."""
        pid = os.fork()
        if pid == 0:
            os.close(self._out)
            code = 1
            try:
                code = live_here(wish)
            finally:
                os._exit(code)
        self._alive.add(pid)
        self._tell(pid=pid)

    def reap(self) -> None:
        """Take note of those that have ended."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                self._alive.discard(ended[0])
                self._tell(ended=ended[0], code=os.waitstatus_to_exitcode(ended[1]))

    def close(self) -> None:
        """End those that have not."""
        for pid in self._alive:
            os.kill(pid, signal.SIGKILL)

    def _tell(self, **news: int) -> None:
        with suppress(BrokenPipeError):
            os.write(self._out, f"{json.dumps(news)}\n".encode())


def main() -> int:
    """Fork as asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    names_by_hash()  # once for all
    nursery, read = Nursery(os.dup(1)), b""
    try:
        while True:
            if select.select([0], [], [], _REAP_SECONDS)[0]:
                chunk = os.read(0, 65536)
                if not chunk:
                    return 0
                *lines, read = (read + chunk).split(b"\n")
                for line in lines:
                    nursery.bear(json.loads(line))
            nursery.reap()
    finally:
        nursery.close()


if __name__ == "__main__":
    sys.exit(main())
