"""Indicators beside messages: status, titles, prompts and the queued reaction. They never delay anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.ends.notices import in_line
from bridge.errors import LaneLost
from bridge.ids import TurnId
from bridge.inbound import InboundMessage
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.faults import DropBefore, Hang, Http
from bridge.playground.emulator.sample import ALICE, TEAM
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.blockkit.reply import Speaker
from bridge.slack.indicators import (
    ANSWERING,
    REACTION,
    RENEW,
    SETS_A_MINUTE,
    SHOWN_A_MINUTE,
    AfterAWhile,
    Indicators,
    QueuedReactions,
    WaitsFor,
    Working,
)
from bridge.slack.parts import Place
from bridge.slack.post import Poster
from support.clocks import Clock
from support.sample_posts import US
from support.slack_fixtures import Answer, Json, answers, asked, limited, methods, refused
from support.store import CHANNEL, PREFIX, Store, message, ts
from support.waiting import wait_until

AGENTS, ASSISTANT = "agents.sessions.setStatus", "assistant.threads.setStatus"
RENAME, PROMPTS = "agents.sessions.rename", "assistant.threads.setSuggestedPrompts"
ADD, REMOVE, EPHEMERAL = "reactions.add", "reactions.remove", "chat.postEphemeral"
HERE = Place("C1", "1.1")
THINKING = "is thinking…"


def identity(*scopes: str) -> Identity:
    return Identity(US.team, "", US.bot_user, US.bot_id, scopes=frozenset(scopes))


@pytest.fixture
async def emulated(emulated: EmulatedSlack) -> EmulatedSlack:
    """A Slack that accepts everything, in any thread."""
    for method in (AGENTS, ASSISTANT, RENAME, PROMPTS, ADD, REMOVE, EPHEMERAL):
        answers(emulated, method, {"ok": True})
    return emulated


def calls_of(emulated: EmulatedSlack) -> list[tuple[str, Json]]:
    return [(call.method, call.args) for call in emulated.calls]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def indicators(slack_web: SlackWeb, clock: Clock) -> Indicators:
    return Indicators(slack_web, identity("reactions:write"), monotonic=clock)


# The status


@pytest.mark.parametrize("error", ["feature_disabled", "unknown_method", "not_agent_app", "missing_scope"])
async def test_a_missing_method_is_replaced_by_the_older_for_an_hour(
    emulated: EmulatedSlack, indicators: Indicators, clock: Clock, error: str
) -> None:
    answers(emulated, AGENTS, refused(error))

    await indicators.show_working(HERE, THINKING)
    await indicators.clear_working(HERE)
    clock.time += 3601
    await indicators.clear_working(HERE)

    assert methods(emulated) == [AGENTS, ASSISTANT, ASSISTANT, AGENTS, ASSISTANT]
    assert [call["status"] for call in asked(emulated, ASSISTANT)] == [THINKING, "", ""]
    assert asked(emulated, ASSISTANT)[0]["loading_messages"] == [THINKING, "is still waiting for the answer…"]


async def test_without_either_method_calls_stop(emulated: EmulatedSlack, indicators: Indicators) -> None:
    answers(emulated, AGENTS, refused("unknown_method"))
    answers(emulated, ASSISTANT, refused("not_agent_app"))

    for _ in range(3):
        await indicators.show_working(HERE, THINKING)
        await indicators.clear_working(HERE)

    assert methods(emulated) == [AGENTS, ASSISTANT]


@pytest.mark.parametrize("reaction", [DropBefore(), limited(5), Http(500), Http(200, "<p>"), refused("invalid_status")])
async def test_a_failed_status_is_no_error_and_tried_again(
    emulated: EmulatedSlack, indicators: Indicators, reaction: Answer
) -> None:
    answers(emulated, AGENTS, reaction)

    await indicators.show_working(HERE, THINKING)
    await indicators.clear_working(HERE)

    assert methods(emulated) == [AGENTS, AGENTS]


async def test_an_app_that_is_no_agent_shows_the_older_status_from_then_on(
    emulated: EmulatedSlack, indicators: Indicators, clock: Clock
) -> None:
    answers(emulated, AGENTS, refused("not_authorized"))

    for thread in ("1.1", "2.2"):
        await indicators.show_working(Place("C1", thread), THINKING)
    await indicators.show_working(Place("C2", "3.3"), THINKING)
    clock.time += 3601
    await indicators.clear_working(HERE)

    assert methods(emulated) == [AGENTS, ASSISTANT, ASSISTANT, ASSISTANT, AGENTS, ASSISTANT]


async def test_a_channel_without_the_bot_says_nothing_of_others(
    emulated: EmulatedSlack, indicators: Indicators
) -> None:
    answers(emulated, AGENTS, refused("not_authorized"))
    answers(emulated, ASSISTANT, refused("not_in_channel"))
    assert not await indicators.show_working(HERE, THINKING)
    answers(emulated, AGENTS, {"ok": True})

    assert await indicators.show_working(Place("C2", "2.2"), THINKING)
    await indicators.clear_working(HERE)

    assert methods(emulated) == [AGENTS, ASSISTANT, AGENTS, ASSISTANT]


async def test_a_status_carries_the_agents_name_and_face(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    indicators = Indicators(slack_web, identity("chat:write.customize"))
    speaker = Speaker(name="Support", face=":headphones:")

    async with Working(indicators, HERE, "Support", speaker=speaker, renew=timedelta(milliseconds=20)):
        await wait_until(lambda: asked(emulated, AGENTS) != [], "the status is shown")

    here = {"channel_id": "C1", "thread_ts": "1.1", "username": "Support", "icon_emoji": ":headphones:"}
    assert asked(emulated, AGENTS)[0] == {**here, "status": "processing"}


async def test_a_name_that_slack_refuses_is_left_out(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    indicators = Indicators(slack_web, identity("chat:write.customize"))
    answers(emulated, AGENTS, refused("missing_scope", needed="chat:write.customize"), {"ok": True})

    assert await indicators.show_working(HERE, THINKING, speaker=Speaker(name="Support", face=":x:"))

    assert ["username" in call for call in asked(emulated, AGENTS)] == [True, False]


async def test_a_session_without_words_costs_no_call_for_a_change(
    emulated: EmulatedSlack, indicators: Indicators
) -> None:
    async with Working(indicators, HERE, "Support") as status:
        status.now("is reading 2 files")
        await wait_until(lambda: status.is_seen, "the status is shown")
        status.now(ANSWERING)

    assert [call["status"] for call in asked(emulated, AGENTS)] == ["processing", "active"]


async def test_twenty_statuses_a_minute_are_shown_and_all_cleared(
    emulated: EmulatedSlack, indicators: Indicators, clock: Clock
) -> None:
    places = [Place("C1", f"{number}.0") for number in range(25)]
    for place in places:
        await indicators.show_working(place, THINKING)
    for place in places:
        await indicators.clear_working(place)

    shown = [call["thread_ts"] for call in asked(emulated, AGENTS) if call["status"] == "processing"]
    cleared = [call["thread_ts"] for call in asked(emulated, AGENTS) if call["status"] == "active"]
    assert shown == cleared == [place.thread_ts for place in places[:SETS_A_MINUTE]]

    clock.time += 61
    await indicators.show_working(places[24], THINKING)
    assert asked(emulated, AGENTS)[-1]["thread_ts"] == "24.0"


async def test_renewed_statuses_count_and_all_are_cleared(
    emulated: EmulatedSlack, indicators: Indicators, clock: Clock
) -> None:
    places = [Place("C1", f"{number}.0") for number in range(15)]
    for _ in range(2):
        for place in places:
            await indicators.show_working(place, THINKING)
        clock.time += 30
    for place in places:
        await indicators.clear_working(place)

    statuses = [call["status"] for call in asked(emulated, AGENTS)]
    assert (statuses.count("processing"), statuses.count("active")) == (20, 15)


async def test_outside_a_thread_there_is_no_status(emulated: EmulatedSlack, indicators: Indicators) -> None:
    await indicators.show_working(Place("C1"), THINKING)
    await indicators.clear_working(Place("C1"))

    assert calls_of(emulated) == []


async def test_a_status_is_renewed_while_the_agent_works(emulated: EmulatedSlack, indicators: Indicators) -> None:
    async with Working(indicators, HERE, "Support", renew=timedelta(milliseconds=20)):
        await wait_until(lambda: len(asked(emulated, AGENTS)) >= 3, "the status is shown a third time")
    shown = [call["status"] for call in asked(emulated, AGENTS)]

    assert shown == ["processing"] * (len(shown) - 1) + ["active"]
    assert timedelta(minutes=2) > RENEW, "how long Slack shows a status"


async def test_a_quick_block_shows_no_status(emulated: EmulatedSlack, indicators: Indicators) -> None:
    async with Working(indicators, HERE, "Support"):
        pass

    assert calls_of(emulated) == []


# Titles and prompts


async def test_twenty_titles_a_minute_are_set(emulated: EmulatedSlack, indicators: Indicators) -> None:
    for number in range(25):
        await indicators.set_title(Place("D1", f"{number}.0"), f"title {number}")
    await indicators.set_title(HERE, "")

    assert [call["title"] for call in asked(emulated, RENAME)] == [f"title {number}" for number in range(20)]
    assert asked(emulated, RENAME)[0] == {"channel_id": "D1", "thread_ts": "0.0", "title": "title 0"}


@pytest.mark.parametrize(("error", "calls"), [("feature_disabled", 1), ("not_authorized", 2)])
async def test_unsupported_titles_are_not_retried(
    emulated: EmulatedSlack, indicators: Indicators, error: str, calls: int
) -> None:
    answers(emulated, RENAME, refused(error))

    for title in ("one", "two"):
        await indicators.set_title(HERE, title)

    assert len(asked(emulated, RENAME)) == calls


async def test_prompts_are_offered_without_a_thread(emulated: EmulatedSlack, indicators: Indicators) -> None:
    prompts = [{"title": "Ask", "message": "Support: What can you do?"}]

    await indicators.suggest_prompts("D1", prompts)
    await indicators.suggest_prompts("D1", [])

    assert calls_of(emulated) == [(PROMPTS, {"channel_id": "D1", "prompts": prompts})]


# Queued messages


@pytest.mark.parametrize(
    ("trouble", "is_shown"),
    [
        ({"ok": True}, True),
        (refused("missing_scope"), False),
        (refused("already_reacted"), True),
        (refused("message_not_found"), True),
        (limited(30), True),
        (Http(500), True),
        (DropBefore(), True),
    ],
)
async def test_a_failed_reaction_is_no_error(
    emulated: EmulatedSlack, indicators: Indicators, trouble: Answer, *, is_shown: bool
) -> None:
    answers(emulated, ADD, trouble)
    answers(emulated, REMOVE, trouble)

    assert await indicators.add_queued_reaction(CHANNEL, "1.2") is is_shown
    await indicators.remove_queued_reaction(CHANNEL, "1.2")

    reaction = {"channel": CHANNEL, "timestamp": "1.2", "name": REACTION}
    assert calls_of(emulated) == [(ADD, reaction), (REMOVE, reaction)]


async def test_a_bot_without_the_permission_does_not_react(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    indicators = Indicators(slack_web, identity("chat:write"))

    assert not await indicators.add_queued_reaction(CHANNEL, "1.2")
    await indicators.remove_queued_reaction(CHANNEL, "1.2")

    assert calls_of(emulated) == []


@asynccontextmanager
async def reactions_at_work(
    store: Store, slack_web: SlackWeb, clock: Clock, *scopes: str, waits_for: WaitsFor | None = None
) -> AsyncIterator[QueuedReactions]:
    """Run the queued reactions without their one-second delay."""

    async def at_once(_seconds: float) -> None:
        await asyncio.sleep(0)

    reactions = QueuedReactions(
        Indicators(slack_web, identity(*scopes)), Poster(slack_web, US), store.scripts, in_line,
        waits_for=waits_for, monotonic=clock, sleep=at_once,
    )  # fmt: skip
    async with reactions.at_work():
        yield reactions


async def queue_behind(store: Store, reactions: QueuedReactions, number: int, ahead: int = 1) -> TurnId:
    """Queue a message behind *ahead* others and notify its process."""
    inbound = message("more", ts(number))
    turn = await store.queue(inbound)
    reactions.on_queued(inbound, turn, ahead)
    return turn


def reacted(emulated: EmulatedSlack, method: str = ADD) -> list[str]:
    return [call["timestamp"] for call in asked(emulated, method)]


async def test_a_queued_message_gets_one_reaction_from_any_process(
    store: Store, emulated: EmulatedSlack, slack_web: SlackWeb, clock: Clock
) -> None:
    await store.conversation()
    may = "reactions:write"
    async with (
        reactions_at_work(store, slack_web, clock, may) as one,
        reactions_at_work(store, slack_web, clock, may) as other,
    ):
        turn = await queue_behind(store, one, 1)
        for each in (one, other, other):
            each.on_queued(message("more", ts(1)), turn, 1)
        await queue_behind(store, one, 2)
        await queue_behind(store, other, 3)
        await wait_until(lambda: {ts(2), ts(3)} <= set(reacted(emulated)), "the last ones have a reaction")

    assert sorted(reacted(emulated)) == [ts(1), ts(2), ts(3)]


async def test_without_reactions_a_queued_message_gets_its_place_in_line(
    store: Store, emulated: EmulatedSlack, slack_web: SlackWeb, clock: Clock
) -> None:
    await store.conversation()
    async with reactions_at_work(store, slack_web, clock) as reactions:
        for number in (1, 2):
            await queue_behind(store, reactions, number, ahead=number)
        await wait_until(lambda: len(asked(emulated, EPHEMERAL)) == 2, "both notices are posted")

    assert [line["text"].split(" in line")[0][-3:] for line in asked(emulated, EPHEMERAL)] == ["2nd", "3rd"]


async def test_a_queued_message_is_counted_in_a_status_with_words(
    store: Store, emulated: EmulatedSlack, slack_web: SlackWeb, clock: Clock
) -> None:
    await store.conversation()
    answers(emulated, AGENTS, refused("unknown_method"))

    async def waits_for(_message: InboundMessage) -> tuple[str, None]:
        return "Support", None

    async with reactions_at_work(store, slack_web, clock, "reactions:write", waits_for=waits_for) as reactions:
        await reactions._indicators.show_working(Place(CHANNEL, "1.1"), THINKING)
        await queue_behind(store, reactions, 1, ahead=2)
        await wait_until(lambda: len(asked(emulated, ASSISTANT)) == 2, "the status is shown")

    assert asked(emulated, ASSISTANT)[-1]["status"] == "is waiting for Support: 2 messages ahead"
    assert asked(emulated, ASSISTANT)[-1]["loading_messages"] == ["waiting for Support: 2 messages ahead"]


async def test_only_messages_that_still_wait_get_a_reaction(
    store: Store, emulated: EmulatedSlack, slack_web: SlackWeb, clock: Clock
) -> None:
    running = await store.conversation()
    await store.process().take()
    withdrawn = await store.queue(message("more", ts(2)))
    await store.process().inbox.withdraw(message(ts=ts(2)).key)

    async with reactions_at_work(store, slack_web, clock, "reactions:write") as reactions:
        reactions.on_queued(message("first", ts(1)), running, 1)
        reactions.on_queued(message("more", ts(2)), withdrawn, 1)
        await queue_behind(store, reactions, 3)
        await wait_until(lambda: reacted(emulated) != [], "one has a reaction")

    assert (reacted(emulated), reacted(emulated, REMOVE)) == ([ts(3)], [])


async def test_a_reaction_that_comes_after_the_answer_is_removed(
    store: Store, redis: Redis, emulated: EmulatedSlack, slack_web: SlackWeb, clock: Clock
) -> None:
    await store.conversation()
    emulated.workspace.messages.insert(Message(CHANNEL, ts(1), ALICE, "and this?", TEAM), None)
    under_way = Hang()
    answers(emulated, ADD, under_way)
    async with reactions_at_work(store, slack_web, clock, "reactions:write") as reactions:
        turn = await queue_behind(store, reactions, 1)
        await wait_until(lambda: reacted(emulated) == [ts(1)], "the reaction is being added")

        await redis.hset(f"{PREFIX}turn:{turn}", "step", "done")
        under_way.until.set()

        await wait_until(lambda: reacted(emulated, REMOVE) == [ts(1)], "the reaction is removed")
    assert [call.is_ok for call in emulated.calls_of(ADD)] == [True]


async def test_twenty_reactions_a_minute_are_shown(
    store: Store, emulated: EmulatedSlack, slack_web: SlackWeb, clock: Clock
) -> None:
    await store.conversation()
    async with reactions_at_work(store, slack_web, clock, "reactions:write") as reactions:
        for number in range(1, SHOWN_A_MINUTE + 5):
            await queue_behind(store, reactions, number)
        await wait_until(lambda: len(reacted(emulated)) == SHOWN_A_MINUTE, "the limit is reached")
        await asyncio.sleep(0.05)
        assert len(reacted(emulated)) == SHOWN_A_MINUTE

        clock.time += 61
        await queue_behind(store, reactions, 40)
        await wait_until(lambda: reacted(emulated)[-1] == ts(40), "a minute later more are allowed")


@pytest.mark.parametrize("error", [LaneLost("t:lane"), RuntimeError("a fault")])
async def test_a_lost_lane_ends_a_call_quietly(error: Exception) -> None:
    async def show() -> None:
        raise error

    async def block() -> str:
        async with AfterAWhile() as timed:
            timed.call(show, after=timedelta(0))
            await asyncio.sleep(0.01)
        return "done"

    if isinstance(error, LaneLost):
        assert await block() == "done"
    else:
        with pytest.raises(RuntimeError):
            await block()


async def test_a_cancelled_block_leaves_no_call_behind() -> None:
    shown: list[str] = []

    async def show() -> None:
        shown.append("began")
        await asyncio.Event().wait()

    async def block() -> None:
        async with AfterAWhile() as timed:
            timed.call(show, after=timedelta(0))
            await wait_until(lambda: shown, "it's being shown")
            shown.append("the block ends, and waits for the call")

    task = asyncio.ensure_future(block())
    await wait_until(lambda: len(shown) == 2, "the block waits")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await wait_until(lambda: len(asyncio.all_tasks()) == 1, "only this test's task is left")
