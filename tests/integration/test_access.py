"""Access in a channel shared with another company: outsiders are refused, members served."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import (
    ALICE,
    BRIDGE,
    CAROL,
    GENERAL,
    GUEST,
    RANDOM,
    SHARED,
)
from support.forks import run
from support.system import System, shared_system, text_of
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, system = shared_system(BRIDGE_CONTEXT="off")


def top_level_messages(system: System, channel: str, words: str) -> list[Message]:
    return [one for one in system.slack.messages(channel) if one.user == BRIDGE and words in text_of(one)]


async def test_a_guest_cannot_change_a_channels_agent_on_any_surface(system: System) -> None:
    key, root = f"{{{system.namespace}}}:defaults", await system.mention(GUEST, RANDOM, "Memory: hello")
    await system.answered(RANDOM, root)
    await system.slack.ui.command(CAROL, RANDOM, "/agents", "default")
    await wait_until(lambda: system.slack.views(CAROL), "the member's form opens")

    await system.slack.ui.command(GUEST, RANDOM, "/agents", "default Writer")
    await system.slack.ui.command(GUEST, RANDOM, "/agents", "default none")
    await system.slack.ui.command(GUEST, RANDOM, "/agents", "default")
    await system.slack.people.say(GUEST, RANDOM, "!agents default Writer", thread_ts=root)
    notice = await system.ephemeral_text(GUEST, 4)
    writer = {"text": {"type": "plain_text", "text": "Writer"}, "value": "2"}
    await system.slack.ui.submit(system.slack.views(CAROL)[-1].id, {"agent": writer}, GUEST)  # only the sender counts
    await system.ephemeral_text(CAROL)

    assert "permission" in notice
    assert f"T0HOME:{RANDOM}" not in await system.redis.hgetall(key)
    assert system.slack.views(GUEST) == []
    assert top_level_messages(system, RANDOM, "default agent") == []


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
