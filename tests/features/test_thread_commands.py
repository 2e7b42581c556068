"""Controlling a conversation: mute, hand over, continue elsewhere, rename, greeting."""

from __future__ import annotations

import httpx
import pytest

from bridge.ends.notices import ONLY_WORDS, SEND_AGAIN, SEND_EDITED
from bridge.features.conversations.layout import CONTINUE
from bridge.ids import ThreadKey, TurnId
from bridge.inbound import InboundMessage, MessagesTabOpened
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, DM_ALICE, GENERAL, RANDOM
from support.harness import SALES, SUPPORT, Harness
from support.store import BOT, CHANNEL, PREFIX, ROOT, TEAM, THREAD, USER, message, ts
from support.waiting import wait_until

DM, MENTION = DM_ALICE, f"<@{BRIDGE}>"
WELCOME = {**SUPPORT, "welcome_message": "Hello, how can *I* help?"}


@pytest.fixture
def harness(harness: Harness) -> Harness:
    harness.configure(BRIDGE_DEFAULT_AGENT="Support")
    harness.service.agents = [SUPPORT, SALES]
    return harness


async def say_it(harness: Harness, said: InboundMessage) -> str:
    received = await harness.receive(said)
    await harness.work()
    return received.reason or received.decision


async def begin(harness: Harness, channel: str = CHANNEL, root: str = ROOT, text: str = "hello there") -> None:
    await say_it(harness, message(f"<@{BOT}> {text}", root, channel=channel, event_id=f"{channel}{root}",
                                thread_ts="", is_mention=True, is_direct=channel == DM))  # fmt: skip


async def reply(harness: Harness, text: str, number: int, channel: str = CHANNEL, root: str = ROOT) -> str:
    return await say_it(harness, message(text, ts(number), channel=channel, thread_ts=root,
                                       event_id=f"{channel}{number}", is_direct=channel == DM,
                                       is_mention=BOT in text))  # fmt: skip


def said(harness: Harness) -> str:
    return harness.seen.messages[-1].text


def ephemeral_text(harness: Harness) -> str:
    return harness.seen.ephemerals[-1].text


async def press(harness: Harness, value: str, channel: str = CHANNEL, user: str = USER) -> None:
    await harness.click(CONTINUE, value, user=user, channel=channel, thread_ts=ROOT, is_ephemeral=True)
    await harness.work()


async def test_a_muted_thread_sends_nothing_until_it_is_unmuted(harness: Harness) -> None:
    await begin(harness)
    await reply(harness, "!mute", 1)

    heard = [
        await reply(harness, "between us", 2),
        await reply(harness, f"<@{BOT}> and you?", 3),
        await reply(harness, "!session", 4),
        await reply(harness, f"<@{BOT}> !unmute", 5),
        await reply(harness, "again", 6),
    ]

    assert heard == ["its thread is muted", "muted", "queued", "queued", "queued"]
    assert harness.service.messages == ["hello there", "again"]
    assert any("muted" in one.text for one in harness.seen.ephemerals)


@pytest.mark.parametrize("button", [SEND_AGAIN, SEND_EDITED])
@pytest.mark.parametrize("change", ["mute", "delete"])
async def test_a_draft_stays_where_its_thread_takes_no_messages(harness: Harness, button: str, change: str) -> None:
    people = harness.slack.people
    root = await harness.say(f"{MENTION} Sales: hello")
    harness.service.chats = [httpx.Response(500)] if button == SEND_AGAIN else []
    reply = await harness.say("one", root)
    if button == SEND_EDITED:
        await people.edit(GENERAL, reply, "two")
    if change == "mute":
        await harness.say("!mute", root)
    else:
        await people.delete(GENERAL, root)
    await harness.work()

    await harness.press(button)

    assert harness.service.messages == ["hello", "one"]
    assert {"mute": "is muted", "delete": "no conversation"}[change] in ephemeral_text(harness)


