"""People have their conversations in hand: muted, handed over, continued elsewhere, named, and greeted."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from redis.asyncio import Redis

from bridge.features.conversations.layout import CONTINUE, title_of
from bridge.ids import ThreadKey, TurnId
from bridge.inbound import Click, InboundMessage, MessagesTabOpened
from support.store import CHANNEL, PREFIX, ROOT, TEAM, THREAD, USER, message, ts
from support.turns import BOT, SALES, SUPPORT, Bench, a_bench

DM = "D1"
WELCOME = {**SUPPORT, "welcome_message": "Hello, how can *I* help?"}


@pytest.fixture
async def bench(redis: Redis) -> AsyncIterator[Bench]:
    async with a_bench(redis) as bench:
        bench.service.agents = [SUPPORT, SALES]
        bench.default_agent = "Support"
        yield bench


async def say_it(bench: Bench, said: InboundMessage) -> str:
    received = await bench.receiver().receive(said)
    await bench.work()
    return received.reason or received.decision


async def begin(bench: Bench, channel: str = CHANNEL, root: str = ROOT, text: str = "hello there") -> None:
    await say_it(bench, message(f"<@{BOT}> {text}", root, channel=channel, event_id=f"{channel}{root}",
                                thread_ts="", is_mention=True, is_direct=channel == DM))  # fmt: skip


async def reply(bench: Bench, text: str, number: int, channel: str = CHANNEL, root: str = ROOT) -> str:
    return await say_it(bench, message(text, ts(number), channel=channel, thread_ts=root,
                                       event_id=f"{channel}{number}", is_direct=channel == DM,
                                       is_mention=BOT in text))  # fmt: skip


def said(bench: Bench) -> str:
    return bench.say.messages[-1].reply.text


def whispered(bench: Bench) -> str:
    return bench.say.whispers[-1][1].text


async def press(bench: Bench, value: str, channel: str = CHANNEL, user: str = USER) -> None:
    click = Click(team=TEAM, channel=channel, user=user, action_id=CONTINUE, value=value, thread_ts=ROOT,
                  is_ephemeral=True, trigger_id=value + user)  # fmt: skip
    await bench.store.process().inbox.put(click, event=f"press {value} {user}")
    await bench.work()


async def test_nothing_said_in_a_muted_thread_goes_to_the_agent_until_it_is_unmuted(bench: Bench) -> None:
    await begin(bench)
    await reply(bench, "!mute", 1)

    heard = [
        await reply(bench, "between us", 2),
        await reply(bench, f"<@{BOT}> and you?", 3),
        await reply(bench, "!session", 4),
        await reply(bench, f"<@{BOT}> !unmute", 5),
        await reply(bench, "again", 6),
    ]

    assert heard == ["its thread is muted", "muted", "queued", "queued", "queued"]
    assert bench.service.messages == ["hello there", "again"]
    assert any("muted" in one.text for _, one in bench.say.whispers)


async def test_what_is_not_bound_cannot_be_muted(bench: Bench) -> None:
    await say_it(bench, message(f"<@{BOT}> !mute", is_mention=True))

    assert "no conversation" in whispered(bench)
    assert await bench.store.sessions.thread(THREAD) is None


async def test_a_thread_is_handed_to_another_agent_in_a_new_session(bench: Bench) -> None:
    await begin(bench)

    await reply(bench, "!agent Sales", 1)
    await reply(bench, "and you?", 2)

    assert "Sales answers here from now on, in a new session" in bench.say.words[-2]
    assert "Support did (session 42)" in bench.say.words[-2]
    assert [(asked["agent"], asked.get("sessionId")) for asked in bench.service.asked] == [(7, None), (8, None)]


async def test_what_was_written_before_it_is_for_the_earlier_agent(bench: Bench) -> None:
    await begin(bench)
    await bench.store.queue(message("quick", ts(1)))

    await reply(bench, "!agent Sales", 2)

    assert [asked["agent"] for asked in bench.service.asked] == [7, 7]


async def test_the_agent_that_answers_already_keeps_its_session(bench: Bench) -> None:
    await begin(bench)

    await reply(bench, "!agent Support", 1)
    await reply(bench, "go on", 2)

    assert "already" in whispered(bench)
    assert bench.service.asked[-1]["sessionId"] == 42


async def test_a_session_of_the_channel_is_continued_in_another_thread_once_that_was_confirmed(bench: Bench) -> None:
    await begin(bench, root="1700000000.000001")
    bench.service.chats = [None]
    await begin(bench)
    await bench.store.sessions.rebind(THREAD, expected=42, session=77, agent=8)

    await reply(bench, "!session 42", 1)
    assert "Continue session 42 with Support" in whispered(bench)
    assert "session 77" in str(bench.say.whispers[-1][1].blocks)
    await reply(bench, "still here", 2)
    assert bench.service.asked[-1]["sessionId"] == 77
    conversation = await bench.store.sessions.thread(THREAD)
    assert conversation is not None
    await press(bench, f"42:{conversation.session}")
    await reply(bench, "and now", 3)

    assert any("continues session 42" in words for words in bench.say.words)
    assert (bench.service.asked[-1]["agent"], bench.service.asked[-1]["sessionId"]) == (7, 42)


async def test_a_question_about_a_session_that_changed_meanwhile_does_nothing(bench: Bench) -> None:
    await begin(bench)

    await press(bench, "42:5")

    conversation = await bench.store.sessions.thread(THREAD)
    assert conversation is not None
    assert conversation.session == 42
    assert "changed meanwhile" in whispered(bench)


@pytest.mark.parametrize(
    ("where", "who", "may"),
    [(CHANNEL, USER, True), (CHANNEL, "UOTHER", False), ("C2", USER, True), ("C2", "UOTHER", False)],
)
async def test_a_session_of_a_direct_message_is_only_for_its_own_person(
    bench: Bench, where: str, who: str, *, may: bool
) -> None:
    await begin(bench, DM)

    await say_it(bench, message(f"<@{BOT}> !session 42", ts(1), channel=where, user=who, is_mention=True))

    thread = await bench.store.sessions.thread(ThreadKey(TEAM, where, ROOT))
    assert (thread is not None and thread.session == 42) is may
    assert may or "No session 42 can be continued here" in whispered(bench)


async def test_a_session_of_another_channel_is_never_continued_nor_one_that_only_the_service_knows(
    bench: Bench,
) -> None:
    await begin(bench)

    for number, wanted in enumerate(["42", "99999", "x", "²"], 1):
        await say_it(bench, message(f"<@{BOT}> !session {wanted}", ts(number), channel="C2", is_mention=True))
        assert "can be continued here" in whispered(bench)
    await press(bench, "42:", channel="C2")

    assert await bench.store.sessions.thread(ThreadKey(TEAM, "C2", ROOT)) is None


async def test_what_binds_a_session_is_forgotten_with_the_session(bench: Bench) -> None:
    await begin(bench)

    assert 89 < await bench.store.days_left("bound:T1:42") <= 90


async def test_a_direct_message_is_named_by_its_first_words_and_a_channels_thread_is_not(bench: Bench) -> None:
    await begin(bench, DM, text="How do I import *invoices*?")
    await begin(bench)
    await reply(bench, "and then", 1, DM)

    assert [title for _, title in bench.say.titles] == ["How do I import *invoices*?"]


@pytest.mark.parametrize(
    ("said_first", "title"),
    [
        ("one two three four five six seven eight nine ten", "one two three four five six seven eight nine"),
        ("x" * 20 + " " + "y" * 50, "x" * 20 + " …"),
        ("use xoxb-12-34 please", "use … please"),
        ("my password is hunter2", "my password is …"),
        ("password: hunter2 ok", "password: … ok"),
        ("send it with api_key=abc", "send it with …"),
        ("see https://me:pw@example.com/a", "see …"),
        ("why 4711 and a1b2c3d4e5f6a7b8c9", "why 4711 and …"),
        ("card 4111111111111111 please", "card … please"),
        ("line one\nline two", "line one line two"),
    ],
)
def test_a_title_has_no_secrets(said_first: str, title: str) -> None:
    assert title_of(said_first) == title


async def open_messages(bench: Bench, number: int = 1) -> None:
    opened = MessagesTabOpened(team=TEAM, channel=DM, user=USER)
    await bench.store.process().inbox.put(opened, event=f"EvOpened{number}")
    await bench.work()


async def test_who_opens_the_messages_tab_is_greeted_once_and_always_finds_prompts(bench: Bench) -> None:
    bench.service.agents = [SALES, WELCOME]

    await open_messages(bench)
    await open_messages(bench, 2)

    assert bench.say.words == ["Hello, how can *I* help?"]
    assert bench.say.messages[0].place.channel == DM
    assert bench.say.messages[0].place.thread_ts == ""
    (channel, prompts), second = bench.say.prompts
    assert second == (channel, prompts)
    assert channel == DM
    assert [prompt["title"] for prompt in prompts] == ["Ask Support", "Ask Sales", "What can I ask for?"]
    assert prompts[0]["message"].startswith("Support: ")


async def test_a_greeting_that_could_not_be_planned_again_is_given_later(bench: Bench) -> None:
    turn = TurnId("a turn that ended without it")
    await bench.store.sessions.may_greet(TEAM, USER, turn)

    await open_messages(bench)
    assert bench.say.words == []  # that turn may still be about to
    await bench.store.redis.pexpire(f"{PREFIX}greeted:{TEAM}:{USER}", 0)
    await open_messages(bench, 2)
    await open_messages(bench, 3)

    assert len(bench.say.words) == 1
    assert await bench.store.days_left(f"greeted:{TEAM}:{USER}") > 364


async def test_there_are_never_more_than_four_prompts(bench: Bench) -> None:
    bench.service.agents = [{**SALES, "id": number, "name": f"Agent {number}"} for number in range(9)]

    await open_messages(bench)

    assert len(bench.say.prompts[0][1]) == 4
    assert "begins a conversation" in said(bench)  # nobody is the default, so it is the bridge that greets


async def test_who_only_looks_is_not_told_that_the_service_is_away(bench: Bench) -> None:
    bench.service.always = httpx.Response(500)

    await open_messages(bench)

    assert (bench.say.words, bench.say.whispers, bench.say.prompts) == ([], [], [])
