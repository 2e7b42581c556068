"""Slash commands, their ``!`` twins, and conversations started by command."""

from __future__ import annotations

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, DM_ALICE, GENERAL, NOBOT
from bridge.playground.sample_project.answers import Hang
from support.system import System, shared_system, text_of
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, system = shared_system(is_at_rest=True, BRIDGE_DEFAULT_AGENT="1")


async def private_answer(system: System, user: str, channel: str, command: str, text: str) -> str:
    before = len(system.ephemerals(user))
    answer = await system.slack.ui.command(user, channel, command, text)
    assert answer.status == 200
    return await system.ephemeral_text(user, before + 1)


async def test_read_only_commands_answer_only_their_author(system: System) -> None:
    assert "Summarize text" in await private_answer(system, ALICE, GENERAL, "/workflows", "")
    assert "Summarize text" in await private_answer(system, ALICE, NOBOT, "/workflows", "list")
    assert "Slow report" in await private_answer(system, ALICE, GENERAL, "/workflows", "show slow")
    assert "Writer" in await private_answer(system, ALICE, GENERAL, "/agents", "list")
    assert "search_docs" in await private_answer(system, ALICE, GENERAL, "/agents", "show support")
    assert await private_answer(system, ALICE, GENERAL, "/project", "")
    assert await private_answer(system, ALICE, GENERAL, "/stats", "")
    assert "/workflows run" in await private_answer(system, ALICE, GENERAL, "/workflows", "help")
    assert system.posted(GENERAL) == []


async def test_a_commands_outcome_is_logged(system: System) -> None:
    log = system.bridges[0].log
    before = log.count(b'"turn done"')

    await private_answer(system, ALICE, GENERAL, "/workflows", "")

    await wait_until(lambda: log.count(b'"turn done"') > before, "the log shows that the command finished")


async def test_share_shows_the_answer_to_the_channel(system: System) -> None:
    await system.slack.ui.command(ALICE, GENERAL, "/stats", "--share")
    await wait_until(lambda: system.posted(GENERAL), "the answer is in the channel")
    await system.slack.ui.command(ALICE, NOBOT, "/stats", "--share")
    await wait_until(lambda: system.posted(NOBOT), "the answer is in the channel without the bot, too")

    assert system.ephemerals(ALICE) == []


async def test_a_command_starts_a_thread_and_its_agent_answers_there(system: System) -> None:
    await system.slack.ui.command(ALICE, GENERAL, "/agents", "chat Memory my name is Alice")
    await wait_until(lambda: system.posted(GENERAL), "the root message is posted")
    root = system.posted(GENERAL)[0]
    await system.answered(GENERAL, root.ts, 2)
    await system.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root.ts)
    answers = await system.answered(GENERAL, root.ts, 3)

    assert system.chats() == ["my name is Alice", "what is my name?"]
    assert "Alice" in answers[2]


async def test_a_command_in_a_channel_without_the_bot_explains_and_starts_no_thread(system: System) -> None:
    notice = await private_answer(system, ALICE, NOBOT, "/agents", "chat Memory my name is Alice")

    assert "Invite me" in notice
    assert system.chats() == []
    assert system.posted(NOBOT) == []


async def test_exclamation_marks_are_commands_in_threads_and_direct_messages(system: System) -> None:
    root = await system.mention(ALICE, GENERAL, "my name is Alice")
    await system.answered(GENERAL, root)

    await system.slack.people.say(BOB, GENERAL, "!workflows list", thread_ts=root)
    await wait_until(lambda: system.ephemerals(BOB), "Bob's list is shown")
    assert system.ephemerals(BOB)[-1].thread_ts == root
    direct = await system.slack.people.say(ALICE, DM_ALICE, "!stats")
    await system.answered(DM_ALICE, direct)
    await system.slack.people.say(ALICE, GENERAL, "!workflows run 1 hello", thread_ts=root)
    await system.answered(GENERAL, root, 2)
    await system.slack.people.say(ALICE, GENERAL, "!session", thread_ts=root)
    await wait_until(lambda: system.ephemerals(ALICE), "the session is shown")

    assert "Memory" in text_of(system.ephemerals(ALICE)[-1])
    assert system.chats() == ["my name is Alice"]


async def test_new_starts_a_fresh_session_in_queue_order(system: System) -> None:
    root = await system.mention(ALICE, GENERAL, "my name is Alice")
    await system.answered(GENERAL, root)

    await system.slack.people.say(ALICE, GENERAL, "!new", thread_ts=root)
    await system.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root)
    await system.answered(GENERAL, root, 3)

    assert "sessionId" not in system.bodies()[1]


async def test_a_mistyped_command_in_a_thread_asks_before_sending(system: System) -> None:
    system.project.on("POST", "/api/sdk/agents/1/chat", Hang())
    root = await system.mention(ALICE, GENERAL, "a long question")
    await wait_until(system.chats, "the agent is running")

    await system.slack.people.say(BOB, GENERAL, "!stpo", thread_ts=root)
    await system.ephemeral_text(BOB)
    question = system.ephemerals(BOB)[-1]
    assert "Did you mean !stop?" in question.text
    assert question.thread_ts == root
    assert system.answers(GENERAL, root) == []
    await system.slack.ui.click(BOB, GENERAL, question.ts, "slip:command")
    answers = await system.answered(GENERAL, root)

    assert "Stopped" in answers[-1]
    assert system.chats() == ["a long question"]


async def test_a_confirmed_mistyped_command_is_sent_once_as_text(system: System) -> None:
    direct = await system.slack.people.say(ALICE, DM_ALICE, "!nwe")
    asked = await system.answered(DM_ALICE, direct)
    await system.mention(BOB, GENERAL, "!Stast")
    await system.ephemeral_text(BOB)
    question = system.answers(DM_ALICE, direct)[0]
    assert (len(asked), system.chats()) == (1, [])

    for _ in range(2):
        await system.slack.ui.click(ALICE, DM_ALICE, question.ts, "slip:text")
    await system.answered(DM_ALICE, direct, 2)
    await system.slack.ui.click(BOB, GENERAL, system.ephemerals(BOB)[-1].ts, "slip:command")
    await wait_until(lambda: len(system.ephemerals(BOB)) == 2, "Bob's statistics are shown")

    shown = [text_of(message) for message in system.ephemerals(BOB)]
    assert any("Statistics" in words for words in shown), shown
    assert system.chats() == ["!nwe"]
