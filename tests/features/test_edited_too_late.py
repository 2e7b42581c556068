"""Editing a message the agent already received: its author may send the new text, once."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.ends.decisions import Received
from bridge.ends.notices import SEND_EDITED, SEND_REPLY
from bridge.inbound import Notice, to_json
from bridge.playground.emulator.sample import CAROL
from support.harness import Harness
from support.store import BOT, CHANNEL, ROOT, TEAM, USER, message, ts

REPLY = ts(1)


async def answered(harness: Harness) -> None:
    """Create a thread whose root and one reply are answered."""
    await harness.receive(message(f"<@{BOT}> hello", is_mention=True))
    await harness.receive(message("how many?", REPLY))
    await harness.work()


async def edited(harness: Harness, text: str, event: str = "Ev-edit", **changes: Any) -> str:
    became = (await harness.receiver.edited(message(text, REPLY, event_id=event, **changes))).decision
    await harness.work()
    return became


async def pressed(harness: Harness) -> None:
    """Press the button of the latest offer."""
    await harness.press(SEND_EDITED)


async def test_an_edit_after_sending_is_offered_to_its_author(harness: Harness) -> None:
    await answered(harness)

    assert await edited(harness, "how many in May?") == "asked"

    (offer,) = harness.seen.ephemerals
    assert (offer.user, offer.message.channel, offer.message.thread_ts) == (USER, CHANNEL, ROOT)
    assert offer.text == "The agent received this message before you edited it. Send the new text too?"
    assert harness.service.messages == ["hello", "how many?"]


async def test_the_button_sends_the_new_text_and_removes_the_offer(harness: Harness) -> None:
    await answered(harness)
    await edited(harness, "how many in May &amp; June?")

    await pressed(harness)

    assert harness.service.messages[2:] == ["how many in May & June?"]
    assert harness.seen.texts[-1] == "re: how many in May & June?"
    assert harness.seen.ephemerals == []
    assert not await harness.store.contains_text("in May &amp; June")


@pytest.mark.parametrize("is_rolling", [False, True])
async def test_a_text_that_an_earlier_release_stored_is_sent_once(
    harness: Harness, redis: Redis, *, is_rolling: bool
) -> None:
    await answered(harness)
    await edited(harness, "how many in April?", edited_ts=ts(8))
    key = message(ts=REPLY).key
    draft, turn = f"{{test}}:draft:{key}", str(await redis.get(f"{{test}}:seen:m:{key}"))
    text = str(await redis.hget(draft, "body")).replace("April", "May")
    await redis.hset(f"{{test}}:turn:{turn}", mapping={"edited": text, "edited_version": ts(9)})
    if not is_rolling:
        await redis.delete(draft)

    await harness.press(SEND_EDITED, works=False)
    await pressed(harness)

    assert harness.service.messages[2:] == ["how many in May?"]
    assert not await harness.store.contains_text("how many in May?")


@pytest.mark.parametrize(("what", "action_id"), [("edited", SEND_EDITED), ("unmentioned", SEND_REPLY)])
async def test_an_offer_that_an_earlier_release_queued_is_shown(
    harness: Harness, redis: Redis, what: str, action_id: str
) -> None:
    await answered(harness)
    of = message("how many in May?", ts(5) if what == "unmentioned" else REPLY, edited_ts=ts(9))
    if what == "unmentioned":
        await redis.set(f"{{test}}:unsent:{of.key}", to_json(of), ex=60)
    else:
        turn = str(await redis.get(f"{{test}}:seen:m:{of.key}"))
        await redis.hset(f"{{test}}:turn:{turn}", mapping={"edited": to_json(of), "edited_version": ts(9)})
    queued = Notice(team=TEAM, channel=CHANNEL, user=USER, what=f"{what}:{of.key}", thread_ts=ROOT, is_offer=True)
    await harness.store.process().inbox.put(queued)
    await harness.work()

    await harness.press(action_id)

    assert harness.service.messages[2:] == ["how many in May?"]


async def test_a_button_pressed_twice_sends_once(harness: Harness) -> None:
    await answered(harness)
    await edited(harness, "how many in May?")

    await harness.press(SEND_EDITED, works=False)
    await pressed(harness)

    assert harness.service.messages[2:] == ["how many in May?"]


async def test_after_two_edits_either_button_sends_the_newest_text(harness: Harness) -> None:
    await answered(harness)
    await edited(harness, "how many in May?")
    await edited(harness, "how many in June?", "Ev-edit-2")

    await pressed(harness)
    await pressed(harness)

    assert harness.service.messages[2:] == ["how many in June?"]


async def test_an_edit_that_was_sent_can_be_edited_again(harness: Harness) -> None:
    await answered(harness)
    await edited(harness, "how many in May?")
    await pressed(harness)

    assert await edited(harness, "how many in June?", "Ev-edit-2") == "asked"
    await pressed(harness)

    assert harness.service.messages[2:] == ["how many in May?", "how many in June?"]


async def test_an_edit_that_slack_repeats_is_offered_once(harness: Harness) -> None:
    await answered(harness)
    for _ in range(2):
        await edited(harness, "how many in May?")

    assert len(harness.seen.ephemerals) == 1


async def test_a_waiting_reply_edited_for_someone_else_is_withdrawn(harness: Harness) -> None:
    await answered(harness)
    await harness.receive(message("can you check?", ts(2)))

    await harness.receiver.edited(message(f"<@{CAROL}> can you check?", ts(2), edited_ts=ts(3)))
    await harness.work()

    assert harness.service.messages == ["hello", "how many?"]


@pytest.mark.parametrize("text", ["  ", "!stats", f"<@{CAROL}> can you check?"])
async def test_an_edit_without_a_question_is_not_offered(harness: Harness, text: str) -> None:
    await answered(harness)

    await edited(harness, text)

    assert harness.seen.ephemerals == []


async def test_an_edited_command_is_neither_repeated_nor_offered(harness: Harness) -> None:
    await answered(harness)
    await harness.receive(message("!workflows run 3 hello", ts(2)))
    await harness.work()
    before = len(harness.seen.ephemerals)

    edit = message("!workflows run 3 goodbye", ts(2), event_id="Ev-edit")
    assert await harness.receiver.edited(edit) == Received("late")
    await harness.work()

    assert len(harness.seen.ephemerals) == before
    assert harness.service.runs == ["hello"]


async def test_the_new_text_is_stored_for_a_week(harness: Harness, redis: Redis) -> None:
    await answered(harness)
    await edited(harness, "how many in May?")
    draft = f"draft:{message(ts=REPLY).key}"
    assert 6.9 < await harness.store.days_left(draft) <= 7
    await redis.delete(f"{{test}}:{draft}")

    await pressed(harness)

    assert harness.service.messages == ["hello", "how many?"]
    assert "no longer available" in harness.seen.ephemerals[-1].text
