"""`bridge status` next to a real bridge, and without one."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bridge.playground.emulator.sample import ALICE, GENERAL
from support.forks import run
from support.real_redis import RealRedis
from support.system import System, open_system
from support.waiting import wait_until

OFF = "this machine's clock is 7,200 s ahead of Redis'"


async def status(system: System, folder: Path, *words: str) -> str:
    """The command's output, given only the Redis URL."""
    here = {"REDIS_URL": system.redis_url, "BRIDGE_NAMESPACE": system.namespace}
    code, printed, _ = await run(("status", *words), folder, {**os.environ, **here})
    assert code == 0
    return printed


async def test_status_shows_each_process_with_its_work(system: System, tmp_path: Path) -> None:
    await system.start_bridge(BRIDGE_DEFAULT_AGENT="Thinker")
    root = await system.mention(ALICE, GENERAL, "a question that takes a while")

    async def works() -> dict[str, Any] | None:
        found: dict[str, Any] = json.loads(await status(system, tmp_path, "--json"))
        work = [work for process in found["processes"] for work in process["work"]]
        return found if [one["step"] for one in work] == ["sent"] else None

    await wait_until(works, "the question is running")
    found = await works()
    table = await status(system, tmp_path)

    assert found is not None
    (process,) = found["processes"]
    assert (process["is_running"], found["lanes"], found["dead"]) == (True, 1, 0)
    assert root in process["work"][0]["lane"]
    assert "running, 1 in progress" in table
    assert f"/archives/{GENERAL}/p{root.replace('.', '')}  waiting for the project service, accepted " in table
    assert "a question" not in table


async def test_a_wrong_clock_is_reported_everywhere(system: System, tmp_path: Path) -> None:
    right = await system.start_bridge()
    wrong = system.bridge()
    wrong.timing = {"ahead": 7200}
    await (await wrong.start()).ready()

    async def is_shown() -> bool:
        return OFF in await status(system, tmp_path)

    await wait_until(is_shown, "the status shows it")
    found = [one["clock"] for one in json.loads(await status(system, tmp_path, "--json"))["processes"]]
    _, ready = await wrong.state()

    assert sorted(found) == ["", OFF]
    assert ready["clock_trouble"] == OFF
    assert (right.log.count(b"clock is wrong"), wrong.log.count(b"clock is wrong")) == (0, 1)


async def test_a_process_that_exited_cleanly_is_not_shown(system: System, tmp_path: Path) -> None:
    bridge = await system.start_bridge()
    assert "running, idle" in await status(system, tmp_path)

    bridge.send_signal(signal.SIGTERM)
    await bridge.wait()

    assert "No bridge is running." in await status(system, tmp_path)


async def test_a_killed_process_is_not_running_where_redis_was_restarted(
    private_redis: Callable[[], RealRedis], tmp_path: Path
) -> None:
    server = private_redis()
    async with open_system(server.url, "test") as system:
        bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="Thinker")
        await system.mention(ALICE, GENERAL, "a question that takes a while")
        await wait_until(system.chats, "the question is running")
        await bridge.kill()
        ((name, heard),) = await system.redis.zrange("{test}:processes", 0, -1, withscores=True)
        await system.redis.zadd("{test}:processes", {name: heard - 30_000})  # killed half a minute ago

        server.kill()
        server.start()
        (process,) = json.loads(await status(system, tmp_path, "--json"))["processes"]
        table = await status(system, tmp_path)

    assert (process["name"], process["is_running"], len(process["work"])) == (name, False, 1)
    assert 30 < process["last_heard_seconds"] < 60
    assert f"✗ {name}  not seen for " in table


async def test_status_of_an_unused_namespace_has_no_process(system: System, tmp_path: Path) -> None:
    table = await status(system, tmp_path)

    assert "No bridge is running." in table
