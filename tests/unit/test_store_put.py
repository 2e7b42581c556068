"""Queuing turns: marked as seen and queued in one step, or neither."""

from __future__ import annotations

from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.errors import StoreUnavailable
from bridge.ids import own_lane
from bridge.inbound import Click, HomeOpened, Inbound, Notice, Shortcut, SlashCommand, StopRequest
from bridge.metrics import Metrics
from bridge.queue.inbox import Arrival, Choosing, Condition, Duplicate, Full, Queued, Unbound
from bridge.queue.records import VERSION
from support.store import CHANNEL, LANE, ROOT, SPARE, TEAM, THREAD, USER, Store, key_of, message, open_store, ts


async def test_the_running_turn_does_not_count_as_waiting(store: Store) -> None:
    await store.conversation()
    taken = await store.process().take()
    await store.process().journal.sent(taken)
    for number in range(50):
        assert isinstance(await store.put(message("hello", ts(number + 1))), Queued)

    assert await store.put(message("one too many", ts(51))) == Full()


async def test_a_redelivered_event_is_a_duplicate(store: Store) -> None:
    turn = await store.queue()
    came = await store.field(turn, "came")

    again = await store.put()

    assert again == Duplicate(turn)
    assert await store.box() == [turn]
    assert await store.entries() == 1
    assert await store.field(turn, "came") == f"{came}\n{came}"


async def test_an_event_is_recognised_by_its_id_alone(store: Store) -> None:
    click = Click(team=TEAM, channel=CHANNEL, user=USER, action_id="a")
    inbox = store.process().inbox
    turn = await inbox.put(click, event="trigger-1")

    assert isinstance(turn, Queued)
    assert await inbox.put(click, event="trigger-1") == Duplicate(turn.turn)
    assert isinstance(await inbox.put(click, event="trigger-2"), Queued)


@pytest.mark.parametrize(
    "inbound",
    [
        Click(team=TEAM, channel=CHANNEL, user=USER, action_id="a"),
        HomeOpened(team=TEAM, channel=CHANNEL, user=USER),
        Shortcut(team=TEAM, channel=CHANNEL, user=USER, name="a"),
        StopRequest(team=TEAM, channel=CHANNEL, user=USER, given=ts(1), thread_ts=ROOT),
    ],
    ids=lambda inbound: inbound.kind,
)
async def test_every_record_has_the_version(store: Store, inbound: Inbound) -> None:
    put = await store.process().inbox.put(inbound, event="Ev1")

    assert isinstance(put, Queued)
    assert await store.field(put.turn, "v") == str(VERSION)


async def test_a_turn_with_its_own_lane_never_waits(store: Store) -> None:
    await store.queue()

    turn = await store.queue(message("!stats", ts(1)), in_order=False)

    assert await store.box(own_lane(turn)) == [turn]
    assert await store.entries() == 2


async def test_the_fifty_first_message_is_refused_and_leaves_nothing(store: Store) -> None:
    for number in range(50):
        await store.queue(message(f"number {number}", ROOT if number == 0 else ts(number)))
    before = await store.dump()

    assert await store.put(message("one too many", ts(50))) == Full()

    assert await store.dump() == before


async def test_a_refused_message_is_accepted_once_the_lane_has_room(store: Store) -> None:
    for number in range(50):
        await store.queue(message(f"number {number}", ROOT if number == 0 else ts(number)))
    await store.put(message("one too many", ts(50)))
    taken = await store.process().take()
    await store.process().journal.done(taken)

    assert isinstance(await store.put(message("one too many", ts(50))), Queued)


async def test_a_thread_is_bound_when_its_first_message_is_accepted(store: Store) -> None:
    await store.queue()

    assert await store.sessions.thread(THREAD) is not None
    assert isinstance(await store.put(message("a reply", ts(1))), Queued)
    assert 89.9 < await store.days_left(f"thread:{THREAD}") <= 90


async def test_every_message_renews_its_threads_lifetime(store: Store, redis: Redis) -> None:
    await store.queue()
    await redis.pexpire(f"{{test}}:thread:{THREAD}", 1_000_000)

    await store.queue(message("a reply", ts(1)))

    assert 89.9 < await store.days_left(f"thread:{THREAD}") <= 90


