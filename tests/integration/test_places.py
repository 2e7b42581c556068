"""Where people talk, and what the agent gets of a place: with one bridge for the file."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from bridge.playground.emulator.sample import ALICE, BOB, GENERAL, RANDOM
from support.real_redis import RealRedis
from support.world import World, a_shared_world

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(redis_server: RealRedis) -> AsyncIterator[World]:
    async with a_shared_world(redis_server.url, BRIDGE_DEFAULT_AGENT="1") as world:
        yield world


@pytest.fixture
def world(opened: World) -> World:
    opened.look_from_here()
    opened.slack.page_limit = 1000
    return opened


async def a_talk(world: World, channel: str, replies: int) -> str:
    """Let people talk among themselves; gives the root."""
    root = await world.slack.people.say(ALICE, channel, "the root")
    for number in range(replies):
        await world.slack.people.say(BOB, channel, f"reply {number}", thread_ts=root)
    return root


async def test_where_slack_gives_fifteen_a_call_the_newest_go_along(world: World) -> None:
    world.slack.page_limit = 15
    first = await a_talk(world, GENERAL, 18)
    await world.mention(ALICE, GENERAL, "what happened?", thread_ts=first)
    await world.answered(GENERAL, first)
    world.look_from_here()

    second = await a_talk(world, GENERAL, 40)
    await world.mention(ALICE, GENERAL, "what happened?", thread_ts=second)
    await world.answered(GENERAL, second)

    (asked,) = world.chats()
    assert "> Alice Adler: the root" in asked
    assert "of 40 messages]" in asked
    assert "> Bob Brandt: reply 39" in asked
    assert "> Bob Brandt: reply 3\n" not in asked


async def test_the_bots_own_cards_go_along_where_an_agent_is_called_in(world: World) -> None:
    root = await a_talk(world, RANDOM, 1)
    await world.mention(ALICE, RANDOM, "!workflows run 3 hello", thread_ts=root)
    await world.answered(RANDOM, root)

    await world.mention(ALICE, RANDOM, "what does it say?", thread_ts=root)
    await world.answered(RANDOM, root, 2)

    (asked,) = world.chats()
    assert "> Bob Brandt: reply 0" in asked
    assert "> Bridge (this bot): ✅" in asked
