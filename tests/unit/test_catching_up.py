"""Called into a thread, an agent gets what was said before; and who speaks, once it is more than one person."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from bridge.errors import SlackRefused, SlackUnreachable
from bridge.playground.emulator.sample import BOB
from bridge.queue.inbox import Condition
from bridge.slack.blockkit.quotation import BEFORE, NOW, SINCE
from bridge.slack.history import ThreadMessage, ThreadRead
from support.store import ROOT, THREAD, USER, message, ts
from support.turns import BOT, SALES, SUPPORT, Bench

TALK = ThreadRead(
    root=ThreadMessage(USER, "", "the <@U0BOB> problem"), newest=(ThreadMessage(BOB, "", "it is <#C2>", ("log.txt",)),)
)


async def mentioned(bench: Bench, text: str = "help", number: int = 5, **changes: Any) -> None:
    """Let somebody call the bot into the thread, and let it answer."""
    await bench.store.queue(
        message(f"<@{BOT}> {text}", ts(number), is_mention=True, **changes), condition=Condition.START, is_limited=True
    )
    await bench.work()


async def replied(bench: Bench, text: str, number: int, **changes: Any) -> None:
    await bench.store.queue(message(text, ts(number), **changes), is_limited=True)
    await bench.work()


def named(bench: Bench) -> None:
    bench.directory.users |= {USER: "Alice", BOB: "Bob"}
    bench.directory.channels["C2"] = "general"


async def test_what_was_said_before_goes_along_by_name_and_as_a_quotation(bench: Bench) -> None:
    named(bench)
    bench.say.thread = TALK

    await mentioned(bench)

    assert bench.service.messages == [
        f"{BEFORE}\n> Alice: the @Bob problem\n> Bob: it is #general\n> [attached: log.txt]\n\n{NOW}\nAlice: help"
    ]
    assert bench.say.looks == 1  # the same look finds a lost session and what was said


async def test_the_bots_own_earlier_answers_go_along_to_an_agent_without_a_session(bench: Bench) -> None:
    named(bench)
    card = ThreadMessage(BOT, "", "✅ Report: completed", is_own=True)
    bench.directory.users[BOT] = "Bridge"
    bench.say.thread = ThreadRead(root=ThreadMessage(USER, "", "run it"), newest=(card,))

    await mentioned(bench, "what does it say?")

    assert bench.service.messages == [
        f"{BEFORE}\n> Alice: run it\n> Bridge (this bot): ✅ Report: completed\n\n{NOW}\nwhat does it say?"
    ]


async def test_an_agent_that_has_a_session_is_not_told_its_own_answers(bench: Bench) -> None:
    bench.say.thread = ThreadRead(newest=(ThreadMessage(BOT, "", "an answer", is_own=True),))
    bench.store.channels.replies = "mentions"
    await mentioned(bench)

    await mentioned(bench, "and now?", 7)

    assert bench.service.messages[1] == "and now?"


async def test_an_agent_whose_session_is_gone_gets_what_was_said_in_the_thread(bench: Bench) -> None:
    gone = httpx.Response(404, json={"error": "no such session"})
    named(bench)
    bench.say.thread = TALK
    await mentioned(bench)
    bench.service.chats = [gone, httpx.Response(200, json={"sessionId": 43, "message": "hello again"})]

    await replied(bench, "and then?", 6)

    known, anew = bench.service.messages[-2:]
    assert anew.startswith(f"{BEFORE}\n> Alice: the @Bob problem\n")
    assert anew.endswith(f"{NOW}\n{known}")


async def test_it_is_read_once_and_what_follows_goes_alone(bench: Bench) -> None:
    bench.say.thread = TALK
    await mentioned(bench)

    await replied(bench, "and then?", 6)

    assert bench.service.messages[1] == "and then?"
    assert bench.say.looks == 1


async def test_a_thread_that_begins_with_the_question_is_never_read(bench: Bench) -> None:
    bench.say.thread = TALK
    await bench.store.queue(message(f"<@{BOT}> hello", is_mention=True), is_limited=True)
    await bench.work()

    await mentioned(bench, "and this?")

    assert bench.service.messages == ["hello", "and this?"]
    assert bench.say.looks == 0


async def test_switched_off_it_reads_for_a_lost_session_and_tells_nothing(bench: Bench) -> None:
    bench.has_context = False
    bench.say.thread = TALK

    await mentioned(bench)

    assert bench.service.messages == ["help"]


@pytest.mark.parametrize("trouble", [SlackRefused("r", "missing_scope"), SlackUnreachable("r")])
@pytest.mark.parametrize("was_searched", [False, True])
async def test_a_thread_that_cannot_be_read_is_answered_all_the_same(
    bench: Bench, trouble: SlackRefused | SlackUnreachable, *, was_searched: bool
) -> None:
    bench.store_since = lambda: None
    bench.say.look_troubles = [trouble, trouble]
    if was_searched:
        await bench.store.sessions.mark_searched(THREAD)

    await mentioned(bench)

    assert bench.service.messages == ["help"]
    assert bench.say.words == ["re: help"]


async def test_a_thread_that_was_searched_lately_is_read_for_the_agent_all_the_same(bench: Bench) -> None:
    bench.say.thread = TALK
    await bench.store.sessions.mark_searched(THREAD)

    await mentioned(bench)

    assert bench.service.messages[0].startswith(BEFORE)


async def test_while_people_choose_an_agent_the_message_waits_with_all_that_goes_along(bench: Bench) -> None:
    bench.service.agents = [SUPPORT, SALES]
    bench.say.thread = TALK
    await mentioned(bench)

    await bench.store.sessions.choose_agent(THREAD, 8)
    await bench.work()

    assert bench.service.messages[0].startswith(BEFORE)


async def test_an_agent_that_is_named_first_is_named_before_the_quotation_is_put_there(bench: Bench) -> None:
    bench.service.agents = [SUPPORT, SALES]
    bench.say.thread = TALK

    await mentioned(bench, "Sales: help")

    assert bench.service.asked[0]["agent"] == 8
    assert bench.service.messages[0].endswith(f"{NOW}\nU0ALICE: help")


async def test_where_replies_need_a_mention_what_was_said_since_the_last_answer_goes_along(bench: Bench) -> None:
    bench.store.channels.replies = "mentions"
    await bench.store.queue(message(f"<@{BOT}> hello", is_mention=True), is_limited=True)
    await bench.work()
    bench.say.thread = ThreadRead(newest=(ThreadMessage(USER, "", "never mind that"),))

    await mentioned(bench, "so?")

    assert bench.service.messages[1] == f"{SINCE}\n> U0ALICE: never mind that\n\n{NOW}\nso?"
    assert bench.say.windows == [(ROOT, ts(5))]


async def test_a_message_that_is_sent_again_does_not_turn_back_what_the_agent_knows(bench: Bench) -> None:
    bench.store.channels.replies = "mentions"
    await mentioned(bench, "first", 5)
    await mentioned(bench, "older, and delivered late", 3)

    conversation = await bench.store.sessions.thread(THREAD)

    assert conversation is not None
    assert conversation.heard == ts(5)


async def test_in_the_direct_message_all_is_said_to_the_agent_so_nothing_is_read(bench: Bench) -> None:
    bench.store.channels.replies = "mentions"
    await bench.store.queue(message("hello", is_direct=True), is_limited=True)
    await bench.work()

    await replied(bench, "and?", 5, is_direct=True)

    assert bench.say.looks == 0


async def test_what_the_person_looks_at_goes_along_as_a_line(bench: Bench) -> None:
    named(bench)

    await bench.store.queue(message("sum this channel up", is_direct=True, looks_at="C2"), is_limited=True)
    await bench.work()

    assert bench.service.messages == ["[In Slack, this person is looking at #general.]\nsum this channel up"]


async def test_switched_off_what_the_person_looks_at_stays_with_them(bench: Bench) -> None:
    bench.has_context = False

    await bench.store.queue(message("sum this channel up", is_direct=True, looks_at="C2"), is_limited=True)
    await bench.work()

    assert bench.service.messages == ["sum this channel up"]


async def test_once_a_second_person_speaks_the_agent_is_told_who_does(bench: Bench) -> None:
    named(bench)
    await bench.store.queue(message("Support: hello"), is_limited=True)
    await bench.work()
    await replied(bench, "are you there?", 1)

    await replied(bench, "me too", 2, user=BOB)
    await replied(bench, "and I again", 3)

    assert bench.service.messages == ["hello", "are you there?", "Bob: me too", "Alice: and I again"]


async def test_what_is_no_message_to_the_agent_makes_nobody_a_speaker(bench: Bench) -> None:
    await bench.store.queue(message("hello"), is_limited=True)
    await bench.store.queue(message("!stats", ts(1), user=BOB), in_order=False)  # a command, as the door puts it
    await bench.work()

    await replied(bench, "go on", 2)

    assert bench.service.messages == ["hello", "go on"]
