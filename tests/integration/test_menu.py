"""Without a default agent, the bot offers a menu, and messages wait for the choice."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import ALICE, BOB, CAROL, GENERAL
from support.system import System, shared_system
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, system = shared_system()


async def a_menu(system: System, channel: str, root: str, number: int = 0) -> Message:
    await system.answered(channel, root, number + 1)
    return system.answers(channel, root)[number]


def paths(system: System) -> set[str]:
    return {call.path for call in system.project.calls[system.asked_before :] if call.method == "POST"}


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