async def test_an_unbound_thread_is_searched_until_that_is_remembered(store: Store) -> None:
    searched = await store.put(message("old thread", ts(1)), condition=Condition.SEARCH)
    await store.sessions.mark_searched(THREAD)

    assert isinstance(searched, Queued)
    assert (await store.process().take()).record.searches
    assert await store.put(message("old thread", ts(2)), condition=Condition.SEARCH) == Unbound()
    assert await store.sessions.thread(THREAD) is None


async def test_only_the_first_message_of_a_thread_may_choose_its_agent(store: Store) -> None:
    first = await store.queue()
    second = await store.queue(message("<@UBOT> more", ts(1)), condition=Condition.START)

    assert [await store.field(turn, "starts") for turn in (first, second)] == ["1", None]


async def test_a_thread_that_starts_with_its_agent_needs_no_choice(store: Store) -> None:
    turn = await store.queue(agent=7)

    assert await store.field(turn, "starts") is None
    conversation = await store.sessions.thread(THREAD)
    assert conversation is not None
    assert conversation.agent == 7


async def test_a_put_after_its_deadline_is_not_stored(store: Store) -> None:
    store.scripts.clock_ahead -= SPARE + timedelta(seconds=10)  # the server receives the command ten seconds late
    before = await store.dump()

    with pytest.raises(StoreUnavailable):
        await store.put(within=timedelta(seconds=3))

    assert await store.dump() == before


async def test_a_put_before_its_deadline_is_stored(store: Store) -> None:
    assert isinstance(await store.put(within=timedelta(seconds=3)), Queued)


async def test_events_messages_and_waiting_turns_have_their_lifetimes(store: Store, redis: Redis) -> None:
    turn = await store.queue()
    await store.process().inbox.put(HomeOpened(team=TEAM, channel=CHANNEL, user=USER), event="opened")

    assert 24.9 < 24 * await store.days_left("seen:e:opened") <= 25
    assert 7.9 < await store.days_left(f"seen:m:{key_of(ROOT)}") <= 8
    assert await redis.ttl(f"{{test}}:turn:{turn}") == -1
    assert await redis.ttl(f"{{test}}:box:{LANE}") == -1


async def test_a_notice_in_place_of_a_message_marks_it_as_seen(store: Store) -> None:
    notice = Notice(team=TEAM, channel=CHANNEL, user=USER, what="user")
    arrival = Arrival(inbound=notice, event=f"Ev{ROOT}", message=key_of(ROOT), thread=THREAD, in_order=False)
    put = await store.process().inbox.put_message(arrival)

    assert isinstance(put, Queued)
    assert await store.put() == Duplicate(put.turn)
    assert await store.sessions.thread(THREAD) is None


async def test_a_possible_choice_finds_the_menu_and_is_not_stored(store: Store) -> None:
    await store.queue()
    taken = await store.process().take()
    await store.process().journal.card(taken, key_of("1700000009.000100"))
    assert await store.process().journal.park(taken, THREAD)
    before = await store.dump()

    put = await store.put(message("Support", ts(1)), may_choose=True)

    assert put == Choosing("1700000009.000100")
    assert await store.dump() == before
    assert isinstance(await store.put(message("Support", ts(1))), Queued), "if it isn't one"


async def test_a_possible_choice_without_a_menu_is_stored(store: Store) -> None:
    await store.conversation()

    assert isinstance(await store.put(message("Support", ts(1)), may_choose=True), Queued)


async def test_without_a_replica_a_message_is_retried_and_already_stored(redis: Redis) -> None:
    metrics = Metrics()
    store = await open_store(redis, metrics=metrics)
    store.scripts.has_replicas = True  # as the heartbeat found; the server is gone by now

    with pytest.raises(StoreUnavailable):
        await store.put()

    assert b"bridge_wait_missing_total 1.0" in metrics.exposition()
    assert isinstance(await store.put(), Duplicate)
    assert await store.process().inbox.depth() == 1


async def test_commands_are_stored_without_a_replicas_confirmation(redis: Redis) -> None:
    metrics = Metrics()
    store = await open_store(redis, metrics=metrics)
    store.scripts.has_replicas = True

    command = SlashCommand(team=TEAM, channel=CHANNEL, user=USER, command="/stats")
    assert isinstance(await store.process().inbox.put(command, event="trigger:1"), Queued)

    assert b"bridge_wait_missing_total 1.0" in metrics.exposition()
