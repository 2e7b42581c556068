"""Access in a channel shared with another company: outsiders are refused, members served."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from bridge.playground.emulator.sample import (
    ALICE,
    GENERAL,
    GUEST,
    SHARED,
)
from support.forks import run
from support.system import System, shared_system

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, system = shared_system(BRIDGE_CONTEXT="off")


async def test_the_check_shows_a_persons_permissions_and_reasons(system: System) -> None:
    async def check(*words: str) -> tuple[int, str]:
        here = {**os.environ, **system.bridges[0].environ}
        code, output, stderr = await run(("check", "--json", "--access", *words), Path.cwd(), here)
        return code, output + stderr

    member, guest, named = await asyncio.gather(
        check(ALICE, GENERAL), check(GUEST, SHARED), check("@alice", "#general")
    )

    rows = {row["what"]: row["state"] for row in json.loads(guest[1])["rows"]}
    assert (member[0], json.loads(member[1])["ok"]) == (0, True)
    assert guest[0] == 1
    assert rows == {
        **dict.fromkeys(("person", "channel", "talk", "reply without a mention", "use commands"), "ok"),
        **dict.fromkeys(("run workflows", "schedule reports", "change channel settings"), "failure"),
    }
    assert named[0] == 2
    assert "isn't a member ID" in named[1]
    assert "fill these in" not in named[1]
