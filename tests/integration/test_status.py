"""`bridge status` beside a real bridge, and where there is none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from bridge.playground.emulator.sample import ALICE, GENERAL
from support.forks import run
from support.waiting import wait_until
from support.world import World


async def status(world: World, folder: Path, *words: str) -> str:
    """What the command prints, which knows nothing but where Redis is."""
    here = {"REDIS_URL": world.redis_url, "BRIDGE_NAMESPACE": world.namespace}
    code, printed, _ = await run(("status", *words), folder, {**os.environ, **here})
    assert code == 0
    return printed


async def test_status_shows_each_process_with_its_work(world: World, tmp_path: Path) -> None:
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="Thinker")
    root = await world.mention(ALICE, GENERAL, "a question that takes a while")

    async def works() -> dict[str, Any] | None:
        found: dict[str, Any] = json.loads(await status(world, tmp_path, "--json"))
        work = [work for process in found["processes"] for work in process["work"]]
        return found if [one["step"] for one in work] == ["sent"] else None

    await wait_until(works, "it works on the question")
    found = await works()
    table = await status(world, tmp_path)

    assert found is not None
    (process,) = found["processes"]
    assert (process["is_running"], found["lanes"], found["dead"]) == (True, 1, 0)
    assert root in process["work"][0]["lane"]
    assert "running, 1 in progress" in table
    assert "a question" not in table


async def test_status_of_an_unused_namespace_has_no_process(world: World, tmp_path: Path) -> None:
    table = await status(world, tmp_path)

    assert "none has used this namespace recently" in table
