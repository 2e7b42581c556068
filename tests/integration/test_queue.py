"""What waits in a thread: edited, withdrawn, or too much."""

from __future__ import annotations

import pytest

from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL
from bridge.playground.sample_project.answers import Proper
from support.waiting import wait_until
from support.world import World, shared_world

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "/api/sdk/agents/1/chat"


opened, world = shared_world(BRIDGE_DEFAULT_AGENT="1")


async def a_busy_thread(world: World, seconds: float) -> str:
    """Begin a conversation whose first answer takes a while."""
    world.project.on("POST", CHAT, Proper(delay=seconds))
    root = await world.mention(ALICE, GENERAL, "the first")
    await wait_until(world.chats, "the agent was asked")
    return root


async def test_what_waits_can_be_edited_and_withdrawn_and_what_was_sent_cannot(world: World) -> None:
    root = await a_busy_thread(world, 0.8)
    replies = [await world.slack.people.say(ALICE, GENERAL, f"reply {n}", thread_ts=root) for n in range(4)]

    await world.slack.people.edit(GENERAL, root, f"<@{BRIDGE}> the first, changed too late")
    await world.slack.people.edit(GENERAL, replies[0], "reply zer")
    await world.slack.people.edit(GENERAL, replies[0], "reply zero")
    await world.slack.people.delete(GENERAL, replies[1])
    await world.slack.people.edit(GENERAL, replies[2], f"<@{BRIDGE}> reply two, with a mention")
    await world.answered(GENERAL, root, 4)

    assert world.chats() == ["the first", "reply zero", "reply two, with a mention", "reply 3"]
