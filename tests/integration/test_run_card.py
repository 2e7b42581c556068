"""Workflows run by command, form and button; each run has one card."""

from __future__ import annotations

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, GENERAL
from bridge.playground.sample_project.answers import Proper
from support.waiting import wait_until
from support.world import World, shared_world, words_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, world = shared_world(is_at_rest=True, BRIDGE_DEFAULT_AGENT="1")


def cards(world: World, channel: str = GENERAL) -> list[str]:
    return [words_of(message) for message in world.posted(channel)]


async def test_a_run_by_command_ends_in_one_card_in_the_channel(world: World) -> None:
    answer = await world.slack.ui.command(ALICE, GENERAL, "/workflows", 'run Echo {"order": 7, "ok": true}')
    await wait_until(lambda: any("completed" in card for card in cards(world)), "the card shows the result")

    assert answer.status == 200
    assert world.runs() == [{"order": 7, "ok": True}]
    assert len(cards(world)) == 1
    assert '"order": 7' in cards(world)[0]
    assert "Started by Alice Adler" in cards(world)[0]


async def test_a_slow_run_shows_its_card_at_once_and_changes_it(world: World) -> None:
    world.project.on("POST", "/api/sdk/workflows/1/run", Proper(delay=1.5))

    await world.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 hello")
    await wait_until(lambda: any("running" in card for card in cards(world)), "the card says running")
    await wait_until(lambda: any("completed" in card for card in cards(world)), "the card shows the result")

    assert len(cards(world)) == 1, "one card, updated"
    assert world.runs() == ["hello"]


async def test_run_again_and_node_results_are_on_the_card(world: World) -> None:
    await world.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 hello")
    await wait_until(lambda: any("completed" in card for card in cards(world)), "the card shows the result")
    card = world.posted(GENERAL)[0]

    await world.slack.ui.click(BOB, GENERAL, card.ts, "run:nodes")
    await wait_until(lambda: len(world.answers(GENERAL, card.ts)) == 2, "the node results are in the card's thread")
    await world.slack.ui.click(BOB, GENERAL, card.ts, "run:again")
    await wait_until(lambda: len(cards(world)) == 2, "the second run has its own card")

    assert world.runs() == ["hello", "hello"]


async def test_input_that_is_nearly_json_runs_only_as_its_person_says(world: World) -> None:
    await world.slack.ui.command(ALICE, GENERAL, "/workflows", 'run Echo {"day": }')
    assert "Line 1, character 9: expected a value" in await world.whispered(ALICE)
    question, before = world.whispers(ALICE)[-1], len(world.slack.views(ALICE))
    (key,) = [key for key in await world.keys() if ":typed:" in key and await world.redis.ttl(key) > 60]

    await world.slack.ui.click(ALICE, GENERAL, question.ts, "run:fix")
    await wait_until(lambda: len(world.slack.views(ALICE)) > before, "the form is open")
    view = world.slack.views(ALICE)[-1]
    shown = {block["block_id"]: block["element"] for block in view.blocks}
    assert shown["input"]["initial_value"] == '{"day": }'
    assert shown["kind"]["initial_option"]["value"] == "json"
    assert world.runs() == []
    await world.slack.ui.submit(view.id, {"input": '{"day": 1}'}, ALICE)
    await wait_until(lambda: len(world.runs()) == 1, "the corrected input runs")
    for _ in range(2):
        await world.slack.ui.click(ALICE, GENERAL, question.ts, "run:text")
    await wait_until(lambda: "as text." in words_of(world.whispers(ALICE)[-1]), "the question is gone")

    assert world.runs() == [{"day": 1}, '{"day": }'], "one question, one run as text"
    assert 0 < await world.redis.ttl(key) <= 60, "the button works once and its input is soon deleted"


async def test_long_invalid_json_in_a_thread_is_stored_for_its_buttons(world: World) -> None:
    root = await world.mention(ALICE, GENERAL, "hello there")
    await world.answered(GENERAL, root)
    typed = "[" + "1234, " * 500 + "one]"

    await world.slack.people.say(ALICE, GENERAL, f"!workflows run Echo {typed}", thread_ts=root)
    assert "expected a value" in await world.whispered(ALICE)
    question = world.whispers(ALICE)[-1]
    assert world.runs() == []
    await world.slack.ui.click(ALICE, GENERAL, question.ts, "run:text")
    await wait_until(world.runs, "the input runs as text")

    assert world.runs() == [typed]
