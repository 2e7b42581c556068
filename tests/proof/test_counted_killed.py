"""SIGKILL around the steps in which finished turns are counted: each is counted once (`support.counted`)."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from support.kill_runs import KillRun, execute_all, report
from support.real_redis import RealRedis

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="bridges are forked, and only Linux reports their end"),
]

KILLS = (
    ("after finish 1", "before write 1", "after write 1"),
    ("before write 2", "before write 1", "after finish 2"),
    ("after write 2", "after SET 3", "before write 2"),
    ("before finish 3", "after finish 1", "after write 3"),
)


async def test_each_turn_is_counted_once_whatever_dies(redis_server: RealRedis) -> None:
    with tempfile.TemporaryDirectory(prefix="br-") as folder:
        runs = [KillRun(kills) for kills in KILLS]

        done = await execute_all(runs, redis_server.url, Path(folder), at_once=2)

    assert report(done) == ""
    assert sum(len(run.killed) for run in done) >= 2 * len(KILLS), [run.missed_kills for run in done]
