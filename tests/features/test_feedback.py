"""Feedback: one vote per person and answer, saved and counted, without any message text."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.features.buttons import FEEDBACK, Answered
from bridge.features.conversations.answers import answer_reply
from bridge.ids import TurnId
from bridge.playground.emulator.sample import BOB
from bridge.slack.parts import parts_of
from support.harness import Harness
from support.store import ROOT, USER, message


async def votes(harness: Harness, turn: str) -> dict[str, str]:
    """Votes on the answer of *turn*, by person."""
    stored = await harness.store.redis.hgetall(harness.store.scripts.keys.votes(turn))
    return {person.removeprefix("u:"): vote.partition(" ")[0] for person, vote in stored.items()}


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


async def test_a_vote_is_stored_and_counted(harness: Harness) -> None:
    buttons = await answered(harness)
    (posted,) = harness.seen.replies()

    await pressed(harness, buttons["positive_button"]["value"], "1")

    assert await votes(harness, posted.tag.turn) == {USER: "up"}
    assert 89.9 < await harness.store.days_left(f"votes:{posted.tag.turn}") <= 90
    assert b'bridge_feedback_total{how="new",vote="up"} 1.0' in harness.metrics.exposition()
    assert not await harness.store.contains_text("my very own words")
    thanks = harness.seen.ephemerals[-1]
    assert (thanks.user, "Thanks" in thanks.text) == (USER, True)


async def test_a_person_has_one_vote_and_may_change_it(harness: Harness) -> None:
    buttons = await answered(harness)
    (posted,) = harness.seen.replies()
    up, down = buttons["positive_button"]["value"], buttons["negative_button"]["value"]

    for event, value in enumerate((up, up, down)):
        await pressed(harness, value, str(event))
    await pressed(harness, up, "another's", user=BOB)

    assert await votes(harness, posted.tag.turn) == {USER: "down", BOB: "up"}
    counted = harness.metrics.exposition()
    assert b'bridge_feedback_total{how="same",vote="up"} 1.0' in counted
    assert b'bridge_feedback_total{how="changed",vote="down"} 1.0' in counted


@pytest.mark.parametrize(
    "value", ["", "up", "up:turn:seven:42", "sideways:turn:7:42", "up:turn:7:42:more", "up:a b:7:", "up:turn:7:-"]
)
async def test_an_unreadable_vote_is_answered_and_not_counted(harness: Harness, value: str) -> None:
    await pressed(harness, value, "1")

    assert not await harness.store.redis.keys("*votes:*")
    (told,) = harness.seen.ephemerals
    assert (told.user, "Another version of the bridge made this" in told.text) == (USER, True)


@pytest.mark.parametrize("session", ["", "0", "-5", str(10**40)])
async def test_a_vote_counts_whatever_its_session(harness: Harness, session: str) -> None:
    await pressed(harness, f"down:abcDEF123-_xyz00:7:{session}", "1")

    assert await votes(harness, "abcDEF123-_xyz00") == {USER: "down"}


def test_an_answer_goes_out_without_unknown_buttons() -> None:
    (part,) = parts_of(answer_reply("**hello**", ["search"], feedback=Answered(TurnId("t"), 7, 42)))

    assert [block["type"] for block in part.blocks] == ["markdown", "context", "context_actions"]
    (plainer,) = part.plainer
    assert [block["type"] for block in plainer] == ["markdown", "context"]
