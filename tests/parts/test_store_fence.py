"""The fence: a worker that lost its lane can't change anything, at any step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from redis.asyncio import Redis

from bridge.errors import LaneLost
from bridge.ids import TurnId
from bridge.queue.journal import Journal
from bridge.queue.lease import Elapsed
from bridge.queue.records import Taken
from support.store import THREAD, Store, key_of, message, open_store, ts
from support.tables import each

Act = Callable[[Journal, Taken], Awaitable[object]]

STEPS: dict[str, Act] = {
    "sent": lambda journal, taken: journal.sent(taken, note="a run"),
    "unsent": lambda journal, taken: journal.unsent(taken),
    "outcome": lambda journal, taken: journal.outcome(
        taken, "an outcome", what="answered", writes=[("set", "{t}:x", 86_400_000, "y")]
    ),
    "done": lambda journal, taken: journal.done(taken, what="answered", posted=key_of("1.0")),
    "bury": lambda journal, taken: journal.bury(taken.held, taken.record.id, reason="r"),
    "park": lambda journal, taken: journal.park(taken, THREAD),
    "card": lambda journal, taken: journal.card(taken, key_of("1.0")),
}
OF_THE_LANE: dict[str, Act] = {
    "release": lambda journal, taken: journal.release(taken.held),
    "take": lambda journal, taken: journal.take(taken.held),
}
ALL = STEPS | OF_THE_LANE


async def nothing_changes(store: Store, act: Awaitable[object]) -> None:
    before = await store.dump()
    with pytest.raises(LaneLost):
        await act
    assert await store.dump() == before


async def a_lane_with_two(redis: Redis) -> Store:
    store = await open_store(redis)
    await store.queue()
    await store.queue(message("more", ts(1)))
    return store


@pytest.mark.parametrize("step", ALL)
async def test_a_worker_presumed_dead_changes_nothing(redis: Redis, step: str) -> None:
    store = await a_lane_with_two(redis)
    taken = await store.process("a").take()
    await store.process("b").take((await store.process("b").take_over())[0])

    await nothing_changes(store, ALL[step](store.process("a").journal, taken))


@pytest.mark.parametrize("step", STEPS)
async def test_a_step_of_a_turn_that_is_not_the_head_changes_nothing(redis: Redis, step: str) -> None:
    store = await a_lane_with_two(redis)
    taken = await store.process().take()
    behind = TurnId((await store.box())[1])

    stale = replace(taken, record=replace(taken.record, id=behind))

    await nothing_changes(store, STEPS[step](store.process().journal, stale))


@pytest.mark.parametrize("step", ALL)
async def test_a_worker_with_an_outdated_entry_changes_nothing(redis: Redis, step: str) -> None:
    store = await a_lane_with_two(redis)
    a, b = store.process("a"), store.process("b")
    taken = await a.take()
    await b.journal.done(await b.take((await b.take_over())[0]))
    await a.hold()  # the same lane and process, by a new entry

    await nothing_changes(store, ALL[step](a.journal, taken))


@pytest.mark.parametrize("step", ALL)
async def test_a_worker_that_missed_a_wipe_changes_nothing(redis: Redis, step: str) -> None:
    store = await a_lane_with_two(redis)
    taken = await store.process().take()
    await redis.flushdb()

    await nothing_changes(store, ALL[step](store.process().journal, taken))


async def test_leases_of_a_wiped_store_are_lost(redis: Redis) -> None:
    store = await a_lane_with_two(redis)
    taken = await store.process().take()
    await redis.flushdb()

    assert await store.process().inbox.renew([taken.held.entry]) == [taken.held.entry]


@pytest.mark.parametrize("step", ["sent", "unsent", "outcome", "card"])
async def test_the_lanes_owner_may_repeat_a_step_with_a_lost_answer(redis: Redis, step: str) -> None:
    store = await a_lane_with_two(redis)
    taken = await store.process().take()
    journal = store.process().journal
    await STEPS[step](journal, taken)
    before = await store.dump()

    await STEPS[step](journal, taken)

    assert await store.dump() == before


@pytest.mark.parametrize("step", ["done", "bury", "park", "release"])
async def test_a_released_lane_is_lost(redis: Redis, step: str) -> None:
    store = await a_lane_with_two(redis)
    taken = await store.process().take()
    await ALL[step](store.process().journal, taken)

    await nothing_changes(store, ALL[step](store.process().journal, taken))


@each(
    ("moves", "elapsed"),
    [
        ([(3, 3)], 3),
        ([(0, 3600)], 3600),  # a host paused this virtual machine
        ([(3600, 0)], 3600),  # the machine slept, and its wall clock wasn't set yet
        ([(3600, 0), (1, 3601)], 3600 + 3601),  # it was set later: too long is safe
        ([(5, -3600)], 5),  # the wall clock was set back
        ([(-1, -1)], 0),
    ],
)
def test_a_leases_clock_passes_while_the_machine_is_suspended(moves: list[tuple[int, int]], elapsed: int) -> None:
    times = [100.0, 2000.0]
    clock = Elapsed(lambda: times[0], lambda: times[1])
    began = clock()

    for boot, wall in moves:
        times[0], times[1] = times[0] + boot, times[1] + wall
        clock()

    assert clock() - began == elapsed
