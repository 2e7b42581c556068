"""Where Slack limits history to fifteen messages a call and one call a minute, a read resumes after a pause.

https://docs.slack.dev/apis/web-api/rate-limits
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from bridge.errors import SlackUnreachable
from bridge.ids import TurnId, new_turn_id
from bridge.playground.emulator.sample import ALICE, BRIDGE_BOT
from bridge.slack.parts import MessageTag, Place
from support.harness import Harness
from support.store import BOT, CHANNEL, ROOT, ts

MANY = 40
TURN = new_turn_id()


def written(harness: Harness, *own: int, root: str = "", first: int = 1) -> None:
    """Write many messages; those numbered in *own* are the bot's, from its turn."""
    for number in range(first, first + MANY):
        more = {}
        if number in own:
            more = {"bot_id": BRIDGE_BOT, "metadata": MessageTag("bridge_turn", TURN, 7, 42).metadata(str(number), 1)}
        harness.write(ts(number), f"{number}", user=BOT if more else ALICE, thread_ts=root, **more)


async def found(harness: Harness, place: Place, turn: TurnId = TURN) -> dict[str, str]:
    """Search until done, pausing as long as Slack asks."""
    since = harness.store.clock() - timedelta(days=9000)
    for _ in range(12):
        try:
            return {**await harness.parts().turns.deps.slack.history().find(place, turn, since)}
        except SlackUnreachable as exc:
            harness.store.clock.time += exc.retry_after or timedelta(0)
    raise AssertionError("it never ends")


@pytest.fixture
def limited(harness: Harness) -> Harness:
    harness.slack.rates.limits_history = True
    return harness


async def test_own_messages_are_found_in_a_long_thread(limited: Harness) -> None:
    limited.write(ROOT, "hello")
    written(limited, 3, 38, root=ROOT)

    assert await found(limited, Place(CHANNEL, ROOT)) == {"3": ts(3), "38": ts(38)}


async def test_own_messages_are_found_in_a_busy_channel(limited: Harness) -> None:
    written(limited, 3, 38)

    assert await found(limited, Place(CHANNEL)) == {"3": ts(3), "38": ts(38)}


async def test_messages_written_during_the_pauses_are_found(limited: Harness) -> None:
    written(limited, 3)
    poster, since = limited.parts().turns.deps.slack, limited.store.clock() - timedelta(days=9000)
    with pytest.raises(SlackUnreachable):
        await poster.history().find(Place(CHANNEL), TURN, since)

    written(limited, 45, first=MANY + 1)
    limited.store.clock.time += timedelta(minutes=1)

    assert await found(limited, Place(CHANNEL)) == {"3": ts(3), "45": ts(45)}


async def test_a_search_that_has_ended_is_not_remembered(limited: Harness) -> None:
    written(limited)
    assert await found(limited, Place(CHANNEL)) == {}

    written(limited, 45, first=MANY + 1)
    limited.store.clock.time += timedelta(minutes=1)

    assert await found(limited, Place(CHANNEL)) == {"45": ts(45)}
