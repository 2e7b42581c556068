"""What is shown beside messages: a status, titles, prompts, and that a message is queued. In nobody's way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.features.notices import in_line
from bridge.ids import TurnId
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.indicators import (
    REACTION,
    RENEW,
    SETS_A_MINUTE,
    SHOWN_A_MINUTE,
    Indicators,
    QueuedReactionClaims,
    QueuedReactions,
    working,
)
from bridge.slack.parts import Place
from bridge.slack.post import Say
from support.clocks import Clock
from support.saying import US
from support.store import CHANNEL, PREFIX, Store, message, ts
from support.waiting import wait_until
from support.wire_slack import CutOff, Json, Raw, Reaction, WireSlack, limited, refused

AGENTS, ASSISTANT = "agents.sessions.setStatus", "assistant.threads.setStatus"
RENAME, PROMPTS = "agents.sessions.rename", "assistant.threads.setSuggestedPrompts"
ADD, REMOVE, EPHEMERAL = "reactions.add", "reactions.remove", "chat.postEphemeral"
HERE = Place("C1", "1.1")
THINKING = "is thinking…"


def identity(*scopes: str) -> Identity:
    return Identity(US.team, "", US.bot_user, US.bot_id, scopes=frozenset(scopes))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def indicators(web: SlackWeb, clock: Clock) -> Indicators:
    return Indicators(web, identity("reactions:write"), monotonic=clock)


# The status


async def test_a_status_is_shown_and_cleared_by_the_newer_method(slack: WireSlack, indicators: Indicators) -> None:
    await indicators.show_working(HERE, THINKING)
    await indicators.clear_working(HERE)

    here = {"channel_id": "C1", "thread_ts": "1.1"}
    assert slack.asked == [(AGENTS, {**here, "status": "processing"}), (AGENTS, {**here, "status": "active"})]


@pytest.mark.parametrize("error", ["feature_disabled", "unknown_method", "not_agent_app", "missing_scope"])
async def test_a_missing_method_gives_way_to_the_older_for_an_hour(
    slack: WireSlack, indicators: Indicators, clock: Clock, error: str
) -> None:
    slack.script[AGENTS] = [refused(error)]

    await indicators.show_working(HERE, THINKING)
    await indicators.clear_working(HERE)
    clock.time += 3601
    await indicators.clear_working(HERE)

    assert slack.methods() == [AGENTS, ASSISTANT, ASSISTANT, AGENTS, ASSISTANT]
    assert [call["status"] for call in slack.calls(ASSISTANT)] == [THINKING, "", ""]
    assert slack.calls(ASSISTANT)[0]["loading_messages"] == [THINKING, "is still waiting for the answer…"]


async def test_without_either_method_nothing_more_is_asked(slack: WireSlack, indicators: Indicators) -> None:
    slack.script |= {AGENTS: [refused("unknown_method")], ASSISTANT: [refused("not_agent_app")]}

    for _ in range(3):
        await indicators.show_working(HERE, THINKING)
        await indicators.clear_working(HERE)

    assert slack.methods() == [AGENTS, ASSISTANT]


@pytest.mark.parametrize("reaction", [CutOff(), limited(5), Raw(status=500), Raw("<p>"), refused("not_authorized")])
async def test_a_failed_status_is_no_error_and_tried_again(
    slack: WireSlack, indicators: Indicators, reaction: Reaction
) -> None:
    slack.script[AGENTS] = [reaction]

    await indicators.show_working(HERE, THINKING)
    await indicators.clear_working(HERE)

    assert slack.methods() == [AGENTS, AGENTS]


async def test_twenty_statuses_a_minute_are_shown_and_all_cleared(
    slack: WireSlack, indicators: Indicators, clock: Clock
) -> None:
    places = [Place("C1", f"{number}.0") for number in range(25)]
    for place in places:
        await indicators.show_working(place, THINKING)
    for place in places:
        await indicators.clear_working(place)

    shown = [call["thread_ts"] for call in slack.calls(AGENTS) if call["status"] == "processing"]
    cleared = [call["thread_ts"] for call in slack.calls(AGENTS) if call["status"] == "active"]
    assert shown == cleared == [place.thread_ts for place in places[:SETS_A_MINUTE]]

    clock.time += 61
    await indicators.show_working(places[24], THINKING)
    assert slack.calls(AGENTS)[-1]["thread_ts"] == "24.0"


async def test_renewed_statuses_count_and_all_are_cleared(
    slack: WireSlack, indicators: Indicators, clock: Clock
) -> None:
    places = [Place("C1", f"{number}.0") for number in range(15)]
    for _ in range(2):
        for place in places:
            await indicators.show_working(place, THINKING)
        clock.time += 30
    for place in places:
        await indicators.clear_working(place)

    told = [call["status"] for call in slack.calls(AGENTS)]
    assert (told.count("processing"), told.count("active")) == (20, 15)


async def test_a_status_of_another_process_is_cleared(slack: WireSlack, indicators: Indicators) -> None:
    await indicators.clear_working(HERE)

    assert slack.methods() == [AGENTS]


async def test_outside_a_thread_there_is_no_status(slack: WireSlack, indicators: Indicators) -> None:
    await indicators.show_working(Place("C1"), THINKING)
    await indicators.clear_working(Place("C1"))

    assert slack.asked == []


async def test_a_status_is_renewed_while_the_agent_works(slack: WireSlack, indicators: Indicators) -> None:
    async with working(indicators, HERE, "Support", renew=timedelta(milliseconds=20)):
        await wait_until(lambda: len(slack.calls(AGENTS)) >= 3, "it is shown for the third time")
    shown = [call["status"] for call in slack.calls(AGENTS)]

    assert shown == ["processing"] * (len(shown) - 1) + ["active"]
    assert timedelta(minutes=2) > RENEW, "how long Slack shows it"


async def test_a_quick_block_shows_no_status(slack: WireSlack, indicators: Indicators) -> None:
    async with working(indicators, HERE, "Support"):
        pass

    assert slack.asked == []


# Titles and prompts


async def test_twenty_titles_a_minute_are_set(slack: WireSlack, indicators: Indicators) -> None:
    for number in range(25):
        await indicators.set_title(Place("D1", f"{number}.0"), f"title {number}")
    await indicators.set_title(HERE, "")

    assert [call["title"] for call in slack.calls(RENAME)] == [f"title {number}" for number in range(20)]
    assert slack.calls(RENAME)[0] == {"channel_id": "D1", "thread_ts": "0.0", "title": "title 0"}


@pytest.mark.parametrize(("error", "calls"), [("feature_disabled", 1), ("not_authorized", 2)])
async def test_titles_a_workspace_lacks_are_not_tried_again(
    slack: WireSlack, indicators: Indicators, error: str, calls: int
) -> None:
    slack.script[RENAME] = [refused(error)]

    for title in ("one", "two"):
        await indicators.set_title(HERE, title)

    assert len(slack.calls(RENAME)) == calls


async def test_prompts_are_offered_without_a_thread(slack: WireSlack, indicators: Indicators) -> None:
    prompts = [{"title": "Ask", "message": "Support: What can you do?"}]

    await indicators.suggest_prompts("D1", prompts)
    await indicators.suggest_prompts("D1", [])

    assert slack.asked == [(PROMPTS, {"channel_id": "D1", "prompts": prompts})]


# Queued messages


@pytest.mark.parametrize(
    ("trouble", "is_shown"),
    [
        ({"ok": True}, True),
        (refused("missing_scope"), False),
        (refused("already_reacted"), True),
        (refused("message_not_found"), True),
        (limited(30), True),
        (Raw(status=500), True),
        (CutOff(), True),
    ],
)
async def test_a_failed_reaction_is_no_error(
    slack: WireSlack, indicators: Indicators, trouble: Reaction, *, is_shown: bool
) -> None:
    slack.script |= {ADD: [trouble], REMOVE: [trouble]}

    assert await indicators.add_queued_reaction(CHANNEL, "1.2") is is_shown
    await indicators.remove_queued_reaction(CHANNEL, "1.2")

    reaction = {"channel": CHANNEL, "timestamp": "1.2", "name": REACTION}
    assert slack.asked == [(ADD, reaction), (REMOVE, reaction)]


async def test_a_bot_that_may_not_react_does_not_ask(slack: WireSlack, web: SlackWeb) -> None:
    indicators = Indicators(web, identity("chat:write"))

    assert not await indicators.add_queued_reaction(CHANNEL, "1.2")
    await indicators.remove_queued_reaction(CHANNEL, "1.2")

    assert slack.asked == []


@asynccontextmanager
async def reactions_at_work(store: Store, web: SlackWeb, clock: Clock, *scopes: str) -> AsyncIterator[QueuedReactions]:
    """Show the reactions without the second of patience."""

    async def at_once(_seconds: float) -> None:
        await asyncio.sleep(0)

    reactions = QueuedReactions(
        Indicators(web, identity(*scopes)), Say(web, US), QueuedReactionClaims(store.scripts), in_line,
        monotonic=clock, sleep=at_once,
    )  # fmt: skip
    async with reactions.at_work():
        yield reactions


async def behind(store: Store, reactions: QueuedReactions, number: int, ahead: int = 1) -> TurnId:
    """Let a message be queued behind *ahead* others, and its process be told."""
    inbound = message("more", ts(number))
    turn = await store.queue(inbound)
    reactions.waits_behind(inbound, turn, ahead)
    return turn


def reacted(slack: WireSlack, method: str = ADD) -> list[str]:
    return [call["timestamp"] for call in slack.calls(method)]


async def test_a_queued_message_gets_one_reaction_whoever_took_it_in(
    store: Store, slack: WireSlack, web: SlackWeb, clock: Clock
) -> None:
    await store.conversation()
    may = "reactions:write"
    async with reactions_at_work(store, web, clock, may) as one, reactions_at_work(store, web, clock, may) as other:
        turn = await behind(store, one, 1)
        for each in (one, other, other):
            each.waits_behind(message("more", ts(1)), turn, 1)
        await behind(store, one, 2)
        await behind(store, other, 3)
        await wait_until(lambda: {ts(2), ts(3)} <= set(reacted(slack)), "the last ones have theirs")

    assert sorted(reacted(slack)) == [ts(1), ts(2), ts(3)]


async def test_without_reactions_a_queued_message_gets_its_place_in_line(
    store: Store, slack: WireSlack, web: SlackWeb, clock: Clock
) -> None:
    await store.conversation()
    async with reactions_at_work(store, web, clock) as reactions:
        for number in (1, 2):
            await behind(store, reactions, number, ahead=number)
        await wait_until(lambda: len(slack.calls(EPHEMERAL)) == 2, "both are told")

    assert [line["text"].split(" in line")[0][-3:] for line in slack.calls(EPHEMERAL)] == ["2nd", "3rd"]


async def test_a_reaction_is_claimed_once_and_only_while_queued(store: Store) -> None:
    claims = QueuedReactionClaims(store.scripts)
    head = await store.conversation()
    queued, withdrawn = [await store.queue(message("more", ts(number))) for number in (1, 2)]
    await store.process().inbox.withdraw(message(ts=ts(2)).key)

    assert not await claims.claim(head)
    assert not await claims.claim(withdrawn)
    assert [await claims.claim(queued) for _ in range(2)] == [True, False]
    assert not await claims.is_over(queued)


async def test_a_reaction_that_comes_after_the_answer_is_removed(
    store: Store, redis: Redis, slack: WireSlack, web: SlackWeb, clock: Clock
) -> None:
    await store.conversation()
    turns: list[TurnId] = []

    async def answered_meanwhile(_: Json) -> Json:
        await redis.hset(f"{PREFIX}turn:{turns[0]}", "step", "done")
        return {"ok": True}

    slack.script[ADD] = [answered_meanwhile]
    async with reactions_at_work(store, web, clock, "reactions:write") as reactions:
        turns.append(await behind(store, reactions, 1))
        await wait_until(lambda: reacted(slack, REMOVE) == [ts(1)], "it is removed")


async def test_twenty_reactions_a_minute_are_shown(store: Store, slack: WireSlack, web: SlackWeb, clock: Clock) -> None:
    await store.conversation()
    async with reactions_at_work(store, web, clock, "reactions:write") as reactions:
        for number in range(1, SHOWN_A_MINUTE + 5):
            await behind(store, reactions, number)
        await wait_until(lambda: len(reacted(slack)) == SHOWN_A_MINUTE, "as many as may be")
        await asyncio.sleep(0.05)
        assert len(reacted(slack)) == SHOWN_A_MINUTE

        clock.time += 61
        await behind(store, reactions, 40)
        await wait_until(lambda: reacted(slack)[-1] == ts(40), "a minute later there is room again")
