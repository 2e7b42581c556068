"""Planning: which agent a message goes to, in which session, with which words."""

from __future__ import annotations

from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.errors import SlackRefused, SlackUnreachable
from bridge.features.conversations.choosing import configured, named_first
from bridge.features.plan import AskAgent, Nothing, Plan, Show, TryLater, WaitForChoice
from bridge.ids import new_turn_id
from bridge.inbound import InboundMessage
from bridge.project import Agent
from bridge.queue.inbox import Condition
from bridge.queue.records import Conversation
from bridge.slack.blockkit.reply import Audience, Reply
from bridge.slack.history import MessageTag, Place
from support.store import CHANNEL, ROOT, START, TEAM, THREAD, message, ts
from support.turns import BOT, SALES, SUPPORT, Bench, Posted, a_bench

AGENTS = [
    Agent.model_validate(one)
    for one in (SUPPORT, SALES, {"id": 9, "name": "7", "model": "m"}, {"id": 10, "name": "Two Words", "model": "m"})
]


async def planned(bench: Bench, inbound: InboundMessage, **how: object) -> Plan:
    """Queue a message, take it, and say what is to be done about it."""
    await bench.store.queue(inbound, **how)
    taken = await bench.store.process().take(may_send=False)
    assert isinstance(taken.turn.body, InboundMessage)
    return await bench.chats().plan(taken, taken.turn.body)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Support: hello", (7, "hello")),
        ("support:hello", None),  # a colon in the middle of a word, as in an address
        ("sUpPoRt :  hello", (7, "hello")),
        ('"Two Words": hello', (10, "hello")),
        ("Two Words: hello", (10, "hello")),
        ("8: hello", (8, "hello")),
        ("Support:\nhello\nthere", (7, "hello\nthere")),
        ("Support:", (7, "")),
        ("7: whom?", None),  # an id and another one's name
        ("Nobody: hello", None),
        ("Support hello", None),
        ("see this: Support: hello", None),
        ("", None),
    ],
)
def test_an_agent_is_named_first(text: str, expected: tuple[int, str] | None) -> None:
    found = named_first(text, AGENTS)

    assert (found and (found[0].id, found[1])) == expected


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [("Support", 7), (" sales ", 8), ("8", 8), ("7", 7), ("two words", 10), ("", None), ("nobody", None), ("99", None)],
)
def test_a_configured_agent_is_found_by_id_or_name(wanted: str, expected: int | None) -> None:
    found = configured(wanted, AGENTS)

    assert (found.id if found else None) == expected


def test_a_configured_name_that_two_agents_have_chooses_neither() -> None:
    twins = [*AGENTS, Agent.model_validate({"id": 11, "name": "support", "model": "m"})]

    assert configured("Support", twins) is None


@pytest.mark.parametrize(
    ("text", "in_channel", "by_default", "expected"),
    [
        (f"<@{BOT}> Sales: hello", 7, "Support", AskAgent(8, "Sales", "hello", is_first=True)),
        (f"<@{BOT}> 8: hello", None, "", AskAgent(8, "Sales", "hello", is_first=True)),
        (f"<@{BOT}> hello", 8, "Support", AskAgent(8, "Sales", "hello", is_first=True)),
        (f"<@{BOT}> hello", None, "Sales", AskAgent(8, "Sales", "hello", is_first=True)),
        (f"<@{BOT}> hello", 99, "8", AskAgent(8, "Sales", "hello", is_first=True)),  # the channel's agent is gone
        (f"<@{BOT}> Nobody: hello", 8, "", AskAgent(8, "Sales", "Nobody: hello", is_first=True)),
    ],
)
async def test_which_agent_answers_a_conversation_that_begins(
    redis: Redis, text: str, in_channel: int | None, by_default: str, expected: AskAgent
) -> None:
    async with a_bench(redis, default_agent=by_default) as bench:
        bench.service.agents = [SUPPORT, SALES]
        await bench.store.sessions.set_channel_default(TEAM, CHANNEL, in_channel)

        plan = await planned(bench, message(text, is_mention=True))

        assert plan == expected


