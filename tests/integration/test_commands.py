"""Slash commands, their ``!`` twins, and conversations started by command."""

from __future__ import annotations

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, DM_ALICE, GENERAL, NOBOT
from bridge.playground.sample_project.answers import Hang
from support.waiting import wait_until
from support.world import World, shared_world, words_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, world = shared_world(is_at_rest=True, BRIDGE_DEFAULT_AGENT="1")


async def private_answer(world: World, user: str, channel: str, command: str, text: str) -> str:
    before = len(world.whispers(user))
    answer = await world.slack.ui.command(user, channel, command, text)
    assert answer.status == 200
    return await world.whispered(user, before + 1)


async def test_reading_commands_answer_only_the_person_who_typed(world: World) -> None:
    assert "Summarize text" in await private_answer(world, ALICE, GENERAL, "/workflows", "")
    assert "Summarize text" in await private_answer(world, ALICE, NOBOT, "/workflows", "list")
    assert "Slow report" in await private_answer(world, ALICE, GENERAL, "/workflows", "show slow")
    assert "Writer" in await private_answer(world, ALICE, GENERAL, "/agents", "list")
    assert "search_docs" in await private_answer(world, ALICE, GENERAL, "/agents", "show support")
    assert await private_answer(world, ALICE, GENERAL, "/project", "")
    assert await private_answer(world, ALICE, GENERAL, "/stats", "")
    assert "/workflows run" in await private_answer(world, ALICE, GENERAL, "/workflows", "help")
    assert world.posted(GENERAL) == []


async def test_a_commands_outcome_is_logged(world: World) -> None:
    log = world.bridges[0].log
    before = log.count(b'"turn done"')

    await private_answer(world, ALICE, GENERAL, "/workflows", "")

    await wait_until(lambda: log.count(b'"turn done"') > before, "the log shows that the command finished")


async def test_share_shows_the_answer_to_the_channel(world: World) -> None:
    await world.slack.ui.command(ALICE, GENERAL, "/stats", "--share")
    await wait_until(lambda: world.posted(GENERAL), "the answer is in the channel")
    await world.slack.ui.command(ALICE, NOBOT, "/stats", "--share")
    await wait_until(lambda: world.posted(NOBOT), "the answer is in the channel without the bot, too")

    assert world.whispers(ALICE) == []


async def test_a_command_starts_a_thread_and_its_agent_answers_there(world: World) -> None:
    await world.slack.ui.command(ALICE, GENERAL, "/agents", "chat Memory my name is Alice")
    await wait_until(lambda: world.posted(GENERAL), "the root message is posted")
    root = world.posted(GENERAL)[0]
    await world.answered(GENERAL, root.ts, 2)
    await world.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root.ts)
    said = await world.answered(GENERAL, root.ts, 3)

    assert world.chats() == ["my name is Alice", "what is my name?"]
    assert "Alice" in said[2]


async def test_where_the_bot_is_not_a_command_begins_no_thread_and_says_so(world: World) -> None:
    told = await private_answer(world, ALICE, NOBOT, "/agents", "chat Memory my name is Alice")

    assert "Invite me" in told
    assert world.chats() == []
    assert world.posted(NOBOT) == []


async def test_exclamation_marks_are_commands_in_threads_and_direct_messages(world: World) -> None:
    root = await world.mention(ALICE, GENERAL, "my name is Alice")
    await world.answered(GENERAL, root)

    await world.slack.people.say(BOB, GENERAL, "!workflows list", thread_ts=root)
    await wait_until(lambda: world.whispers(BOB), "Bob's list is shown")
    assert world.whispers(BOB)[-1].thread_ts == root
    direct = await world.slack.people.say(ALICE, DM_ALICE, "!stats")
    await world.answered(DM_ALICE, direct)
    await world.slack.people.say(ALICE, GENERAL, "!workflows run 1 hello", thread_ts=root)
    await world.answered(GENERAL, root, 2)
    await world.slack.people.say(ALICE, GENERAL, "!session", thread_ts=root)
    await wait_until(lambda: world.whispers(ALICE), "the session is shown")

    assert "Memory" in words_of(world.whispers(ALICE)[-1])
    assert world.chats() == ["my name is Alice"]


async def test_new_begins_a_fresh_session_in_its_place_in_the_queue(world: World) -> None:
    root = await world.mention(ALICE, GENERAL, "my name is Alice")
    await world.answered(GENERAL, root)

    await world.slack.people.say(ALICE, GENERAL, "!new", thread_ts=root)
    await world.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root)
    await world.answered(GENERAL, root, 3)

    assert "sessionId" not in world.bodies()[1]


async def test_a_mistyped_command_in_a_thread_is_asked_about_and_not_sent(world: World) -> None:
    world.project.on("POST", "/api/sdk/agents/1/chat", Hang())
    root = await world.mention(ALICE, GENERAL, "a long question")
    await wait_until(world.chats, "the agent is running")

    await world.slack.people.say(BOB, GENERAL, "!stpo", thread_ts=root)
    assert "Did you mean !stop?" in await world.whispered(BOB)
    question = world.whispers(BOB)[-1]
    assert question.thread_ts == root
    assert world.answers(GENERAL, root) == []
    await world.slack.ui.click(BOB, GENERAL, question.ts, "slip:command")
    said = await world.answered(GENERAL, root)

    assert "Stopped" in said[-1]
    assert world.chats() == ["a long question"]


async def test_a_slip_is_sent_as_text_once_if_its_person_says_so(world: World) -> None:
    direct = await world.slack.people.say(ALICE, DM_ALICE, "!nwe")
    asked = await world.answered(DM_ALICE, direct)
    await world.mention(BOB, GENERAL, "!Stast")
    await world.whispered(BOB)
    question = world.answers(DM_ALICE, direct)[0]
    assert (len(asked), world.chats()) == (1, [])

    for _ in range(2):
        await world.slack.ui.click(ALICE, DM_ALICE, question.ts, "slip:text")
    await world.answered(DM_ALICE, direct, 2)
    await world.slack.ui.click(BOB, GENERAL, world.whispers(BOB)[-1].ts, "slip:command")
    await wait_until(lambda: len(world.whispers(BOB)) == 2, "Bob's statistics are shown")

    shown = [words_of(message) for message in world.whispers(BOB)]
    assert any("Statistics" in words for words in shown), shown
    assert world.chats() == ["!nwe"]
