"""`bridge status` next to a real bridge, and without one."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bridge.playground.emulator.sample import ALICE, GENERAL
from support.forks import run
from support.real_redis import RealRedis
from support.system import BridgeProcess, System, open_system
from support.waiting import wait_until

OFF = "this machine's clock is 7,200 s ahead of Redis'"


def environ(system: System) -> dict[str, str]:
    return {**os.environ, "REDIS_URL": system.redis_url, "BRIDGE_NAMESPACE": system.namespace}


async def status(system: System, folder: Path, *words: str, is_well: bool = True) -> str:
    """The command's output, given only the Redis URL; its exit code says whether what should run runs."""
    code, printed, _ = await run(("status", *words), folder, environ(system))
    assert code == (0 if is_well else 1), printed
    return printed


async def processes(system: System, folder: Path) -> list[dict[str, Any]]:
    _, printed, errors = await run(("status", "--json"), folder, environ(system))
    assert printed, errors
    return list(json.loads(printed)["processes"])


async def half_a_minute_later(system: System, *killed: BridgeProcess) -> list[str]:
    """Kill bridges, and move all that's recorded about time into the past; returns their names."""
    prefix = f"{{{system.namespace}}}:"
    heard = dict(await system.redis.zrange(f"{prefix}processes", 0, -1, withscores=True))
    dead = []
    for name in heard:
        key = f"{prefix}in_force:{name}"
        await wait_until(partial(system.redis.exists, key), "the process reports its start")
        report = json.loads(await system.redis.get(key))
        await system.redis.set(key, json.dumps({**report, "started": report["started"] - 60}), keepttl=True)
    for bridge in killed:
        await bridge.kill()
        assert bridge.process is not None
        (name,) = [one for one in heard if f":{bridge.process.pid}:" in one]
        await system.redis.zincrby(f"{prefix}processes", -30_000, name)
        dead.append(name)
    return dead


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
    assert re.search(r"running, 1 in progress, last heartbeat \d s ago", table)
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

    assert "No bridge is running." in await status(system, tmp_path, is_well=False)


async def test_a_replica_that_died_is_missing_until_another_one_replaces_it(system: System, tmp_path: Path) -> None:
    await system.start_bridge()
    (name,) = await half_a_minute_later(system, await system.start_bridge())

    missing = await status(system, tmp_path, is_well=False)
    await system.start_bridge()

    async def is_replaced() -> bool:
        return [one["is_replaced"] for one in await processes(system, tmp_path) if one["name"] == name] == [True]

    await wait_until(is_replaced, "the new process is reported")
    replaced = await status(system, tmp_path)

    dead = rf"✗ {re.escape(name)}  not seen for 3\d s, last heartbeat at \d{{4}}-\S+Z\n +→ its log says why"
    assert re.search(dead, missing)
    assert "running, idle, last heartbeat " in missing
    assert name not in replaced
    assert "  1 other ended and was replaced.\n" in replaced


async def test_one_that_starts_replaces_one_of_two_that_died(system: System, tmp_path: Path) -> None:
    await system.start_bridge()
    await half_a_minute_later(system, await system.start_bridge(), await system.start_bridge())

    await system.start_bridge()

    async def is_one_replaced() -> bool:
        return sum(one["is_replaced"] for one in await processes(system, tmp_path)) == 1

    await wait_until(is_one_replaced, "the new process is reported")
    assert (await status(system, tmp_path, is_well=False)).count("not seen for") == 1


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
        (process,) = json.loads(await status(system, tmp_path, "--json", is_well=False))["processes"]
        table = await status(system, tmp_path, is_well=False)

    assert (process["name"], process["is_running"], len(process["work"])) == (name, False, 1)
    assert 30 < process["last_heard_seconds"] < 60
    assert f"✗ {name}  not seen for " in table


async def test_status_of_an_unused_namespace_has_no_process(system: System, tmp_path: Path) -> None:
    table = await status(system, tmp_path, is_well=False)

    assert "No bridge is running." in table
