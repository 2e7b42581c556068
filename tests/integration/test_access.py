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
from support.waiting import wait_until
from support.world import World, shared_world, words_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, world = shared_world(BRIDGE_CONTEXT="off")


def said_at_the_top(world: World, channel: str, words: str) -> list[Message]:
    return [one for one in world.slack.messages(channel) if one.user == BRIDGE and words in words_of(one)]


async def test_a_guests_change_of_a_channels_agent_is_refused_however_it_is_made(world: World) -> None:
    key, root = f"{{{world.namespace}}}:defaults", await world.mention(GUEST, RANDOM, "Memory: hello")
    await world.answered(RANDOM, root)
    await world.slack.ui.command(CAROL, RANDOM, "/agents", "default")
    await wait_until(lambda: world.slack.views(CAROL), "the member's form opens")

    await world.slack.ui.command(GUEST, RANDOM, "/agents", "default Writer")
    await world.slack.ui.command(GUEST, RANDOM, "/agents", "default none")
    await world.slack.ui.command(GUEST, RANDOM, "/agents", "default")
    await world.slack.people.say(GUEST, RANDOM, "!agents default Writer", thread_ts=root)
    told = await world.whispered(GUEST, 4)
    writer = {"text": {"type": "plain_text", "text": "Writer"}, "value": "2"}
    await world.slack.ui.submit(world.slack.views(CAROL)[-1].id, {"agent": writer}, GUEST)  # the sender is what counts
    await world.whispered(CAROL)

    assert "permission" in told
    assert f"T0HOME:{RANDOM}" not in await world.redis.hgetall(key)
    assert world.slack.views(GUEST) == []
    assert said_at_the_top(world, RANDOM, "default agent") == []


async def test_the_check_shows_a_persons_permissions_and_reasons(world: World) -> None:
    async def check(*words: str) -> tuple[int, str]:
        here = {**os.environ, **world.bridges[0].environ}
        code, said, aside = await run(("check", "--json", "--access", *words), Path.cwd(), here)
        return code, said + aside

    member, guest, named = await asyncio.gather(
        check(ALICE, GENERAL), check(GUEST, SHARED), check("@alice", "#general")
    )

    rows = {row["what"]: row["state"] for row in json.loads(guest[1])["rows"]}
    assert (member[0], json.loads(member[1])["ok"]) == (0, True)
    assert guest[0] == 1
    assert rows == {
        **dict.fromkeys(("person", "channel", "talk", "use commands"), "ok"),
        **dict.fromkeys(("run workflows", "schedule reports", "change channel settings"), "failure"),
    }
    assert named[0] == 2
    assert "isn't a member ID" in named[1]
    assert "fill these in" not in named[1]
