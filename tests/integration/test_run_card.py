"""Workflows run by command, form and button; each run has one card."""

from __future__ import annotations

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, GENERAL
from bridge.playground.sample_project.answers import Proper
from support.system import System, shared_system, text_of
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, system = shared_system(is_at_rest=True, BRIDGE_DEFAULT_AGENT="1")


def cards(system: System, channel: str = GENERAL) -> list[str]:
    return [text_of(message) for message in system.posted(channel)]


async def test_a_run_by_command_ends_in_one_card_in_the_channel(system: System) -> None:
    answer = await system.slack.ui.command(ALICE, GENERAL, "/workflows", 'run Echo {"order": 7, "ok": true}')
    await wait_until(lambda: any("completed" in card for card in cards(system)), "the card shows the result")

    assert answer.status == 200
    assert system.runs() == [{"order": 7, "ok": True}]
    assert len(cards(system)) == 1
    assert '"order": 7' in cards(system)[0]
    assert "Started by Alice Adler" in cards(system)[0]


async def test_a_slow_run_shows_its_card_at_once_and_updates_it(system: System) -> None:
    system.project.on("POST", "/api/sdk/workflows/1/run", Proper(delay=1.5))

    await system.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 hello")
    await wait_until(lambda: any("running" in card for card in cards(system)), "the card says running")
    await wait_until(lambda: any("completed" in card for card in cards(system)), "the card shows the result")

    assert len(cards(system)) == 1, "one card, updated"
    assert system.runs() == ["hello"]


async def test_a_card_offers_run_again_and_node_results(system: System) -> None:
    await system.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 hello")
    await wait_until(lambda: any("completed" in card for card in cards(system)), "the card shows the result")
    card = system.posted(GENERAL)[0]

    await system.slack.ui.click(BOB, GENERAL, card.ts, "run:nodes")
    await wait_until(lambda: len(system.answers(GENERAL, card.ts)) == 2, "the node results are in the card's thread")
    await system.slack.ui.click(BOB, GENERAL, card.ts, "run:again")
    await wait_until(lambda: len(cards(system)) == 2, "the second run has its own card")

    assert system.runs() == ["hello", "hello"]


async def test_invalid_json_input_runs_only_after_a_choice(system: System) -> None:
    await system.slack.ui.command(ALICE, GENERAL, "/workflows", 'run Echo {"day": }')
    assert "Line 1, character 9: expected a value" in await system.ephemeral_text(ALICE)
    question, before = system.ephemerals(ALICE)[-1], len(system.slack.views(ALICE))
    (key,) = [key for key in await system.keys() if ":typed:" in key and await system.redis.ttl(key) > 60]

    await system.slack.ui.click(ALICE, GENERAL, question.ts, "run:fix")
    await wait_until(lambda: len(system.slack.views(ALICE)) > before, "the form is open")
    view = system.slack.views(ALICE)[-1]
    shown = {block["block_id"]: block["element"] for block in view.blocks}
    assert shown["input"]["initial_value"] == '{"day": }'
    assert shown["kind"]["initial_option"]["value"] == "json"
    assert system.runs() == []
    await system.slack.ui.submit(view.id, {"input": '{"day": 1}'}, ALICE)
    await wait_until(lambda: len(system.runs()) == 1, "the corrected input runs")
    for _ in range(2):
        await system.slack.ui.click(ALICE, GENERAL, question.ts, "run:text")
    await wait_until(
        lambda: "You already used" in text_of(system.ephemerals(ALICE)[-1]), "the second press is answered"
    )

    assert system.runs() == [{"day": 1}, '{"day": }'], "one question, one run as text"
    assert not await system.redis.exists(key), "the button works once, and its input is deleted"


async def test_long_invalid_json_in_a_thread_is_stored_for_its_buttons(system: System) -> None:
    root = await system.mention(ALICE, GENERAL, "hello there")
    await system.answered(GENERAL, root)
    typed = "[" + "1234, " * 500 + "one]"

    await system.slack.people.say(ALICE, GENERAL, f"!workflows run Echo {typed}", thread_ts=root)
    assert "expected a value" in await system.ephemeral_text(ALICE)
    question = system.ephemerals(ALICE)[-1]
    assert system.runs() == []
    await system.slack.ui.click(ALICE, GENERAL, question.ts, "run:text")
    await wait_until(system.runs, "the input runs as text")

    assert system.runs() == [typed]
