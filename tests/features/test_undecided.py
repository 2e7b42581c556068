"""Messages that nobody decides about, at a menu or after a stop, are discarded after a conversation's lifetime."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.features.registry import features
from support.harness import REFUSED, SALES, SUPPORT, Harness
from support.store import LANE, PREFIX, SESSION_LIFETIME, THREAD, message, ts

A_DAY = timedelta(days=1)


async def wait_at_menu(harness: Harness, count: int) -> None:
    harness.service.agents = [SUPPORT, SALES]
    for number in range(count):
        text = f"secret words {number}"
        assert (await harness.receive(message(text, ts(number), is_mention=not number))).decision == "queued"
    await harness.work()


async def wait_after_stop(harness: Harness, count: int) -> None:
    await harness.receive(message("begin", is_mention=True))
    for number in range(count):
        await harness.receive(message(f"secret words {number}", ts(number + 1)))
    await harness.store.process().inbox.stops.stop(LANE, ts(90))
    await harness.work()


async def discard_expired(harness: Harness, *processes: str) -> None:
    """Do the job, and what it leads to, in all *processes* at once."""
    job = next(job for job in features.jobs if job.name.endswith("discard_expired"))
    await asyncio.gather(*(harness.parts(name).clock.do(job) for name in processes))
    await asyncio.gather(*(harness.work(name) for name in processes))


@pytest.mark.parametrize(
    ("waits", "count", "said"),
    [
        (wait_at_menu, 1, "This message wasn't sent to the agent because nobody picked an agent."),
        (wait_at_menu, 3, "3 messages here weren't sent to the agent because nobody picked an agent."),
        (
            wait_after_stop,
            2,
            "2 messages here weren't sent to the agent because nobody resumed this thread after it was stopped.",
        ),
    ],
    ids=["menu", "menu for several", "stop"],
)
async def test_undecided_messages_are_discarded_once_and_said(
    harness: Harness, redis: Redis, waits: object, count: int, said: str
) -> None:
    assert callable(waits)
    await waits(harness, count)
    before = len(harness.seen.messages)

    harness.store.clock.time += SESSION_LIFETIME + A_DAY
    for _ in range(2):
        await discard_expired(harness, "a", "b", "c")

    assert [one.text for one in harness.seen.messages[before:]] == [said]
    assert harness.seen.messages[-1].place.thread_ts == THREAD.root
    assert harness.service.messages == []
    assert not await harness.store.contains_text("secret words")
    assert not await redis.exists(f"{PREFIX}parked", f"{PREFIX}held", f"{PREFIX}dead")


@pytest.mark.parametrize("waits", [wait_at_menu, wait_after_stop])
async def test_undecided_messages_wait_as_long_as_conversations(harness: Harness, waits: object) -> None:
    assert callable(waits)
    await waits(harness, 2)
    before = len(harness.seen.messages)

    harness.store.clock.time += SESSION_LIFETIME - A_DAY
    await discard_expired(harness, "a")

    assert len(harness.seen.messages) == before
    assert len(await harness.store.box()) == 2


async def test_a_newer_message_keeps_earlier_ones_waiting_for_a_choice(harness: Harness) -> None:
    await wait_at_menu(harness, 1)
    harness.store.clock.time += SESSION_LIFETIME / 2
    await harness.receive(message("more", ts(5)))

    harness.store.clock.time += SESSION_LIFETIME / 2 + A_DAY
    await discard_expired(harness, "a")

    assert len(await harness.store.box()) == 2


@pytest.mark.parametrize("waits", [wait_at_menu, wait_after_stop])
async def test_what_waits_for_a_decision_has_a_lifetime_until_then(harness: Harness, waits: object) -> None:
    assert callable(waits)
    await waits(harness, 2)
    keys = [f"box:{LANE}", *(f"turn:{turn}" for turn in await harness.store.box())]

    days = [await harness.store.days_left(key) for key in keys]
    harness.service.chats = [REFUSED] * 2  # so that they go on waiting
    await harness.store.sessions.choose_agent(THREAD, 7)

    assert [SESSION_LIFETIME / A_DAY < left <= SESSION_LIFETIME / A_DAY + 7 for left in days] == [True] * 3
    assert [await harness.store.days_left(key) < 0 for key in keys] == [True] * 3


async def test_a_message_for_a_menu_gets_the_lifetime_of_the_others(harness: Harness) -> None:
    await wait_at_menu(harness, 1)

    await harness.receive(message("more", ts(5)))

    left = [await harness.store.days_left(f"turn:{turn}") for turn in await harness.store.box()]
    assert all(days > SESSION_LIFETIME / A_DAY for days in left)


async def test_a_lane_whose_keys_expired_is_forgotten(harness: Harness, redis: Redis) -> None:
    await wait_after_stop(harness, 2)
    await redis.delete(f"{PREFIX}box:{LANE}")

    await discard_expired(harness, "a")

    assert not await redis.exists(f"{PREFIX}parked", f"{PREFIX}held")


async def test_a_deleted_message_is_not_said_to_be_discarded(harness: Harness) -> None:
    await wait_at_menu(harness, 1)
    before = len(harness.seen.messages)
    harness.store.clock.time += SESSION_LIFETIME + A_DAY
    inbox = harness.store.process().inbox

    assert await inbox.discard_expired() == 1
    await inbox.withdraw(message().key)
    await harness.work()

    assert (before, harness.seen.messages) == (1, [])
