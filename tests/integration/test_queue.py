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


async def test_an_edit_that_only_unfurls_a_link_changes_nothing(world: World) -> None:
    root = await a_busy_thread(world, 0.6)
    reply = await world.slack.people.say(ALICE, GENERAL, "see <https://example.com>", thread_ts=root)

    await world.slack.people.edit(GENERAL, reply, "see <https://example.com>")
    await world.answered(GENERAL, root, 2)

    assert world.chats() == ["the first", "see https://example.com"]


async def test_a_message_beyond_the_fiftieth_is_refused_in_private(world: World) -> None:
    root = await a_busy_thread(world, 6.0)

    sent = [f"reply {number}" for number in range(55)]
    for words in sent:
        await world.slack.people.say(ALICE, GENERAL, words, thread_ts=root)
    told = await world.whispered(ALICE, 5)
    await world.answered(GENERAL, root, 51)
    await world.replied(ALICE, GENERAL, root, "the last one")
    taken = len(sent) - len(world.whispers(ALICE))

    assert "50 messages are already waiting" in told
    assert taken == 50, "beside the one in work"
    assert world.chats() == ["the first", *sent[:taken], "the last one"]
    assert world.whispers(ALICE)[0].thread_ts == root


async def test_what_waits_for_a_service_that_is_down_can_be_edited_and_withdrawn(world: World) -> None:
    root = await a_busy_thread(world, 0)
    lonely = await a_busy_thread(world, 0)
    await world.answered(GENERAL, root)
    await world.answered(GENERAL, lonely)
    await world.project.stop()

    replies = [await world.slack.people.say(ALICE, GENERAL, f"reply {n}", thread_ts=root) for n in range(3)]
    withdrawn = await world.slack.people.say(ALICE, GENERAL, "never mind", thread_ts=lonely)
    said = await world.answered(GENERAL, root, 2)
    await world.answered(GENERAL, lonely, 2)
    await world.slack.people.edit(GENERAL, replies[0], "reply zero")
    await world.slack.people.delete(GENERAL, replies[1])
    await world.slack.people.delete(GENERAL, withdrawn)
    await world.project.start()
    await world.slack.people.say(ALICE, GENERAL, "all is well", thread_ts=lonely)
    await world.answered(GENERAL, root, 4)
    await world.answered(GENERAL, lonely, 3)

    assert "down" in said[1]
    sent = world.chats()[2:]
    assert [words for words in sent if words != "all is well"] == ["reply zero", "reply 2"]
    assert len(sent) == 3
