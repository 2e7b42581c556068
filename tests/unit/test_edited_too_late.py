"""A message that is changed after an agent has got it: its author may ask again with the new text, once."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.features.conversations.receive import Received
from bridge.features.notices import ASK_EDITED
from bridge.inbound import Click
from support.store import CHANNEL, ROOT, TEAM, USER, message, ts
from support.turns import BOT, Bench

URL = "https://slack.test/response"
REPLY = ts(1)


async def answered(bench: Bench) -> None:
    """Let a thread have a question in its root and one more, both answered."""
    receiver = bench.receiver()
    await receiver.receive(message(f"<@{BOT}> hello", is_mention=True))
    await receiver.receive(message("how many?", REPLY))
    await bench.work()


async def edited(bench: Bench, text: str, event: str = "Ev-edit", **changes: Any) -> str:
    became = (await bench.receiver().edited(message(text, REPLY, event_id=event, **changes))).decision
    await bench.work()
    return became


async def pressed(bench: Bench, event: str = "press") -> None:
    """Press the button of the newest offer."""
    (_, offer) = [(whom, reply) for whom, reply in bench.say.whispers if ASK_EDITED in str(reply.blocks)][-1]
    button = offer.blocks[1]["elements"][0]
    click = Click(
        team=TEAM, channel=CHANNEL, user=USER, action_id=button["action_id"], value=button["value"], thread_ts=ROOT,
        is_ephemeral=True, response_url=URL,
    )  # fmt: skip
    await bench.store.process().inbox.put(click, event=event)
    await bench.work()


async def test_its_author_is_offered_to_ask_again_in_private_and_in_the_thread(bench: Bench) -> None:
    await answered(bench)

    assert await edited(bench, "how many in May?") == "asked"

    ((whom, offer),) = bench.say.whispers
    assert (whom.user, whom.channel, whom.thread_ts) == (USER, CHANNEL, ROOT)
    assert offer.text == "The agent got this message before you changed it. Shall it get the new text, too?"
    assert bench.service.messages == ["hello", "how many?"]


async def test_the_button_asks_with_the_new_text_and_the_offer_is_gone(bench: Bench) -> None:
    await answered(bench)
    await edited(bench, "how many in May &amp; June?")

    await pressed(bench)

    assert bench.service.messages[2:] == ["how many in May & June?"]
    assert bench.say.words[-1] == "re: how many in May & June?"
    whom, reply = bench.say.whispers[-1]
    assert (whom.response_url, reply.replaces_original) == (URL, True)
    assert not await bench.store.holds_words("in May &amp; June")


async def test_pressed_twice_it_asks_once(bench: Bench) -> None:
    await answered(bench)
    await edited(bench, "how many in May?")

    await pressed(bench)
    await pressed(bench, "press again")

    assert bench.service.messages[2:] == ["how many in May?"]


async def test_changed_twice_the_newest_text_is_asked_whichever_button_is_pressed(bench: Bench) -> None:
    await answered(bench)
    await edited(bench, "how many in May?")
    await edited(bench, "how many in June?", "Ev-edit-2")

    await pressed(bench)
    await pressed(bench, "press the other")

    assert bench.service.messages[2:] == ["how many in June?"]


async def test_what_was_asked_again_can_be_changed_again(bench: Bench) -> None:
    await answered(bench)
    await edited(bench, "how many in May?")
    await pressed(bench)

    assert await edited(bench, "how many in June?", "Ev-edit-2") == "asked"
    await pressed(bench, "press again")

    assert bench.service.messages[2:] == ["how many in May?", "how many in June?"]


async def test_an_edit_that_slack_repeats_is_offered_once(bench: Bench) -> None:
    await answered(bench)
    for _ in range(2):
        await edited(bench, "how many in May?")

    assert len(bench.say.whispers) == 1


@pytest.mark.parametrize("text", ["  ", "!stats"])
async def test_what_is_no_question_any_more_is_not_offered(bench: Bench, text: str) -> None:
    await answered(bench)

    await edited(bench, text)

    assert bench.say.whispers == []


async def test_a_command_that_is_changed_is_neither_begun_anew_nor_offered(bench: Bench) -> None:
    await answered(bench)
    receiver = bench.receiver()
    await receiver.receive(message("!workflows run 3 hello", ts(2)))
    await bench.work()
    before = len(bench.say.whispers)

    edit = message("!workflows run 3 goodbye", ts(2), event_id="Ev-edit")
    assert await receiver.edited(edit) == Received("late")
    await bench.work()

    assert len(bench.say.whispers) == before
    assert bench.service.runs == ["hello"]


async def test_the_new_text_is_kept_for_a_week_and_then_gone(bench: Bench, redis: Redis) -> None:
    await answered(bench)
    await edited(bench, "how many in May?")
    turn = str(await redis.get(f"{{test}}:seen:m:{message(ts=REPLY).key}"))
    assert 6.9 < await bench.store.days_left(f"turn:{turn}") <= 7
    await redis.delete(f"{{test}}:turn:{turn}")

    await pressed(bench)

    assert bench.service.messages == ["hello", "how many?"]
    assert "no longer kept" in bench.say.whispers[-1][1].text
