"""Queue and claim in one step: a free worker in the accepting process gets the lane directly."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bridge.errors import StoreUnavailable
from bridge.inbound import SlashCommand
from bridge.queue.inbox import Duplicate, Queued
from bridge.queue.records import Held, InDoubt, Offer, Step, Taken
from support.lost_put import LostPut
from support.store import CHANNEL, LANE, TEAM, USER, Store, message, open_store, ts


async def a_conversation(redis: Redis) -> Store:
    """A thread with an agent and an empty lane."""
    store = await open_store(redis)
    await store.conversation()
    await store.process().journal.done(await store.process().take())
    return store


def handed(offer: Offer) -> Taken:
    """The turn handed over to the worker."""
    taken = offer.answer.result()
    assert isinstance(taken, Taken)
    return taken


async def test_a_free_worker_gets_the_lane_with_its_head(store: Store) -> None:
    offer = await store.process().offer()
    turn = await store.queue()

    assert (handed(offer).record.id, handed(offer).record.step) == (turn, Step.QUEUED)
    assert (handed(offer).record.takes, handed(offer).record.times_delivered) == (1, 1)
    assert handed(offer).held.lane == LANE
    assert await store.process("b").hold() == [], "no other worker gets it"
    assert await store.entries() == 1


async def test_a_handed_over_turn_takes_the_same_steps(redis: Redis) -> None:
    store = await a_conversation(redis)
    process = store.process()
    offer = await process.offer()
    await store.queue(message("more", ts(1)))
    await store.queue(message("and more", ts(2)))

    await process.journal.outcome(handed(offer), '"re: more"', what="answered")
    await process.journal.done(handed(offer))

    assert (await process.take()).record.body == message("and more", ts(2))


async def test_a_message_after_others_is_not_handed_over(store: Store) -> None:
    await store.queue()

    offer = await store.process().offer()
    await store.queue(message("more", ts(1)))

    assert offer.answer.result() is None
    assert await store.entries() == 1


async def test_the_lane_that_waited_longest_comes_first(store: Store) -> None:
    waits = message("of another thread", "1600000000.000100")
    await store.queue(waits)

    offer = await store.process().offer()
    turn = await store.queue()

    held = offer.answer.result()
    assert isinstance(held, Held)
    assert (await store.process().take(held)).record.body == waits
    assert (await store.process("b").take()).record.id == turn


@pytest.mark.parametrize("kind", ["duplicate", "unbound"])
async def test_a_message_that_is_not_queued_is_not_handed_over(store: Store, kind: str) -> None:
    if kind == "duplicate":
        await store.queue()
        await store.process().journal.done(await store.process().take())

    offer = await store.process().offer()
    put = await store.put(message() if kind == "duplicate" else message("in a thread of people", ts(1)))

    assert not isinstance(put, Queued)
    assert offer.answer.result() is None
    assert await store.entries() == 0


async def test_a_command_is_not_handed_over(store: Store) -> None:
    command = SlashCommand(team=TEAM, channel=CHANNEL, user=USER, command="/stats")

    offer = await store.process().offer()
    assert isinstance(await store.process().inbox.put(command, event="t1"), Queued)

    assert not offer.answer.done(), "a lost result is reported to the author as a failure"


async def test_a_wiped_store_hands_over_no_turn(store: Store, redis: Redis) -> None:
    await redis.flushdb()

    offer = await store.process().offer()
    await store.queue()

    assert offer.answer.result() is None


# When Redis's answer is lost


async def a_lost_reply(redis: Redis, *, is_late: bool = False) -> tuple[Store, LostPut, Offer, InDoubt]:
    """Queue a plain reply while a worker of process ``c`` is free; Redis's answer is lost."""
    store = await a_conversation(redis)
    store.scripts = lost_put = LostPut(redis, is_late=is_late)
    offer = await store.process("c").offer()
    with pytest.raises(StoreUnavailable):
        await store.put(message("more", ts(1)), by="c")
    doubt = offer.answer.result()
    assert isinstance(doubt, InDoubt)
    return store, lost_put, offer, doubt


async def test_a_lane_handed_over_with_a_lost_answer_is_found(redis: Redis) -> None:
    store, _, _offer, doubt = await a_lost_reply(redis)
    await store.expire_all_leases()

    head = await store.process("c").inbox.settle(doubt)

    assert isinstance(head, Taken)
    assert (head.record.id, head.record.takes) == (doubt.turn, 1)
    assert await store.leases_are_fresh()
    assert await store.process("b").hold() == []


async def test_settling_twice_changes_nothing(redis: Redis) -> None:
    store, _, _offer, doubt = await a_lost_reply(redis)
    first = await store.process("c").inbox.settle(doubt)
    before = await store.dump()

    assert await store.process("c").inbox.settle(doubt) == first
    assert await store.dump() == before


async def test_slacks_retry_finds_the_queued_turn(redis: Redis) -> None:
    store, _, _, doubt = await a_lost_reply(redis)

    assert await store.put(message("more", ts(1)), by="a") == Duplicate(doubt.turn)


async def test_a_lane_taken_over_by_another_worker_is_not_ours(redis: Redis) -> None:
    store, _, _offer, doubt = await a_lost_reply(redis)
    await store.process("b").take((await store.process("b").take_over())[0])
    before = await store.dump()

    assert await store.process("c").inbox.settle(doubt) is None
    assert await store.dump() == before


async def test_a_lane_with_a_newer_entry_is_not_ours(redis: Redis) -> None:
    store, _, _offer, doubt = await a_lost_reply(redis)
    b = store.process("b")
    await store.queue(message("and more", ts(2)))
    await b.journal.done(await b.take((await b.take_over())[0]))
    assert await store.process("c").hold(), "the same process can claim the lane again"

    assert await store.process("c").inbox.settle(doubt) is None


async def test_a_put_after_settling_is_refused(redis: Redis) -> None:
    store, lost_put, _offer, doubt = await a_lost_reply(redis, is_late=True)

    assert await store.process("c").inbox.settle(doubt) is None

    assert await lost_put.run_late_put() == ["late"]
    assert await store.entries() == 0
    assert isinstance(await store.put(message("more", ts(1)), by="a"), Queued), "as for Slack's retry"


async def test_a_put_before_settling_is_found(redis: Redis) -> None:
    store, lost_put, _offer, doubt = await a_lost_reply(redis, is_late=True)
    await lost_put.run_late_put()

    head = await store.process("c").inbox.settle(doubt)

    assert isinstance(head, Taken)
    assert head.record.id == doubt.turn


async def test_in_a_wiped_store_nothing_is_found(redis: Redis) -> None:
    store, _, _offer, doubt = await a_lost_reply(redis)
    await redis.flushdb()

    assert await store.process("c").inbox.settle(doubt) is None