async def test_what_waits_while_its_thread_is_muted_is_not_sent(harness: Harness) -> None:
    root = await harness.say(f"{MENTION} hello")
    harness.service.gate.clear()
    for text in ("one", "two", "!mute"):
        await harness.slack.people.say(ALICE, GENERAL, text, thread_ts=root)
    work = await harness.start_next()
    await wait_until(lambda: harness.service.in_flight == 1, "the first is asked")
    await harness.work("b")
    harness.service.gate.set()
    await work
    await harness.work()

    assert harness.service.messages == ["hello", "one"]
    assert "This thread is muted, so your message wasn't sent" in ephemeral_text(harness)


async def test_a_session_number_of_two_agents_is_the_threads_own_or_asked(harness: Harness) -> None:
    harness.service.chats = [httpx.Response(200, json={"sessionId": 5, "message": "hi"}) for _ in range(2)]
    await harness.say(f"{MENTION} Sales: one")
    theirs = await harness.say(f"{MENTION} Support: two")
    root = await harness.say(f"{MENTION} !session 5")
    asked = ephemeral_text(harness)
    other = await harness.say(f"{MENTION} Sales: three")
    await harness.say("!session 5", other)
    await harness.press(CONTINUE)
    await harness.say("more", other)
    await harness.say("!session 5", theirs)

    assert "Support and Sales each have a session 5. Type !session 5 in a thread with the one you mean." in asked
    assert await harness.parts().turns.deps.sessions.thread(ThreadKey(TEAM, GENERAL, root)) is None
    assert [(one["agent"], one.get("sessionId")) for one in harness.service.asked][-1] == (8, 5)
    assert ephemeral_text(harness) == "This thread is already in session 5."


@pytest.mark.parametrize("line", ["!agents chat Support look at this", "!session"])
async def test_a_command_with_a_file_says_that_it_uses_only_words(harness: Harness, line: str) -> None:
    root, people = await harness.say(f"{MENTION} hello"), harness.slack.people
    files = people.attach(ALICE, {"report.txt": b"numbers"})

    await people.say(ALICE, GENERAL, line, thread_ts=root, files=files)
    await harness.slack.settled()
    await harness.work()

    assert [one.text for one in harness.seen.ephemerals if "only the words after it" in one.text] == [ONLY_WORDS.text]


@pytest.mark.parametrize(
    ("line", "expected"), [("!help workflows", "!workflows run"), ("!help me", "Add help to a command for details")]
)
async def test_help_with_more_words_is_about_them_or_everything(harness: Harness, line: str, expected: str) -> None:
    root = await harness.say(f"{MENTION} hello")

    await harness.say(line, root)

    assert expected in harness.seen.ephemerals[-1].text


async def test_an_unbound_thread_cannot_be_muted(harness: Harness) -> None:
    await say_it(harness, message(f"<@{BOT}> !mute", is_mention=True))

    assert "no conversation" in ephemeral_text(harness)
    assert await harness.store.sessions.thread(THREAD) is None


async def test_a_thread_is_handed_to_another_agent_in_a_new_session(harness: Harness) -> None:
    await begin(harness)

    await reply(harness, "!agent Sales", 1)
    await reply(harness, "and you?", 2)

    assert "Sales now answers here, in a new session" in harness.seen.texts[-2]
    assert "It replaces Support (session 42)" in harness.seen.texts[-2]
    assert [(asked["agent"], asked.get("sessionId")) for asked in harness.service.asked] == [(7, None), (8, None)]


@pytest.mark.parametrize(
    ("lines", "asked"),
    [
        (["!new"], (7, None)),
        (["!agent Sales"], (8, None)),
        (["!agent Sales", "!session 42"], (7, 42)),
        (["!new", "go on"], (7, 43)),
    ],
)
async def test_a_wiped_store_learns_from_slack_what_replaced_a_session(
    harness: Harness, lines: list[str], asked: tuple[int, int | None]
) -> None:
    await begin(harness)
    harness.service.chats = [httpx.Response(200, json={"sessionId": 43, "message": "m", "toolsUsed": []})]
    for number, line in enumerate(lines, 1):
        await reply(harness, line, number)
        if line.startswith("!session"):
            await harness.press(CONTINUE)
    harness.service.chats = []
    await harness.store.redis.flushdb()
    await harness.store.namespace.hold()

    await reply(harness, "and you?", 9)

    assert [(one["agent"], one.get("sessionId")) for one in harness.service.asked][-1] == asked


