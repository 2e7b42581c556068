"""Planning a turn: which agent gets a message, in which session, with which text."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from bridge.engine.results import Done, Outcome, TryLater, Wait
from bridge.features.buttons import SET_DEFAULT
from bridge.features.conversations.menu import CHOOSE, CHOOSE_MEANT
from bridge.ids import new_turn_id
from bridge.inbound import Alert, MessageFile, Quotation
from bridge.playground.emulator.faults import Error, Fault, RateLimited
from bridge.playground.emulator.sample import BRIDGE_BOT, GENERAL
from bridge.queue.inbox import Condition
from bridge.queue.records import Conversation
from bridge.slack.blockkit.reply import Audience, Reply
from bridge.slack.parts import MessageTag
from support.harness import NOT_NOW, READ, SALES, SUPPORT, Harness
from support.store import BOT, ROOT, START, THREAD, USER, message, ts


def asked(agent: int, message: str, session: int | None = None) -> list[dict[str, Any]]:
    """The one request the service should get."""
    return [{"message": message, "agent": agent} | ({} if session is None else {"sessionId": session})]


@pytest.mark.parametrize(
    ("text", "in_channel", "by_default", "expected"),
    [
        (f"<@{BOT}> Sales: hello", 7, "Support", (8, "hello")),
        (f"<@{BOT}> 8: hello", None, "", (8, "hello")),
        (f"<@{BOT}> #8: hello", None, "", (8, "hello")),
        (f"<@{BOT}> hello", 8, "Support", (8, "hello")),
        (f"<@{BOT}> hello", None, "Sales", (8, "hello")),
        (f"<@{BOT}> hello", 99, "8", (8, "hello")),  # the channel's agent was deleted
        (f"<@{BOT}> Nobody: hello", 8, "", (8, "Nobody: hello")),
        (f"<@{BOT}> - Sales: hello", None, "", (8, "hello")),
        (f"<@{BOT}>：Ｓａｌｅｓ：“hello” １\u200b２", None, "", (8, "“hello” １\u200b２")),  # noqa: RUF001 - as typed
        (f"<@{BOT}>, *Sales:* hello", None, "", (8, "hello")),
        (f"<@U0CAROL> <@{BOT}> Sales: hello", None, "", (8, "@Carol Conti hello")),
    ],
)
async def test_names_and_defaults_choose_a_new_conversations_agent(
    harness: Harness, text: str, in_channel: int | None, by_default: str, expected: tuple[int, str]
) -> None:
    harness.configure(BRIDGE_DEFAULT_AGENT=by_default)
    harness.service.agents = [SUPPORT, SALES]
    await harness.store.set_channel(agent=in_channel)

    await harness.answer(message(text, is_mention=True))

    assert harness.service.asked == asked(*expected)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Support, hi", "7"),
        ("memroy: hi", "9"),
        ("Supprot : hi", "7"),
        ("*Sal*: hi", "8"),
        ("sales how are you?", "8"),
        ("Support, Sales: hi", "7"),
        ("Support; hi", "7"),
        ("Support—hi", "7"),
        ("9, hi", "9"),
        ("hello, Support", ""),
        ("Salesforce is down", ""),
        ("hi: there", ""),
    ],
)
async def test_the_menu_offers_the_agent_that_was_meant(harness: Harness, text: str, meant: str) -> None:
    memory = {"id": 9, "name": "Memory", "model": "m", "description": "Remembers\nthings."}
    short = [{"id": 3, "name": "Q", "model": "m"}, {"id": 5, "name": "3", "model": "m"}]
    harness.service.agents = [SUPPORT, SALES, memory, *short]

    result = await harness.answer(message(f"<@{BOT}> {text}", is_mention=True))

    assert isinstance(result, Wait)
    elements = next(block["elements"] for block in result.menu.blocks if block["type"] == "actions")
    assert ("Did you mean" in result.menu.text) is bool(meant)
    assert [one["value"] for one in elements if one["action_id"] == CHOOSE_MEANT] == [meant][: bool(meant)]
    options = next(one["options"] for one in elements if one["action_id"] == CHOOSE)
    assert [one.get("description", {}).get("text") for one in options] == [None, "Remembers things.", None, None, None]


@pytest.mark.parametrize("typed", ["Sales", "\uff33ales\u200b", f"<@{BOT}> *Sales*", "8:", "#8"])
async def test_a_name_typed_below_the_menu_chooses(harness: Harness, typed: str) -> None:
    harness.service.agents = [SUPPORT, SALES]
    await harness.receive(message(f"<@{BOT}> hello", is_mention=True, thread_ts=""))
    await harness.work()

    await harness.receive(message("and more", ts(1)))
    await harness.receive(message(typed, ts(2), is_mention=BOT in typed))
    await harness.work()

    assert [(one["message"], one["agent"]) for one in harness.service.asked] == [("hello", 8), ("and more", 8)]
    assert "Sales answers in this thread." in harness.seen.texts
    assert not any("Which agent" in text for text in harness.seen.texts)
    assert len(harness.seen.ephemerals) == 0


@pytest.mark.parametrize(
    ("typed", "agents"), [("!agent Sales", [8]), ("!agent Nobody", []), ("!new", []), ("!session 5", [])]
)
async def test_a_command_typed_below_the_menu_is_carried_out(harness: Harness, typed: str, agents: list[int]) -> None:
    harness.service.agents = [SUPPORT, SALES]
    await harness.receive(message(f"<@{BOT}> hello", is_mention=True, thread_ts=""))
    await harness.work()
    before = len(harness.seen.texts) + len(harness.seen.ephemerals)

    await harness.receive(message(typed, ts(1)))
    await harness.work()

    assert [one["agent"] for one in harness.service.asked] == agents
    assert len(harness.seen.texts) + len(harness.seen.ephemerals) > before


@pytest.mark.parametrize("corrected", ["the first", "a name"])
async def test_an_edit_that_names_an_agent_chooses_below_the_menu(harness: Harness, corrected: str) -> None:
    harness.service.agents = [SUPPORT, SALES]
    root = await harness.say(f"<@{BOT}> hello")
    reply = await harness.say("Slaes", root) if corrected == "a name" else ""

    await harness.slack.people.edit(GENERAL, reply or root, "Sales" if reply else f"<@{BOT}> Sales: hello")
    await harness.slack.settled()
    await harness.work()

    assert [(one["message"], one["agent"]) for one in harness.service.asked] == [("hello", 8)]
    assert "Sales answers in this thread." in harness.seen.texts


async def test_a_name_typed_after_the_choice_is_a_message(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    await harness.receive(message(f"<@{BOT}> Support: hello", is_mention=True, thread_ts=""))
    await harness.work()

    await harness.receive(message("Sales", ts(1)))
    await harness.work()

    assert harness.service.messages == ["hello", "Sales"]


async def test_the_chosen_agent_is_made_the_default_with_one_click(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    await harness.receive(message(f"<@{BOT}> hello", is_mention=True, thread_ts=""))
    await harness.work()
    await harness.press(CHOOSE, "8")

    await harness.press(SET_DEFAULT)

    assert (await harness.store.channels.get(THREAD.team, THREAD.channel)).agent == 8


@pytest.mark.parametrize("runners", ["U0BOB", USER])
async def test_only_people_who_may_set_the_default_are_offered_it(harness: Harness, runners: str) -> None:
    harness.configure(BRIDGE_RUNNERS=runners)
    harness.service.agents = [SUPPORT, SALES]
    await harness.receive(message(f"<@{BOT}> hello", is_mention=True, thread_ts=""))
    await harness.work()
    shown = str(harness.seen.messages[-1].blocks)
    await harness.press(CHOOSE, "8")

    assert ("default:form" in shown, SET_DEFAULT in str(harness.seen.messages[0].blocks)) == (runners == USER,) * 2


async def test_a_project_without_agents_says_so(harness: Harness) -> None:
    harness.service.agents = []

    result = await harness.answer(message("hello"))

    assert isinstance(result, Reply)
    assert "no agents" in result.text


async def test_an_agents_name_without_a_message_shows_help(harness: Harness) -> None:
    assert isinstance(await harness.answer(message(f"<@{BOT}> Support:")), Reply)
    assert harness.service.asked == []


@pytest.mark.parametrize("mention", ["", f"<@{BOT}> "])
async def test_a_name_and_a_colon_are_ordinary_text_in_a_bound_thread(harness: Harness, mention: str) -> None:
    harness.service.agents = [SUPPORT, SALES]
    await harness.store.conversation(agent=7)
    process = harness.store.process()
    await process.journal.done(await process.take())
    await harness.store.sessions.rebind(THREAD, expected=None, session=42)

    await harness.answer(message(f"{mention}Sales: hello", ts(1)))

    assert harness.service.asked == asked(7, "Sales: hello", 42)


async def test_a_repeated_handler_sends_once_and_replies_the_same(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    turn = await harness.turn(message("Sales: hello"))

    first = await harness.handle(turn)
    await turn.restart()  # Redis was unavailable in between
    again = await harness.handle(turn)

    assert again == first
    assert harness.service.asked == asked(8, "hello")


async def test_a_turn_taken_over_before_its_request_asks_the_same_agent(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    await harness.turn(message("Sales: hello"))  # then the worker is killed

    await harness.take_over("b")

    assert harness.service.asked == asked(8, "hello")
    assert harness.seen.texts == ["re: hello"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"<@{BOT}> hello", "hello"),
        ("ask <@U0BOB> in <#C0RANDOM>", "ask @Bob Brandt in #random"),
        (f"<@U0BOB> says that <@{BOT}> knows", "@Bob Brandt says that knows"),
        (f"good morning <@{BOT}>, how are you?", "good morning, how are you?"),
        ("see <https://a.test/b?c=1&amp;d=2|this> &amp; that", "see [this](https://a.test/b?c=1&d=2) & that"),
        ("see <https://a.test>", "see https://a.test"),
        ("see <http://a.test/B|a.test/B>", "see a.test/B"),
        ("1 &lt; 2 &gt; 0, &amp;lt; stays", "1 < 2 > 0, &lt; stays"),
    ],
)
async def test_the_agent_reads_names_and_links_instead_of_slacks_escapes(
    harness: Harness, text: str, words: str
) -> None:
    await harness.answer(message(text))

    assert harness.service.messages == [words]


async def test_a_photo_alone_is_sent_to_the_agent_by_name(harness: Harness) -> None:
    await harness.answer(message("", parts=[MessageFile(id="F1", kind="image", name="a.png")]))

    assert harness.service.messages == ["[image “a.png”]"]


async def test_a_file_alone_is_answered_in_private_where_files_are_off(harness: Harness) -> None:
    harness.configure(BRIDGE_FILES="off")

    result = await harness.answer(message("", parts=[MessageFile(id="F1", kind="image", name="a.png")]))

    assert isinstance(result, Outcome)
    assert result.reply is not None
    assert result.reply.audience is Audience.PRIVATE
    assert "a.png: files aren't sent to agents here" in result.reply.text
    assert harness.service.asked == []


async def test_a_forwarded_message_alone_goes_to_the_agent(harness: Harness) -> None:
    await harness.answer(message("", parts=[Quotation(author="Ada", text="The lamp is red.")]))

    assert harness.service.messages == ["A forwarded message from Ada:\n> The lamp is red."]


async def test_a_forwarded_message_is_neither_a_command_nor_an_agents_name(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    harness.configure(BRIDGE_DEFAULT_AGENT="Support")

    await harness.answer(message("", parts=[Quotation(text="Sales: !stats"), Alert(text=f"<@{BOT}> !new")]))

    assert harness.service.asked == asked(7, "A forwarded message:\n> Sales: !stats\n\nFrom an app:\n> !new")


async def test_an_agent_named_alone_gets_the_forwarded_message(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]

    await harness.answer(message("Sales:", parts=[Alert(text="Disk full")]))

    assert harness.service.asked == asked(8, "From an app:\n> Disk full")


async def test_an_unreadable_image_brings_one_private_notice(harness: Harness) -> None:
    photo = MessageFile(id="F1", kind="image", name="a.png", type="PNG", size=1200, alt_text="A lamp")
    await harness.store.queue(message("look", parts=[photo]))

    await harness.work()
    await harness.work()  # posts the notice

    assert harness.service.messages == ["look\n\n[image “a.png” (PNG, 1.2 kB); described as “A lamp”]"]
    (notice,) = harness.seen.ephemerals
    assert notice.user == USER
    assert "a.png: the agent can't see images" in notice.text


def answered_earlier(harness: Harness) -> None:
    """Post an earlier answer in a thread whose session Redis has lost."""
    tag = MessageTag("bridge_turn", new_turn_id(), 8, 41).metadata("0", 1)
    harness.write("1700000000.000150", "an answer", user=BOT, thread_ts=ROOT, bot_id=BRIDGE_BOT, metadata=tag)


@pytest.mark.parametrize("condition", [Condition.SEARCH, Condition.START])
async def test_a_lost_binding_is_found_in_the_thread(harness: Harness, condition: Condition) -> None:
    harness.write(ROOT, "hello there")
    answered_earlier(harness)

    await harness.answer(message("go on", ts(1)), condition=condition)

    assert harness.service.asked == asked(8, "go on", 41)
    assert await harness.store.sessions.thread(THREAD) == Conversation(agent=8, session=41)


async def test_a_lost_binding_keeps_every_digit(harness: Harness) -> None:
    agent, session = 2**53 + 1, 12345678901234567891
    harness.write(ROOT, "hello there")
    tag = MessageTag("bridge_turn", new_turn_id(), agent, session).metadata("0", 1)
    tag = json.loads(json.dumps(tag), parse_int=float)  # as a reader that has only floats returns it
    harness.write("1700000000.000150", "an answer", user=BOT, thread_ts=ROOT, bot_id=BRIDGE_BOT, metadata=tag)

    await harness.answer(message("go on", ts(1)), condition=Condition.SEARCH)

    assert harness.service.asked == asked(agent, "go on", session)


async def test_a_thread_that_was_never_bound_is_searched_once(harness: Harness) -> None:
    result = await harness.answer(message("to my friends", ts(1)), condition=Condition.SEARCH)

    assert isinstance(result, Done)
    assert await harness.store.sessions.was_searched(THREAD)
    assert await harness.store.sessions.thread(THREAD) is None
    assert harness.seen.reads == 1


@pytest.mark.parametrize(("fault", "seconds"), [(NOT_NOW, 5), (RateLimited(30), 30)])
async def test_a_thread_that_cannot_be_read_now_is_read_later(harness: Harness, fault: Fault, seconds: int) -> None:
    harness.slack.faults.on(READ, fault)

    with pytest.raises(TryLater) as caught:
        await harness.answer(message("go on", ts(1)), condition=Condition.SEARCH)

    assert caught.value.after == timedelta(seconds=seconds)
    assert not await harness.store.sessions.was_searched(THREAD)


async def test_a_mention_in_an_unreadable_thread_starts_a_new_session(harness: Harness) -> None:
    harness.slack.faults.on(READ, Error("missing_scope"), times=None)

    await harness.answer(message(f"<@{BOT}> hello", ts(1)), condition=Condition.START)

    assert harness.service.asked == asked(7, "hello")


async def test_a_young_thread_does_not_wait_for_slack_to_be_searched(harness: Harness) -> None:
    harness.store.namespace.since = START - timedelta(days=9000)
    harness.slack.faults.on(READ, NOT_NOW, times=None)

    await harness.answer(message(f"<@{BOT}> hello", ts(1)), condition=Condition.START)

    assert harness.service.asked == asked(7, "hello")
