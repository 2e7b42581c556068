"""Where people write, and what the agent learns about the place; one bridge for the file."""

from __future__ import annotations

import re

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, GENERAL, PRIVATE, RANDOM, RUNNERS, TEAM
from support.system import System, shared_system, text_of
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, system = shared_system(BRIDGE_DEFAULT_AGENT="1")


async def human_thread(system: System, channel: str, replies: int) -> str:
    """Start a thread between people; return its root."""
    root = await system.slack.people.say(ALICE, channel, "the root")
    for number in range(replies):
        await system.slack.people.say(BOB, channel, f"reply {number}", thread_ts=root)
    return root


async def test_with_fifteen_messages_per_call_the_newest_are_quoted(system: System) -> None:
    system.slack.page_limit = 15
    first = await human_thread(system, GENERAL, 18)
    await system.mention(ALICE, GENERAL, "what happened?", thread_ts=first)
    await system.answered(GENERAL, first)
    system.start_test()

    second = await human_thread(system, GENERAL, 40)
    await system.mention(ALICE, GENERAL, "what happened?", thread_ts=second)
    await system.answered(GENERAL, second)

    (asked,) = system.chats()
    assert "> Alice Adler: the root" in asked
    assert re.search(r"^> \[showing (the newest )?\d+ of 40 messages\]$", asked, re.MULTILINE)
    assert re.search(r"^> Bob Brandt: reply [23]\d$", asked, re.MULTILINE), "people wrote at irregular intervals"
    assert "> Bob Brandt: reply 3\n" not in asked


async def test_an_agent_mentioned_in_a_thread_gets_its_messages_and_names(system: System) -> None:
    root = await system.slack.people.say(BOB, GENERAL, "the build is red")
    await system.slack.people.say(ALICE, GENERAL, f"did <@{BOB}> look?", thread_ts=root)
    await system.mention(ALICE, GENERAL, "what now?", thread_ts=root)
    await system.answered(GENERAL, root)
    await system.replied(ALICE, GENERAL, root, "and then?")
    await system.replied(BOB, GENERAL, root, f"<@{BRIDGE}> and I?")

    first, *others = system.chats()
    assert first.split("\n")[1:3] == ["> Bob Brandt: the build is red", "> Alice Adler: did @Bob Brandt look?"]
    assert first.endswith("\nAlice Adler: what now?")
    assert others == ["and then?", "Bob Brandt: and I?"]
    assert len(system.called("conversations.replies")) == 1


@pytest.mark.parametrize("has_twin", [False, True])
async def test_a_group_direct_message_is_like_a_channel(system: System, *, has_twin: bool) -> None:
    system.slack.events.mentions_in_mpims = has_twin
    group = system.slack.people.start_group(ALICE, BOB, BRIDGE)
    await system.slack.people.say(BOB, group, "nothing for the bot")

    root = await system.mention(ALICE, group, "hello there")
    await system.answered(group, root)
    await system.slack.people.say(BOB, group, "not for the bot", thread_ts=root)
    await system.replied(BOB, group, root, f"<@{BRIDGE}> and me?")

    assert [one.rpartition("\n")[2] for one in system.chats()] == ["hello there", "Bob Brandt: and me?"]
    assert len(system.answers(group, root)) == 2


def canvas_mention(channel: str, ts: str) -> dict[str, object]:
    """A document mention: https://docs.slack.dev/reference/events/message/document_mention."""
    return {
        "type": "app_mention", "subtype": "document_mention", "user": ALICE, "team": TEAM, "channel": channel,
        "text": f"<@{BRIDGE}> was mentioned in a canvas", "ts": ts, "event_ts": ts,
        "document_mention": {"file_id": "F0CANVAS", "section_id": "temp:C:1", "mentioning_user_ids": [ALICE]},
    }  # fmt: skip


async def test_a_mention_in_a_canvas_is_answered_in_private(system: System) -> None:
    before = len(system.ephemerals(ALICE))

    await system.slack.people.send_event(canvas_mention(GENERAL, "1716411280.657549"), GENERAL)

    await wait_until(lambda: len(system.ephemerals(ALICE)) > before, "Alice is notified")
    assert "can't answer in a canvas" in text_of(system.ephemerals(ALICE)[-1])
    assert system.chats() == []


async def test_user_groups_and_channels_without_a_label_are_named(system: System) -> None:
    root = await system.mention(ALICE, GENERAL, f"who of <!subteam^{RUNNERS}> is in <#{RANDOM}> or <#{PRIVATE}|>?")
    await system.answered(GENERAL, root)

    assert system.chats() == ["who of @runners is in #random or #private?"]