async def test_a_message_before_the_handover_goes_to_the_earlier_agent(harness: Harness) -> None:
    await begin(harness)
    await harness.store.queue(message("quick", ts(1)))

    await reply(harness, "!agent Sales", 2)

    assert [asked["agent"] for asked in harness.service.asked] == [7, 7]


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["hello", "go on"], ["Support", "Support"]),  # the default answers
        (["Support: hello", "go on"], ["", ""]),
        (["Support: hello", "!agent Sales", "go on", "and on"], ["", "Sales", "Sales"]),
    ],
)
async def test_an_answer_names_its_agent_where_it_is_not_obvious(
    harness: Harness, texts: list[str], named: list[str]
) -> None:
    await begin(harness, text=texts[0])
    for number, text in enumerate(texts[1:], 1):
        await reply(harness, text, number)

    answers = [str(one.blocks) for one in harness.seen.messages if one.words.startswith("re: ")]
    assert [f"Answered by {name}" in blocks if name else "Answered by" not in blocks
            for name, blocks in zip(named, answers, strict=True)] == [True] * len(named)  # fmt: skip


async def test_the_only_agent_is_not_named_below_its_answers(harness: Harness) -> None:
    harness.service.agents = [SUPPORT]
    await begin(harness)

    assert "Answered by" not in str([one.blocks for one in harness.seen.messages])


async def test_handing_over_to_the_same_agent_keeps_the_session(harness: Harness) -> None:
    await begin(harness)

    await reply(harness, "!agent Support", 1)
    await reply(harness, "go on", 2)

    assert "already" in ephemeral_text(harness)
    assert harness.service.asked[-1]["sessionId"] == 42


async def test_a_session_of_the_channel_is_resumed_after_a_confirmation(harness: Harness) -> None:
    await begin(harness, root="1700000000.000001")
    harness.service.chats = [None]
    await begin(harness)
    await harness.store.sessions.rebind(THREAD, expected=42, session=77, agent=8)

    await reply(harness, "!session 42", 1)
    assert "Resume session 42 with Support" in ephemeral_text(harness)
    assert "session 77" in str(harness.seen.ephemerals[-1].blocks)
    await reply(harness, "still here", 2)
    assert harness.service.asked[-1]["sessionId"] == 77
    conversation = await harness.store.sessions.thread(THREAD)
    assert conversation is not None
    await press(harness, f"42:{conversation.session}:7")
    await reply(harness, "and now", 3)

    assert any("is now in session 42" in words for words in harness.seen.texts)
    assert (harness.service.asked[-1]["agent"], harness.service.asked[-1]["sessionId"]) == (7, 42)


@pytest.mark.parametrize("session", [2**53 + 1, 12345678901234567, 2**63, 10**40 + 1])
async def test_a_session_with_a_long_number_is_continued_and_resumed(harness: Harness, session: int) -> None:
    agent = 10**18 + 1
    harness.service.agents = [{**SUPPORT, "id": agent}, SALES]
    answer = {"sessionId": session, "message": "re", "toolsUsed": []}
    harness.service.chats = [httpx.Response(200, json=answer), httpx.Response(200, json=answer)]
    earlier = "1700000000.000001"
    await begin(harness, root=earlier)
    await reply(harness, "go on", 1, root=earlier)
    assert (harness.service.asked[-1]["agent"], harness.service.asked[-1]["sessionId"]) == (agent, session)

    await begin(harness)
    await reply(harness, f"!session \uff03{session}", 2)
    await harness.press(CONTINUE)
    await reply(harness, "and now", 3)

    assert any(f"is now in session {session} with Support" in words for words in harness.seen.texts)
    assert (harness.service.asked[-1]["agent"], harness.service.asked[-1]["sessionId"]) == (agent, session)


async def test_an_outdated_confirmation_changes_nothing(harness: Harness) -> None:
    await begin(harness)

    await press(harness, "42:5")

    conversation = await harness.store.sessions.thread(THREAD)
    assert conversation is not None
    assert conversation.session == 42
    assert "changed in the meantime" in ephemeral_text(harness)


