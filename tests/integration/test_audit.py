"""`bridge audit` on a real bridge's records, and the limits from its settings."""

from __future__ import annotations

import os
import re
from pathlib import Path

from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, GENERAL
from support.forks import run
from support.secrecy import API_KEY, BOT_TOKEN, secrets_in
from support.system import System
from support.waiting import wait_until


async def audit(system: System, folder: Path, *words: str) -> str:
    """The command's output, given only the Redis URL."""
    return (await audit_with(system, folder, *words))[0]


async def audit_with(system: System, folder: Path, *words: str, **environ: str) -> tuple[str, str]:
    """The command's output and what it says on standard error, given the Redis URL and *environ*."""
    here = {"REDIS_URL": system.redis_url, "BRIDGE_NAMESPACE": system.namespace, **environ}
    code, output, said = await run(("audit", *words), folder, {**os.environ, **here})
    assert code == 0
    return output, said


async def test_the_table_names_people_channels_and_agents(system: System, tmp_path: Path) -> None:
    await system.start_bridge(BRIDGE_DEFAULT_AGENT="Memory")
    root = await system.mention(ALICE, GENERAL, "hello there")
    await system.answered(GENERAL, root)
    slack = {"SLACK_API_URL": system.slack.api_url, "SLACK_BOT_TOKEN": BOT_TOKEN}
    project = {"PROJECT_BASE_URL": system.project.base_url, "PROJECT_API_KEY": API_KEY}

    async def is_saved() -> bool:
        return int(await system.redis.xlen(f"{{{system.namespace}}}:audit")) == 1

    await wait_until(is_saved, "the message is in the audit")
    named, said = await audit_with(system, tmp_path, **slack, **project)
    plain, why = await audit_with(system, tmp_path, **slack | {"SLACK_BOT_TOKEN": "xoxb-of-nobody"})
    data, _ = await audit_with(system, tmp_path, "--json", **slack, **project)

    row = re.split(r"  +", named.splitlines()[1])
    assert row[1:] == [f"Alice Adler ({ALICE})", f"#general ({GENERAL})", "message", "agent Memory (1)", "answered"]
    assert "Showing IDs" not in said
    assert re.split(r"  +", plain.splitlines()[1])[1:] == [ALICE, GENERAL, "message", "agent 1", "answered"]
    assert "Showing IDs instead of names (Slack: rejected by Slack (invalid_auth))." in why
    assert "Alice" not in data
    assert secrets_in(said + why) == []


async def test_a_forgotten_person_is_in_no_key(system: System, tmp_path: Path) -> None:
    await system.start_bridge(BRIDGE_DEFAULT_AGENT="Memory")
    root = await system.mention(ALICE, GENERAL, "hello there")
    await system.answered(GENERAL, root)
    await system.replied(BOB, GENERAL, root, f"<@{BRIDGE}> and what about me?")
    await wait_until(system.is_at_rest, "both are answered")

    here = {"REDIS_URL": system.redis_url, "BRIDGE_NAMESPACE": system.namespace}
    code, output, _ = await run(("forget", ALICE), tmp_path, {**os.environ, **here})
    wrong, _, complaint = await run(("forget", "Alice"), tmp_path, {**os.environ, **here})

    assert (code, wrong) == (0, 2)
    assert output.startswith("Erased: ")
    assert "messages in Slack" in output
    assert "isn't a member ID" in complaint
    shown = await audit(system, tmp_path)
    assert BOB in shown
    assert ALICE not in shown
    assert [key for key in await system.keys() if ALICE in key] == []
