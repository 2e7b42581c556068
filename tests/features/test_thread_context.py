"""Mentioned in an existing thread, an agent gets the earlier messages, and authors' names once several people write."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from bridge.ids import new_turn_id
from bridge.playground.emulator.faults import Error, Fault
from bridge.playground.emulator.sample import BOB, BRIDGE_BOT, RANDOM
from bridge.queue.inbox import Condition
from bridge.slack.blockkit.quotation import BEFORE, NOW, SINCE
from bridge.slack.parts import MessageTag
from support.harness import NOT_NOW, READ, SALES, SUPPORT, Harness
from support.store import BOT, ROOT, THREAD, message, ts

QUOTED = (
    f"{BEFORE}\n> Alice Adler: the @Bob Brandt problem\n> Bob Brandt: it is #random\n> [attached: log.txt]\n\n{NOW}\n"
)


def post_messages(harness: Harness) -> None:
    """Post messages in the thread before the bot is mentioned."""
    harness.write(ROOT, f"the <@{BOB}> problem")
    file = {"id": "F1", "name": "log.txt"}
    harness.write(ts(1), f"it is <#{RANDOM}>", user=BOB, thread_ts=ROOT, files=[file])


def post_answer(harness: Harness, at: str, text: str, kind: str = "bridge_turn", **about: int) -> None:
    """Post a message of the bot in the thread."""
    tag = MessageTag(kind, new_turn_id(), **about).metadata("0", 1)
    harness.write(at, text, user=BOT, thread_ts=ROOT, bot_id=BRIDGE_BOT, metadata=tag)


async def mentioned(harness: Harness, text: str = "help us", number: int = 5, **changes: Any) -> None:
    """Mention the bot in the thread and let it answer."""
    await harness.store.queue(
        message(f"<@{BOT}> {text}", ts(number), is_mention=True, **changes), condition=Condition.START, is_limited=True
    )
    await harness.work()


async def replied(harness: Harness, text: str, number: int, **changes: Any) -> None:
    await harness.store.queue(message(text, ts(number), **changes), is_limited=True)
    await harness.work()


async def test_earlier_messages_are_quoted_with_names(harness: Harness) -> None:
    post_messages(harness)

    await mentioned(harness)

    assert harness.service.messages == [f"{QUOTED}Alice Adler: help us"]
    assert harness.seen.reads == 1  # one read finds both a lost session and earlier messages


async def test_the_bots_answers_are_quoted_to_an_agent_without_a_session(harness: Harness) -> None:
    harness.write(ROOT, "run it")
    post_answer(harness, ts(1), "✅ Report: completed", "bridge_run")

    await mentioned(harness, "what does it say?")

    assert harness.service.messages == [
        f"{BEFORE}\n> Alice Adler: run it\n> Bridge (this bot): ✅ Report: completed\n\n{NOW}\nwhat does it say?"
    ]


async def test_an_agent_with_a_session_is_not_sent_its_own_answers(harness: Harness) -> None:
    harness.configure(BRIDGE_THREAD_REPLIES="mentions")
    await mentioned(harness)
    post_answer(harness, ts(6), "an answer", agent=7, session=42)

    await mentioned(harness, "and now?", 7)

    assert harness.service.messages[1] == "and now?"


async def test_an_agent_whose_session_is_gone_gets_the_thread(harness: Harness) -> None:
    gone = httpx.Response(404, json={"error": "no such session"})
    post_messages(harness)
    await mentioned(harness)
    harness.service.chats = [gone, httpx.Response(200, json={"sessionId": 43, "message": "hello again"})]

    await replied(harness, "and then?", 6)

    known, anew = harness.service.messages[-2:]
    assert anew.startswith(QUOTED.partition("\n> [")[0])
    assert anew.endswith(f"{NOW}\n{known}")


async def test_a_thread_is_read_only_for_its_first_message(harness: Harness) -> None:
    post_messages(harness)
    await mentioned(harness)

    await replied(harness, "and then?", 6)

    assert harness.service.messages[1] == "and then?"
    assert harness.seen.reads == 1


async def test_a_thread_that_begins_with_the_question_is_never_read(harness: Harness) -> None:
    post_messages(harness)
    await harness.store.queue(message(f"<@{BOT}> hello", is_mention=True), is_limited=True)
    await harness.work()

    await mentioned(harness, "and this?")

    assert harness.service.messages == ["hello", "and this?"]
    assert harness.seen.reads == 0


async def test_without_context_a_thread_is_only_searched_for_its_session(harness: Harness) -> None:
    harness.configure(BRIDGE_CONTEXT="off")
    post_messages(harness)

    await mentioned(harness)

    assert harness.service.messages == ["help us"]


@pytest.mark.parametrize("fault", [Error("missing_scope"), NOT_NOW])
@pytest.mark.parametrize("was_searched", [False, True])
async def test_an_unreadable_thread_is_still_answered(harness: Harness, fault: Fault, *, was_searched: bool) -> None:
    harness.store.namespace.since = None
    harness.slack.faults.on(READ, fault, times=None)
    if was_searched:
        await harness.store.sessions.mark_searched(THREAD)

    await mentioned(harness)

    assert harness.service.messages == ["help us"]
    assert harness.seen.texts == ["re: help us"]


async def test_a_recently_searched_thread_is_still_read_for_the_agent(harness: Harness) -> None:
    post_messages(harness)
    post_answer(harness, ts(2), "✅ Report: completed", "bridge_run")
    await harness.store.sessions.mark_searched(THREAD)

    await mentioned(harness)

    assert harness.service.messages[0].startswith(BEFORE)
    assert "> Bridge (this bot): ✅ Report: completed" in harness.service.messages[0]


async def test_a_message_waiting_for_a_choice_keeps_its_context(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    post_messages(harness)
    await mentioned(harness)

    await harness.store.sessions.choose_agent(THREAD, 8)
    await harness.work()

    assert harness.service.messages[0].startswith(BEFORE)


async def test_an_agents_name_is_read_before_the_quotation_is_added(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    post_messages(harness)

    await mentioned(harness, "Sales: help us")

    assert harness.service.asked[0]["agent"] == 8
    assert harness.service.messages[0].endswith(f"{NOW}\nAlice Adler: help us")


async def test_a_mention_quotes_the_replies_since_the_last_answer(harness: Harness) -> None:
    harness.configure(BRIDGE_THREAD_REPLIES="mentions")
    await harness.store.queue(message(f"<@{BOT}> hello", is_mention=True), is_limited=True)
    await harness.work()
    harness.write(ts(1), "never mind that", thread_ts=ROOT)
    harness.write(ts(6), "said after the question", thread_ts=ROOT)

    await mentioned(harness, "so?")

    assert harness.service.messages[1] == f"{SINCE}\n> Alice Adler: never mind that\n\n{NOW}\nso?"
    (read,) = harness.seen.called(READ)
    assert read.args["oldest"] == ROOT


async def test_a_resent_message_does_not_set_back_what_the_agent_knows(harness: Harness) -> None:
    harness.configure(BRIDGE_THREAD_REPLIES="mentions")
    await mentioned(harness, "first", 5)
    await mentioned(harness, "older, and delivered late", 3)

    conversation = await harness.store.sessions.thread(THREAD)

    assert conversation is not None
    assert conversation.heard == ts(5)


async def test_a_direct_messages_thread_is_never_read(harness: Harness) -> None:
    harness.configure(BRIDGE_THREAD_REPLIES="mentions")
    await harness.store.queue(message("hello", is_direct=True), is_limited=True)
    await harness.work()

    await replied(harness, "and?", 5, is_direct=True)

    assert harness.seen.reads == 0


@pytest.mark.parametrize(
    ("context", "asked"),
    [("on", "[In Slack, this person is looking at #random.]\nsum this channel up"), ("off", "sum this channel up")],
)
async def test_the_open_channel_is_sent_unless_context_is_off(harness: Harness, context: str, asked: str) -> None:
    harness.configure(BRIDGE_CONTEXT=context)

    await harness.store.queue(message("sum this channel up", is_direct=True, looks_at=RANDOM), is_limited=True)
    await harness.work()

    assert harness.service.messages == [asked]


async def test_a_second_speaker_adds_names_to_messages(harness: Harness) -> None:
    await harness.store.queue(message("Support: hello"), is_limited=True)
    await harness.work()
    await replied(harness, "are you there?", 1)

    await replied(harness, "me too", 2, user=BOB)
    await replied(harness, "and I again", 3)

    assert harness.service.messages == ["hello", "are you there?", "Bob Brandt: me too", "Alice Adler: and I again"]


async def test_a_command_does_not_make_its_author_a_speaker(harness: Harness) -> None:
    await harness.store.queue(message("hello"), is_limited=True)
    await harness.store.queue(message("!stats", ts(1), user=BOB), in_order=False)  # as the receiver queues a command
    await harness.work()

    await replied(harness, "go on", 2)

    assert harness.service.messages == ["hello", "go on"]