@pytest.mark.parametrize(
    ("where", "who", "may"), [(CHANNEL, USER, True), (CHANNEL, BOB, False), (RANDOM, USER, True), (RANDOM, BOB, False)]
)
async def test_a_session_of_a_direct_message_is_only_for_its_own_person(
    harness: Harness, where: str, who: str, *, may: bool
) -> None:
    await begin(harness, DM)

    await say_it(harness, message(f"<@{BOT}> !session 42", ts(1), channel=where, user=who, is_mention=True))

    thread = await harness.store.sessions.thread(ThreadKey(TEAM, where, ROOT))
    assert (thread is not None and thread.session == 42) is may
    assert may or "I can't resume session 42." in ephemeral_text(harness)


async def test_only_sessions_of_the_same_channel_are_resumed(harness: Harness) -> None:
    await begin(harness)

    for number, (wanted, shown) in enumerate([("42", "42"), ("9" * 40, "9" * 40), ("x", "x"), ("²", "2")], 1):
        await say_it(harness, message(f"<@{BOT}> !session {wanted}", ts(number), channel=RANDOM, is_mention=True))
        assert f"I can't resume session {shown}." in ephemeral_text(harness)
    await press(harness, "42:", channel=RANDOM)

    assert await harness.store.sessions.thread(ThreadKey(TEAM, RANDOM, ROOT)) is None


async def test_a_sessions_bindings_expire_with_it(harness: Harness) -> None:
    await begin(harness)

    assert 89 < await harness.store.days_left(f"bound:{TEAM}:42") <= 90


async def test_a_direct_message_gets_a_title_and_a_channel_thread_none(harness: Harness) -> None:
    await begin(harness, DM, text="How do I import *invoices*?")
    await begin(harness)
    await reply(harness, "and then", 1, DM)

    assert harness.seen.titles == ["How do I import *invoices*?"]


async def open_messages(harness: Harness, number: int = 1) -> None:
    opened = MessagesTabOpened(team=TEAM, channel=DM, user=USER)
    await harness.store.process().inbox.put(opened, event=f"EvOpened{number}")
    await harness.work()


async def test_an_opened_messages_tab_greets_once_and_always_offers_prompts(harness: Harness) -> None:
    harness.service.agents = [SALES, WELCOME]

    await open_messages(harness)
    await open_messages(harness, 2)

    assert harness.seen.texts == ["Hello, how can *I* help?"]
    assert harness.seen.messages[0].place.channel == DM
    assert harness.seen.messages[0].place.thread_ts == ""
    (channel, prompts), second = harness.seen.prompts
    assert second == (channel, prompts)
    assert channel == DM
    assert [prompt["title"] for prompt in prompts] == ["Ask Support", "Ask Sales", "What can you do?"]
    assert prompts[0]["message"].startswith("Support: ")
    asked = harness.seen.called("assistant.threads.setSuggestedPrompts")
    assert all("thread_ts" not in call.args for call in asked)


async def test_an_interrupted_greeting_is_posted_later(harness: Harness) -> None:
    turn = TurnId("a turn that ended without it")
    await harness.store.said_once.claim_greeting(TEAM, USER, turn)

    await open_messages(harness)
    assert harness.seen.texts == []  # the running turn may still do it
    await harness.store.redis.pexpire(f"{PREFIX}greeted:{TEAM}:{USER}", 0)
    await open_messages(harness, 2)
    await open_messages(harness, 3)

    assert len(harness.seen.texts) == 1
    assert await harness.store.days_left(f"greeted:{TEAM}:{USER}") > 364


async def test_there_are_never_more_than_four_prompts(harness: Harness) -> None:
    harness.service.agents = [{**SALES, "id": number, "name": f"Agent {number}"} for number in range(9)]

    await open_messages(harness)

    assert len(harness.seen.prompts[0][1]) == 4
    assert "starts a new conversation" in said(harness)  # no default agent, so the bridge sends the greeting


async def test_an_opened_messages_tab_does_not_mention_an_outage(harness: Harness) -> None:
    harness.service.always = httpx.Response(500)

    await open_messages(harness)

    assert (harness.seen.texts, harness.seen.ephemerals, harness.seen.prompts) == ([], [], [])