async def test_the_only_agent_needs_no_choice(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        assert await planned(bench, message("hello")) == AskAgent(7, "Support", "hello", is_first=True)


async def test_where_nothing_chooses_a_menu_is_shown(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        bench.service.agents = [SUPPORT, SALES]

        plan = await planned(bench, message("hello"))

        assert isinstance(plan, WaitForChoice)
        assert plan.menu.audience is Audience.THREAD
        assert "Sales" in str(plan.menu.blocks)
        assert await bench.store.sessions.thread(THREAD) == Conversation()


async def test_a_project_without_agents_says_so(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        bench.service.agents = []

        plan = await planned(bench, message("hello"))

        assert isinstance(plan, Show)
        assert "no agents" in plan.reply.text


async def test_naming_an_agent_and_saying_nothing_shows_help(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        assert isinstance(await planned(bench, message(f"<@{BOT}> Support:")), Show)


async def test_in_a_bound_thread_a_name_and_a_colon_are_ordinary_text(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        bench.service.agents = [SUPPORT, SALES]
        await bench.store.conversation(agent=7)
        process = bench.store.process()
        await process.journal.done(await process.take())
        await bench.store.sessions.rebind(THREAD, expected=None, session=42)

        plan = await planned(bench, message("Sales: hello", ts(1)))

        assert plan == AskAgent(7, "", "Sales: hello", 42)


async def test_planning_twice_gives_the_same_agent_and_words(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        bench.service.agents = [SUPPORT, SALES]
        first = await planned(bench, message("Sales: hello"))
        over = bench.store.process("b")
        taken = await over.take((await over.take_over())[0], may_send=False)
        assert isinstance(taken.turn.body, InboundMessage)

        assert await bench.chats().plan(taken, taken.turn.body) == first == AskAgent(8, "Sales", "hello", is_first=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"<@{BOT}> hello", "hello"),
        ("ask <@U2> in <#C2>", "ask @Anna in #general"),
        ("see <https://a.test|this> &amp; that", "see [this](https://a.test) & that"),
        ("1 &lt; 2 &gt; 0", "1 < 2 > 0"),
    ],
)
async def test_the_agent_reads_names_and_links_instead_of_slacks_escapes(redis: Redis, text: str, words: str) -> None:
    async with a_bench(redis) as bench:
        bench.directory.users["U2"] = "Anna"
        bench.directory.channels["C2"] = "general"

        plan = await planned(bench, message(text))

        assert isinstance(plan, AskAgent)
        assert plan.message == words


async def test_a_file_without_text_is_answered_in_private(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        plan = await planned(bench, message("", has_files=True))

        assert isinstance(plan, Show)
        assert plan.reply.audience is Audience.PRIVATE
        assert "only read text" in plan.reply.text


def answered_earlier(bench: Bench) -> None:
    """Let an answer stand in the thread whose binding Redis has lost."""
    answer = Reply(text="an answer", audience=Audience.THREAD)
    mark = MessageTag("bridge_turn", new_turn_id(), 8, 41)
    bench.say.messages.append(Posted(Place(CHANNEL, ROOT), answer, mark, "1700000000.000150"))


@pytest.mark.parametrize("condition", [Condition.SEARCH, Condition.START])
async def test_a_binding_that_was_lost_is_found_in_the_thread(redis: Redis, condition: Condition) -> None:
    async with a_bench(redis) as bench:
        answered_earlier(bench)

        plan = await planned(bench, message("go on", ts(1)), condition=condition)

        assert isinstance(plan, AskAgent)
        assert (plan.agent, plan.message, plan.session) == (8, "go on", 41)
        assert await bench.store.sessions.thread(THREAD) == Conversation(agent=8, session=41)


async def test_a_thread_that_was_never_bound_is_left_alone_and_searched_once(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        plan = await planned(bench, message("to my friends", ts(1)), condition=Condition.SEARCH)

        assert isinstance(plan, Nothing)
        assert await bench.store.sessions.was_searched(THREAD)
        assert await bench.store.sessions.thread(THREAD) is None
        assert bench.say.looks == 1


@pytest.mark.parametrize("after", [None, timedelta(seconds=30)])
async def test_a_thread_that_cannot_be_read_now_is_read_later(redis: Redis, after: timedelta | None) -> None:
    async with a_bench(redis) as bench:
        bench.say.look_troubles = [SlackUnreachable("conversations.replies", "", after)]

        plan = await planned(bench, message("go on", ts(1)), condition=Condition.SEARCH)

        assert plan == TryLater(after or timedelta(seconds=5))
        assert not await bench.store.sessions.was_searched(THREAD)


async def test_where_reading_is_not_allowed_a_mention_begins_anew(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        bench.say.look_troubles = [SlackRefused("conversations.replies", "missing_scope")]

        plan = await planned(bench, message(f"<@{BOT}> hello", ts(1)), condition=Condition.START)

        assert plan == AskAgent(7, "Support", "hello", is_first=True)


async def test_a_young_thread_does_not_wait_for_slack_to_be_searched(redis: Redis) -> None:
    async with a_bench(redis, store_since=lambda: START - timedelta(days=9000)) as bench:
        bench.say.look_troubles = [SlackUnreachable("conversations.replies")]

        plan = await planned(bench, message(f"<@{BOT}> hello", ts(1)), condition=Condition.START)

        assert plan == AskAgent(7, "Support", "hello", is_first=True)
