"""Planning: which agent a message goes to, in which session, with which words."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bridge.errors import SlackRefused, SlackUnreachable
from bridge.features.conversations.answering import configured, named_first
from bridge.features.registry import features
from bridge.features.results import Done, TryLater, Wait
from bridge.ids import new_turn_id
from bridge.inbound import Alert, MessageFile, Quotation
from bridge.playground.emulator.sample import BOB
from bridge.project import Agent
from bridge.queue.inbox import Condition
from bridge.queue.records import Conversation
from bridge.slack.blockkit.reply import Audience, Reply
from bridge.slack.parts import MessageTag, Place
from support.store import CHANNEL, ROOT, START, THREAD, USER, message, ts
from support.turns import BOT, SALES, SUPPORT, Bench, Posted

AGENTS = [
    Agent.model_validate(one)
    for one in (SUPPORT, SALES, {"id": 9, "name": "7", "model": "m"}, {"id": 10, "name": "Two Words", "model": "m"})
]


def asked(agent: int, message: str, session: int | None = None) -> list[dict[str, Any]]:
    """What the service is asked, once."""
    return [{"message": message, "agent": agent} | ({} if session is None else {"sessionId": session})]


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
        (f"<@{BOT}> Sales: hello", 7, "Support", (8, "hello")),
        (f"<@{BOT}> 8: hello", None, "", (8, "hello")),
        (f"<@{BOT}> hello", 8, "Support", (8, "hello")),
        (f"<@{BOT}> hello", None, "Sales", (8, "hello")),
        (f"<@{BOT}> hello", 99, "8", (8, "hello")),  # the channel's agent is gone
        (f"<@{BOT}> Nobody: hello", 8, "", (8, "Nobody: hello")),
    ],
)
async def test_which_agent_answers_a_conversation_that_begins(
    bench: Bench, text: str, in_channel: int | None, by_default: str, expected: tuple[int, str]
) -> None:
    bench.default_agent = by_default
    bench.service.agents = [SUPPORT, SALES]
    await bench.store.set_channel(agent=in_channel)

    await bench.answer(message(text, is_mention=True))

    assert bench.service.asked == asked(*expected)


async def test_the_only_agent_needs_no_choice(bench: Bench) -> None:
    await bench.answer(message("hello"))

    assert bench.service.asked == asked(7, "hello")


async def test_where_nothing_chooses_a_menu_is_shown(bench: Bench) -> None:
    bench.service.agents = [SUPPORT, SALES]

    result = await bench.answer(message("hello"))

    assert isinstance(result, Wait)
    assert result.menu.audience is Audience.THREAD
    assert "Sales" in str(result.menu.blocks)
    assert await bench.store.sessions.thread(THREAD) == Conversation()


async def test_a_project_without_agents_says_so(bench: Bench) -> None:
    bench.service.agents = []

    result = await bench.answer(message("hello"))

    assert isinstance(result, Reply)
    assert "no agents" in result.text


async def test_naming_an_agent_and_saying_nothing_shows_help(bench: Bench) -> None:
    assert isinstance(await bench.answer(message(f"<@{BOT}> Support:")), Reply)
    assert bench.service.asked == []


async def test_in_a_bound_thread_a_name_and_a_colon_are_ordinary_text(bench: Bench) -> None:
    bench.service.agents = [SUPPORT, SALES]
    await bench.store.conversation(agent=7)
    process = bench.store.process()
    await process.journal.done(await process.take())
    await bench.store.sessions.rebind(THREAD, expected=None, session=42)

    await bench.answer(message("Sales: hello", ts(1)))

    assert bench.service.asked == asked(7, "Sales: hello", 42)


async def test_a_handler_that_runs_again_asks_once_and_says_the_same(bench: Bench) -> None:
    bench.service.agents = [SUPPORT, SALES]
    turn, deps = await bench.turn(message("Sales: hello")), bench.deps(bench.store.process("a"))

    first = await features.handle(deps, turn)
    await turn.begin()  # Redis was away in the middle of it
    again = await features.handle(deps, turn)

    assert again == first
    assert bench.service.asked == asked(8, "hello")


async def test_whoever_takes_over_before_the_request_asks_the_same_agent(bench: Bench) -> None:
    bench.service.agents = [SUPPORT, SALES]
    await bench.turn(message("Sales: hello"))  # and dies

    await bench.take_over("b")

    assert bench.service.asked == asked(8, "hello")
    assert bench.say.words == ["re: hello"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"<@{BOT}> hello", "hello"),
        ("ask <@U0BOB> in <#C2>", "ask @Anna in #general"),
        ("see <https://a.test|this> &amp; that", "see [this](https://a.test) & that"),
        ("1 &lt; 2 &gt; 0", "1 < 2 > 0"),
    ],
)
async def test_the_agent_reads_names_and_links_instead_of_slacks_escapes(bench: Bench, text: str, words: str) -> None:
    bench.directory.users[BOB] = "Anna"
    bench.directory.channels["C2"] = "general"

    await bench.answer(message(text))

    assert bench.service.messages == [words]


async def test_a_photo_alone_is_answered_in_private(bench: Bench) -> None:
    result = await bench.answer(message("", parts=[MessageFile(id="F1", kind="image", name="a.png")]))

    assert isinstance(result, Reply)
    assert result.audience is Audience.PRIVATE
    assert "a.png: the agent can't see images" in result.text
    assert bench.service.asked == []


async def test_what_is_only_forwarded_goes_to_the_agent(bench: Bench) -> None:
    await bench.answer(message("", parts=[Quotation(author="Ada", text="The lamp is red.")]))

    assert bench.service.messages == ["A forwarded message by Ada:\n> The lamp is red."]


async def test_a_forwarded_message_is_no_command_and_names_no_agent(bench: Bench) -> None:
    bench.service.agents = [SUPPORT, SALES]
    bench.default_agent = "Support"

    await bench.answer(message("", parts=[Quotation(text="Sales: !stats"), Alert(text=f"<@{BOT}> !new")]))

    assert bench.service.asked == asked(7, "A forwarded message:\n> Sales: !stats\n\nShown by an app:\n> !new")


async def test_an_agent_that_is_only_named_gets_what_is_forwarded(bench: Bench) -> None:
    bench.service.agents = [SUPPORT, SALES]

    await bench.answer(message("Sales:", parts=[Alert(text="Disk full")]))

    assert bench.service.asked == asked(8, "Shown by an app:\n> Disk full")


async def test_what_the_agent_cannot_see_is_told_in_private_once(bench: Bench) -> None:
    photo = MessageFile(id="F1", kind="image", name="a.png", type="PNG", size=1200, alt_text="A lamp")
    await bench.store.queue(message("look", parts=[photo]))

    await bench.work()
    await bench.work()  # the notice

    assert bench.service.messages == ["look\n\n[image “a.png” (PNG, 1.2 kB); described as “A lamp”]"]
    ((recipient, told),) = bench.say.whispers
    assert recipient.user == USER
    assert "a.png: the agent can't see images" in told.text


def answered_earlier(bench: Bench) -> None:
    """Let an answer stand in the thread whose binding Redis has lost."""
    answer = Reply(text="an answer", audience=Audience.THREAD)
    mark = MessageTag("bridge_turn", new_turn_id(), 8, 41)
    bench.say.messages.append(Posted(Place(CHANNEL, ROOT), answer, mark, "1700000000.000150"))


@pytest.mark.parametrize("condition", [Condition.SEARCH, Condition.START])
async def test_a_binding_that_was_lost_is_found_in_the_thread(bench: Bench, condition: Condition) -> None:
    answered_earlier(bench)

    await bench.answer(message("go on", ts(1)), condition=condition)

    assert bench.service.asked == asked(8, "go on", 41)
    assert await bench.store.sessions.thread(THREAD) == Conversation(agent=8, session=41)


async def test_a_thread_that_was_never_bound_is_left_alone_and_searched_once(bench: Bench) -> None:
    result = await bench.answer(message("to my friends", ts(1)), condition=Condition.SEARCH)

    assert isinstance(result, Done)
    assert await bench.store.sessions.was_searched(THREAD)
    assert await bench.store.sessions.thread(THREAD) is None
    assert bench.say.looks == 1


@pytest.mark.parametrize("after", [None, timedelta(seconds=30)])
async def test_a_thread_that_cannot_be_read_now_is_read_later(bench: Bench, after: timedelta | None) -> None:
    bench.say.look_troubles = [SlackUnreachable("conversations.replies", "", after)]

    with pytest.raises(TryLater) as caught:
        await bench.answer(message("go on", ts(1)), condition=Condition.SEARCH)

    assert caught.value.after == (after or timedelta(seconds=5))
    assert not await bench.store.sessions.was_searched(THREAD)


async def test_where_reading_is_not_allowed_a_mention_begins_anew(bench: Bench) -> None:
    bench.say.look_troubles = [SlackRefused("conversations.replies", "missing_scope")]

    await bench.answer(message(f"<@{BOT}> hello", ts(1)), condition=Condition.START)

    assert bench.service.asked == asked(7, "hello")


async def test_a_young_thread_does_not_wait_for_slack_to_be_searched(bench: Bench) -> None:
    bench.store_since = lambda: START - timedelta(days=9000)
    bench.say.look_troubles = [SlackUnreachable("conversations.replies")]

    await bench.answer(message(f"<@{BOT}> hello", ts(1)), condition=Condition.START)

    assert bench.service.asked == asked(7, "hello")
