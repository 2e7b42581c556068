"""`bridge audit` on a real bridge's records, and the limits from its settings."""

from __future__ import annotations

import json
import os
from pathlib import Path

from bridge.playground.emulator.sample import ALICE, BOB, GENERAL
from support.forks import run
from support.secrecy import secrets_in
from support.system import System
from support.waiting import wait_until


async def audit(system: System, folder: Path, *words: str) -> str:
    """The command's output, given only the Redis URL."""
    here = {"REDIS_URL": system.redis_url, "BRIDGE_NAMESPACE": system.namespace}
    code, output, _ = await run(("audit", *words), folder, {**os.environ, **here})
    assert code == 0
    return output


async def test_the_audit_shows_actions_and_limits(system: System, tmp_path: Path) -> None:
    await system.start_bridge(
        BRIDGE_DEFAULT_AGENT="Memory", BRIDGE_THREAD_TURNS_PER_MINUTE="2", BRIDGE_USER_RUNS_PER_HOUR="1"
    )
    root = await system.mention(ALICE, GENERAL, "hello there")
    await system.answered(GENERAL, root)
    await system.replied(BOB, GENERAL, root, "and what about me?")
    await system.replied(ALICE, GENERAL, root, "one too many")
    for _ in range(2):
        await system.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 hello")
    notice = await system.ephemeral_text(ALICE)

    async def is_saved() -> bool:
        return int(await system.redis.xlen(f"{{{system.namespace}}}:audit")) == 5

    await wait_until(is_saved, "all five actions are in the audit")
    acts = [json.loads(line) for line in (await audit(system, tmp_path, "--json")).splitlines()]
    table = await audit(system, tmp_path, "--since", "1h")

    assert "hourly limit of workflow runs" in notice
    assert "too fast" in system.said(GENERAL, root)[-1]
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
