"""`bridge audit` on a real bridge's records, and the limits from its settings."""

from __future__ import annotations

import json
import os
from pathlib import Path

from bridge.playground.emulator.sample import ALICE, BOB, GENERAL
from support.forks import run
from support.secrecy import secrets_in
from support.waiting import wait_until
from support.world import World


async def audit(world: World, folder: Path, *words: str) -> str:
    """The command's output, given only the Redis URL."""
    here = {"REDIS_URL": world.redis_url, "BRIDGE_NAMESPACE": world.namespace}
    code, said, _ = await run(("audit", *words), folder, {**os.environ, **here})
    assert code == 0
    return said


async def test_the_audit_shows_actions_and_limits(world: World, tmp_path: Path) -> None:
    await world.start_bridge(
        BRIDGE_DEFAULT_AGENT="Memory", BRIDGE_THREAD_TURNS_PER_MINUTE="2", BRIDGE_USER_RUNS_PER_HOUR="1"
    )
    root = await world.mention(ALICE, GENERAL, "hello there")
    await world.answered(GENERAL, root)
    await world.replied(BOB, GENERAL, root, "and what about me?")
    await world.replied(ALICE, GENERAL, root, "one too many")
    for _ in range(2):
        await world.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 hello")
    told = await world.whispered(ALICE)

    async def is_kept() -> bool:
        return int(await world.redis.xlen(f"{{{world.namespace}}}:audit")) == 5

    await wait_until(is_kept, "all five actions are in the audit")
    acts = [json.loads(line) for line in (await audit(world, tmp_path, "--json")).splitlines()]
    table = await audit(world, tmp_path, "--since", "1h")

    assert "hourly limit of workflow runs" in told
    assert "too fast" in world.said(GENERAL, root)[-1]
    assert sorted((act["user"], act["did"], act["is_allowed"], act["outcome"]) for act in acts) == sorted(
        [
            (ALICE, "message", True, "answered"),
            (BOB, "message", True, "answered"),
            (ALICE, "message", False, "paused"),
            (ALICE, "/workflows run", True, "ran"),
            (ALICE, "/workflows run", False, "too_often"),
        ]
    )
    assert len(table.splitlines()) == 6
    assert table.count("refused") == 2
    assert secrets_in(table) == []
    assert "hello there" not in table + json.dumps(acts)
