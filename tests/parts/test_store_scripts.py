"""The namespace, scripts that share a round trip, and lanes handed over with their put."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from bridge.errors import NamespaceTaken, StoreUnavailable, StoreWiped
from bridge.inbound import SlashCommand
from bridge.metrics import Metrics
from bridge.playground.emulator.sample import BOB
from bridge.queue.namespace import Namespace
from bridge.queue.put import NotQueued, Queued
from bridge.queue.records import Offer, Step, Taken
from bridge.queue.redis.connection import connect
from bridge.queue.scripting import MOST_AT_ONCE, Batches, Scripts
from support.lost_put import LostPut
from support.store import BOT, CHANNEL, LANE, NAMESPACE, PREFIX, START, TEAM, USER, Store, message, open_store, ts


async def test_a_namespace_remembers_when_it_was_first_opened(store: Store, redis: Redis) -> None:
    store.clock.time = START + timedelta(days=3)

    again = await open_store(redis, store.clock)

    assert store.namespace.since == again.namespace.since == START
    assert again.namespace.is_held


@pytest.mark.parametrize(("team", "bot"), [("T2", BOT), (TEAM, BOB)])
async def test_another_bots_namespace_is_refused(store: Store, team: str, bot: str) -> None:
    other = Namespace(store.scripts, name=NAMESPACE, team=team, bot=bot, now=store.clock)
    before = await store.dump()

    with pytest.raises(NamespaceTaken) as caught:
        await other.hold()

    assert str(caught.value) == f"{NAMESPACE} belongs to {TEAM}/{BOT}"
    assert not other.is_held
    assert await store.dump() == before


async def test_a_wiped_store_is_set_up_again(store: Store, redis: Redis) -> None:
    await redis.flushdb()
    store.clock.time = START + timedelta(hours=1)

    assert await store.namespace.prune_dead_consumers() == 0, "there are none"
    await store.namespace.hold()
    await store.queue()

    assert store.namespace.since == START + timedelta(hours=1)
    assert len(await store.process().hold()) == 1


async def test_an_unreachable_namespace_is_not_held(store: Store) -> None:
    async with connect("redis://127.0.0.1:1") as nowhere:
        gone = Namespace(Scripts(nowhere, NAMESPACE, Metrics()), name=NAMESPACE, team=TEAM, bot=BOT, now=store.clock)
        with pytest.raises(StoreUnavailable):
            await gone.hold()

    assert not gone.is_held


async def test_dead_consumers_that_hold_nothing_are_pruned(store: Store, redis: Redis) -> None:
    await store.conversation()
    await store.queue(message("x", "1700000009.000100"))
    holder, idler = store.process("holder"), store.process("idler")
    await holder.hold(most=1)
    await idler.journal.done(await idler.take())

    assert await store.namespace.prune_dead_consumers() == 0  # none is old enough
    dropped = await store.scripts.run("forget", {"gone_ms": -1, "oldest": 0, "idle_since": 0, "session_ms": 1000})

    assert dropped == 1
    consumers = await redis.xinfo_consumers(f"{PREFIX}ready", "workers")
    assert [consumer["name"] for consumer in consumers] == ["holder"]


async def test_a_script_that_redis_forgot_is_sent_whole(store: Store, redis: Redis) -> None:
    await store.queue()
    await redis.script_flush()
    await redis.config_resetstat()

    await store.queue(message("more", ts(1)))

    assert len(await store.box()) == 2
    called = await redis.info("commandstats")
    assert "cmdstat_eval" in called, "one step: during a failover, the next command may reach another server"
    assert "cmdstat_script|load" not in called


async def test_a_read_of_a_wiped_store_raises(store: Store, redis: Redis) -> None:
    await redis.flushdb()

    with pytest.raises(StoreWiped):
        await store.process().hold()
    assert await store.process().take_over() == []
    assert await store.process().inbox.depth() == 0


ECHO = "EVAL", "return ARGV[1]", 1, "{x}:"
COUNT = "EVAL", "return redis.call('INCR', KEYS[1] .. 'n')", 1, "{x}:"
FAIL = "EVAL", "return redis.error_reply('WRONG')", 1, "{x}:"


async def test_scripts_of_many_batches_get_their_own_answers_in_order(redis: Redis) -> None:
    batches = Batches(redis)

    answers = await asyncio.gather(*(batches.run(*COUNT) for _ in range(3 * MOST_AT_ONCE)))
    await redis.delete("{x}:n")

    assert answers == list(range(1, 3 * MOST_AT_ONCE + 1))


async def test_a_script_that_fails_leaves_its_batch_alone(redis: Redis) -> None:
    batches = Batches(redis)

    first, failed, last = await asyncio.gather(
        batches.run(*ECHO, "a"), batches.run(*FAIL), batches.run(*ECHO, "b"), return_exceptions=True
    )

    assert (first, last) == ("a", "b")
    assert isinstance(failed, ResponseError)


async def test_a_cancelled_caller_leaves_its_batch_alone(redis: Redis) -> None:
    batches = Batches(redis)
    impatient = asyncio.create_task(batches.run(*ECHO, "a"))
    patient = asyncio.create_task(batches.run(*ECHO, "b"))
    await asyncio.sleep(0)

    impatient.cancel()

    assert await patient == "b"
    with pytest.raises(asyncio.CancelledError):
        await impatient


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


async def test_a_command_is_not_handed_over(store: Store) -> None:
    command = SlashCommand(team=TEAM, channel=CHANNEL, user=USER, command="/stats")

    offer = await store.process().offer()
    assert isinstance(await store.process().inbox.put(command, event="t1"), Queued)

    assert not offer.answer.done(), "a lost result is reported to the author as a failure"


# When Redis's answer is lost


async def a_lost_reply(redis: Redis, *, is_late: bool = False) -> tuple[Store, LostPut]:
    """Queue a plain reply while a worker of process ``c`` is free; Redis's answer is lost."""
    store = await a_conversation(redis)
    store.scripts = lost_put = LostPut(redis, is_late=is_late)
    offer = await store.process("c").offer()
    with pytest.raises(StoreUnavailable):
        await store.put(message("more", ts(1)), by="c")
    assert offer.answer.result() is None, "its slot is free"
    return store, lost_put


async def test_a_lane_handed_over_with_a_lost_answer_waits_for_its_lease(redis: Redis) -> None:
    store, _ = await a_lost_reply(redis)
    lease = timedelta(minutes=1)
    assert await store.process("b").inbox.claim_from_the_dead(lease=lease, most=10) == []
    await store.expire_all_leases()

    (held,) = await store.process("b").inbox.claim_from_the_dead(lease=lease, most=10)

    taken = await store.process("b").take(held)
    assert (taken.record.step, taken.record.takes, await store.box()) == (Step.QUEUED, 2, [taken.record.id])


async def test_a_process_takes_over_what_it_does_not_know_it_has(redis: Redis) -> None:
    store, _ = await a_lost_reply(redis)

    (held,) = await store.process("c").take_over()

    assert [(await store.process("c").take(held)).record.id] == await store.box()


async def test_slacks_retry_finds_the_queued_turn(redis: Redis) -> None:
    store, _ = await a_lost_reply(redis)

    assert await store.put(message("more", ts(1)), by="a") == NotQueued("duplicate", (await store.box())[0])


async def test_a_put_after_slacks_retry_is_a_duplicate(redis: Redis) -> None:
    store, lost_put = await a_lost_reply(redis, is_late=True)
    turn = await store.queue(message("more", ts(1)), by="a")

    assert await lost_put.run_late_put() == ["duplicate", turn]

    assert await store.box() == [turn]
    assert await store.entries() == 1
