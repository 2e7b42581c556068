"""Without a default agent, the bot offers a menu, and messages wait for the choice."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import ALICE, BOB, CAROL, GENERAL
from support.waiting import wait_until
from support.world import World, shared_world

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, world = shared_world()


async def a_menu(world: World, channel: str, root: str, number: int = 0) -> Message:
    await world.answered(channel, root, number + 1)
    return world.answers(channel, root)[number]


def paths(world: World) -> set[str]:
    return {call.path for call in world.project.calls[world.asked_before :] if call.method == "POST"}


async def test_queued_messages_wait_for_a_choice_and_are_answered_in_order(world: World) -> None:
    root = await world.mention(ALICE, GENERAL, "my name is Alice")
    menu = await a_menu(world, GENERAL, root)
    await world.slack.people.say(BOB, GENERAL, "and I am Bob", thread_ts=root)
    await world.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root)
    assert world.chats() == []

    await world.slack.ui.select(BOB, GENERAL, menu.ts, "agent:choose", "1")
    said = await world.answered(GENERAL, root, 4)

    assert world.chats() == [
        "Alice Adler: my name is Alice",
        "Bob Brandt: and I am Bob",
        "Alice Adler: what is my name?",
    ]
    assert paths(world) == {"/api/sdk/agents/1/chat"}
    assert said[0] == "Memory answers in this thread."
    assert "Alice" in said[3]


async def test_the_first_choice_wins_and_the_menu_names_it(world: World) -> None:
    root = await world.mention(ALICE, GENERAL, "hello there")
    menu = await a_menu(world, GENERAL, root)

    choose = partial(world.slack.ui.select, channel=GENERAL, ts=menu.ts, action_id="agent:choose")
    await asyncio.gather(choose(BOB, value="4"), choose(CAROL, value="2"))
    await wait_until(
        lambda: world.whispers(BOB) or world.whispers(CAROL), "the slower of the two is told that it was too late"
    )
    said = await world.answered(GENERAL, root, 2)
    await world.replied(ALICE, GENERAL, root, "who are you?")

    winner = "Support" if world.whispers(CAROL) else "Writer"
    assert said[0] == f"{winner} answers in this thread."
    assert paths(world) == {f"/api/sdk/agents/{'4' if winner == 'Support' else '2'}/chat"}
    assert len(world.whispers(BOB)) + len(world.whispers(CAROL)) == 1
