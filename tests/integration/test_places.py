"""Where people write, and what the agent learns about the place; one bridge for the file."""

from __future__ import annotations

import re

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, GENERAL, PRIVATE, RANDOM, RUNNERS, TEAM
from support.waiting import wait_until
from support.world import World, shared_world, words_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, world = shared_world(BRIDGE_DEFAULT_AGENT="1")


async def a_talk(world: World, channel: str, replies: int) -> str:
    """Start a thread between people; return its root."""
    root = await world.slack.people.say(ALICE, channel, "the root")
    for number in range(replies):
        await world.slack.people.say(BOB, channel, f"reply {number}", thread_ts=root)
    return root


async def test_with_fifteen_messages_per_call_the_newest_are_quoted(world: World) -> None:
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
    assert re.search(r"^> \[showing (the newest )?\d+ of 40 messages\]$", asked, re.MULTILINE)
    assert re.search(r"^> Bob Brandt: reply [23]\d$", asked, re.MULTILINE), "people wrote at irregular intervals"
    assert "> Bob Brandt: reply 3\n" not in asked


async def test_an_agent_mentioned_in_a_thread_gets_its_messages_and_names(world: World) -> None:
    root = await world.slack.people.say(BOB, GENERAL, "the build is red")
    await world.slack.people.say(ALICE, GENERAL, f"did <@{BOB}> look?", thread_ts=root)
    await world.mention(ALICE, GENERAL, "what now?", thread_ts=root)
    await world.answered(GENERAL, root)
    await world.replied(ALICE, GENERAL, root, "and then?")
    await world.replied(BOB, GENERAL, root, "and I?")

    first, *others = world.chats()
    assert first.split("\n")[1:3] == ["> Bob Brandt: the build is red", "> Alice Adler: did @Bob Brandt look?"]
    assert first.endswith("\nAlice Adler: what now?")
    assert others == ["and then?", "Bob Brandt: and I?"]
    assert len(world.called("conversations.replies")) == 1


@pytest.mark.parametrize("has_twin", [False, True])
async def test_a_group_direct_message_is_like_a_channel(world: World, *, has_twin: bool) -> None:
    world.slack.events.mentions_in_mpims = has_twin
    group = world.slack.people.start_group(ALICE, BOB, BRIDGE)
    await world.slack.people.say(BOB, group, "nothing for the bot")

    root = await world.mention(ALICE, group, "hello there")
    await world.answered(group, root)
    await world.replied(BOB, group, root, "and me?")

    assert world.chats() == ["hello there", "Bob Brandt: and me?"]
    assert len(world.answers(group, root)) == 2


def canvas_mention(channel: str, ts: str) -> dict[str, object]:
    """A document mention: https://docs.slack.dev/reference/events/message/document_mention."""
    return {
        "type": "app_mention", "subtype": "document_mention", "user": ALICE, "team": TEAM, "channel": channel,
        "text": f"<@{BRIDGE}> was mentioned in a canvas", "ts": ts, "event_ts": ts,
        "document_mention": {"file_id": "F0CANVAS", "section_id": "temp:C:1", "mentioning_user_ids": [ALICE]},
    }  # fmt: skip


async def test_a_mention_in_a_canvas_is_answered_in_private(world: World) -> None:
    before = len(world.whispers(ALICE))

    await world.slack.people.send_event(canvas_mention(GENERAL, "1716411280.657549"), GENERAL)

    await wait_until(lambda: len(world.whispers(ALICE)) > before, "Alice is notified")
    assert "can't answer in a canvas" in words_of(world.whispers(ALICE)[-1])
    assert world.chats() == []


async def test_user_groups_and_channels_without_a_label_are_named(world: World) -> None:
    root = await world.mention(ALICE, GENERAL, f"who of <!subteam^{RUNNERS}> is in <#{RANDOM}> or <#{PRIVATE}|>?")
    await world.answered(GENERAL, root)

    assert world.chats() == ["who of @runners is in #random or #private?"]
