"""Feedback: one vote per person and answer, saved and counted, without any message text."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.cli.feedback import table
from bridge.cli.names import DisplayNames
from bridge.cli.printing import to_json
from bridge.features.buttons import FEEDBACK, Answered
from bridge.features.conversations.answers import answer
from bridge.features.feedback.votes import Vote, read_vote, votes_since
from bridge.ids import TurnId
from bridge.metrics import Metrics
from bridge.playground.emulator.sample import BOB
from bridge.queue.scripting import Scripts
from bridge.slack.parts import parts_of
from support.harness import Harness
from support.store import NAMESPACE, ROOT, START, USER, message

AGES = START - timedelta(days=400)


async def votes(redis: Redis, since: Any = AGES) -> list[Vote]:
    return [vote async for vote in votes_since(Scripts(redis, NAMESPACE, Metrics()), since)]


async def answered(harness: Harness) -> dict[str, Any]:
    """Let the agent answer; return the answer's pair of feedback buttons."""
    await harness.store.queue(message("my very own words"), agent=7)
    await harness.work()
    (posted,) = harness.seen.replies()
    buttons: dict[str, Any] = posted.blocks[-1]["elements"][0]
    return buttons


async def pressed(harness: Harness, value: str, event: str, user: str = USER) -> None:
    await harness.click(FEEDBACK, value, user=user, ts="1.2", thread_ts=ROOT, trigger=event)
    await harness.work()


async def test_a_vote_is_stored_with_agent_and_session(harness: Harness, redis: Redis) -> None:
    buttons = await answered(harness)
    (posted,) = harness.seen.replies()

    await pressed(harness, buttons["positive_button"]["value"], "1")

    (vote,) = await votes(redis)
    assert vote == Vote(at=START, vote="up", user=USER, agent=7, session=42, turn=posted.tag.turn)
    assert b'bridge_feedback_total{how="new",vote="up"} 1.0' in harness.metrics.exposition()
    assert not await harness.store.contains_text("my very own words")
    thanks = harness.seen.ephemerals[-1]
    assert (thanks.user, "Thanks" in thanks.text) == (USER, True)


async def test_a_person_has_one_vote_and_may_change_it(harness: Harness, redis: Redis) -> None:
    buttons = await answered(harness)
    up, down = buttons["positive_button"]["value"], buttons["negative_button"]["value"]

    for event, value in enumerate((up, up, down)):
        await pressed(harness, value, str(event))
    await pressed(harness, up, "another's", user=BOB)

    assert sorted((vote.user, vote.vote) for vote in await votes(redis)) == [(USER, "down"), (BOB, "up")]
    counted = harness.metrics.exposition()
    assert b'bridge_feedback_total{how="same",vote="up"} 1.0' in counted
    assert b'bridge_feedback_total{how="changed",vote="down"} 1.0' in counted


async def test_votes_are_stored_for_ninety_days(harness: Harness, redis: Redis) -> None:
    buttons = await answered(harness)
    await pressed(harness, buttons["negative_button"]["value"], "1")
    (vote,) = await votes(redis)

    assert 89.9 < await harness.store.days_left(f"votes:{vote.turn}") <= 90
    assert 89.9 < await harness.store.days_left("voted") <= 90
    assert await votes(redis, START + timedelta(seconds=1)) == []

    harness.store.clock.time += timedelta(days=91)
    value = f"up:{'x' * 16}:7:43"
    await pressed(harness, value, "2")
    assert [one.session for one in await votes(redis)] == [43]


@pytest.mark.parametrize(
    "value", ["", "up", "up:turn:seven:42", "sideways:turn:7:42", "up:turn:7:42:more", "up:a b:7:", "up:turn:7:-"]
)
async def test_an_unreadable_vote_is_answered_and_not_counted(harness: Harness, redis: Redis, value: str) -> None:
    await pressed(harness, value, "1")

    assert await votes(redis) == []
    (told,) = harness.seen.ephemerals
    assert (told.user, "Another version of the bridge made this" in told.text) == (USER, True)


@pytest.mark.parametrize("session", [0, -5, 2**53 + 1, 10**18, -(2**63), 10**40])
async def test_a_vote_counts_whatever_its_session(harness: Harness, redis: Redis, session: int) -> None:
    answer = {"sessionId": session, "message": "re", "toolsUsed": []}
    harness.service.chats = [httpx.Response(200, json=answer)]
    buttons = await answered(harness)

    await pressed(harness, buttons["negative_button"]["value"], "1")

    (vote,) = await votes(redis)
    assert (vote.vote, vote.session) == ("down", session)


def test_the_buttons_name_their_answer() -> None:
    of = Answered(TurnId("abcDEF123-_xyz00"), 7, None)

    (buttons,) = answer("hello", feedback=of).footer

    (pair,) = buttons["elements"]
    assert read_vote(pair["positive_button"]["value"]) == (True, of)
    assert read_vote(pair["negative_button"]["value"]) == (False, of)


def test_an_answer_goes_out_without_unknown_buttons() -> None:
    (part,) = parts_of(answer("**hello**", ["search"], feedback=Answered(TurnId("t"), 7, 42)))

    assert [block["type"] for block in part.blocks] == ["markdown", "context", "context_actions"]
    (plainer,) = part.plainer
    assert [block["type"] for block in plainer] == ["markdown", "context"]


def vote(agent: int | None, up: bool, session: int | None, minute: int = 0) -> Vote:  # noqa: FBT001 - reads as a row
    moment = START + timedelta(minutes=minute)
    return Vote(at=moment, vote="up" if up else "down", user=USER, agent=agent, session=session, turn=f"t{minute}")


def test_the_table_counts_votes_and_names_bad_sessions() -> None:
    cast = [vote(7, True, 1), vote(8, False, 20, 1), vote(8, False, 21, 3), vote(8, False, 20, 4), vote(8, True, 9)]

    title, first, second = table(cast, DisplayNames(agents={7: "Support"}))

    assert title.split()[:3] == ["agent", "good", "bad"]
    assert first.split() == ["Support", "(7)", "1", "0"]
    assert second.split() == ["8", "1", "3", "20,", "21"]
    assert first.index("1") == title.index("good") + 3


def test_for_programs_each_vote_is_a_line_of_ascii() -> None:
    assert to_json(vote(7, True, None)) == (
        '{"at": "2026-03-04T12:00:00+00:00", "vote": "up", "user": "U0ALICE", '
        '"agent": 7, "session": null, "turn": "t0"}'
    )
