"""Without a default agent, the bot offers a menu, and messages wait for the choice."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, CAROL, GENERAL
from support.system import System, shared_system
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, system = shared_system()


async def a_menu(system: System, channel: str, root: str, number: int = 0) -> Message:
    await system.answered(channel, root, number + 1)
    return system.answers(channel, root)[number]


def paths(system: System) -> set[str]:
    return {call.path for call in system.project.calls[system.asked_before :] if call.method == "POST"}


async def test_queued_messages_wait_for_a_choice_and_are_answered_in_order(system: System) -> None:
    root = await system.mention(ALICE, GENERAL, "my name is Alice")
    menu = await a_menu(system, GENERAL, root)
    await system.slack.people.say(BOB, GENERAL, f"<@{BRIDGE}> and I am Bob", thread_ts=root)
    await system.slack.people.say(ALICE, GENERAL, f"<@{BRIDGE}> what is my name?", thread_ts=root)
    assert system.chats() == []

    await system.slack.ui.select(BOB, GENERAL, menu.ts, "agent:choose", "1")
    answers = await system.answered(GENERAL, root, 4)

    assert system.chats() == [
        "Alice Adler: my name is Alice",
        "Bob Brandt: and I am Bob",
        "Alice Adler: what is my name?",
    ]
    assert paths(system) == {"/api/sdk/agents/1/chat"}
    assert answers[0].splitlines() == ["Memory answers in this thread.", "Make it the default here"]
    assert "Alice" in answers[3]


async def test_the_first_choice_wins_and_the_menu_names_it(system: System) -> None:
    root = await system.mention(ALICE, GENERAL, "hello there")
    menu = await a_menu(system, GENERAL, root)

    choose = partial(system.slack.ui.select, channel=GENERAL, ts=menu.ts, action_id="agent:choose")
    await asyncio.gather(choose(BOB, value="4"), choose(CAROL, value="2"))
    await wait_until(
        lambda: system.ephemerals(BOB) or system.ephemerals(CAROL), "the slower of the two is told that it was too late"
    )
    answers = await system.answered(GENERAL, root, 2)
    await system.replied(ALICE, GENERAL, root, "who are you?")

    winner = "Support" if system.ephemerals(CAROL) else "Writer"
    assert answers[0].startswith(f"{winner} answers in this thread.")
    assert paths(system) == {f"/api/sdk/agents/{'4' if winner == 'Support' else '2'}/chat"}
    assert len(system.ephemerals(BOB)) + len(system.ephemerals(CAROL)) == 1
