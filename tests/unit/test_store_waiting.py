"""Waiting messages: edits, deletions, a pending agent choice, and retries."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bridge.ids import TurnId
from bridge.inbound import Notice
from bridge.queue.inbox import Arrival
from bridge.queue.records import Step
from support.store import CHANNEL, LANE, PREFIX, ROOT, TEAM, THREAD, USER, Process, Store, key_of, message, ts


async def test_an_edited_first_message_may_still_choose_the_agent(store: Store) -> None:
    await store.queue()
    await store.sessions.choose_agent(THREAD, 7)

    await store.process().inbox.edit(message("Support: help"))

    taken = await store.process().take()
    assert taken.record.starts
    assert taken.record.step is Step.QUEUED


@pytest.mark.parametrize(("progress", "deleted"), [("sent", "stopped"), ("posting", "stopped"), ("done", "late")])
async def test_a_sent_message_cannot_be_edited_and_its_deletion_stops_it(
    store: Store, progress: str, deleted: str
) -> None:
    await store.conversation()
    process = store.process()
    taken = await process.take()
    await process.journal.sent(taken)
    if progress != "sent":
        await process.journal.outcome(taken, "{}", what="answered")
    if progress == "done":
        await process.journal.done(taken)
    body = await store.field(taken.record.id, "body")

    assert await process.inbox.edit(message("too late")) == "asked"
    assert await store.field(taken.record.id, "body") == body
    assert await process.inbox.withdraw(message().key) == deleted
    assert await process.inbox.edit(message("later still")) == "late"

    assert await store.box() == ([] if progress == "done" else [taken.record.id])


async def test_an_unknown_message_can_be_neither_edited_nor_withdrawn(store: Store) -> None:
    assert await store.process().inbox.edit(message("never seen")) == "unknown"
    assert await store.process().inbox.withdraw(message().key) == "unknown"


async def test_editing_a_refused_message_does_not_queue_it(store: Store) -> None:
    notice = Notice(team=TEAM, channel=CHANNEL, user=USER, what="user")
    arrival = Arrival(inbound=notice, message=key_of(ROOT), event=f"Ev{ROOT}")
    await store.process().inbox.put_message(arrival)

    assert await store.process().inbox.edit(message("let me in")) == "unknown"

    assert (await store.process().take()).record.body == notice


async def parked(store: Store) -> Process:
    """Create a thread that waits for an agent to be chosen."""
    await store.queue()
    process = store.process()
    assert await process.journal.park(await process.take(), THREAD)
    return process


async def test_a_choice_without_waiting_messages_binds_the_thread(store: Store) -> None:
    assert await store.sessions.choose_agent(THREAD, 7) == 7

    assert await store.entries() == 0
    assert 89.9 < await store.days_left(f"thread:{THREAD}") <= 90


async def test_a_choice_while_parking_is_not_missed(store: Store) -> None:
    await store.queue()
    process = store.process()
    taken = await process.take()
    await store.sessions.choose_agent(THREAD, 7)

    assert not await process.journal.park(taken, THREAD)

    assert (await process.take(taken.held)).conversation.agent == 7
    assert await store.entries() == 1


async def test_a_withdrawal_while_parking_is_not_missed(store: Store) -> None:
    await store.queue()
    process = store.process()
    taken = await process.take()
    await process.inbox.withdraw(message().key)

    assert not await process.journal.park(taken, THREAD)


async def test_withdrawing_the_parked_message_wakes_the_lane(store: Store, redis: Redis) -> None:
    process = await parked(store)
    await store.queue(message("more", ts(1)))

    assert await process.inbox.withdraw(message().key) == "withdrawn"

    assert (await process.take()).record.is_withdrawn
    assert await redis.hlen(f"{PREFIX}parked") == 0


async def test_withdrawing_a_message_after_the_parked_one_keeps_it_parked(store: Store) -> None:
    await parked(store)
    await store.queue(message("more", ts(1)))

    assert await store.process().inbox.withdraw(key_of(ts(1))) == "withdrawn"

    assert await store.entries() == 0


async def unanswered(store: Store, text: str = "hello there") -> TurnId:
    """A turn whose text a button may send again."""
    turn = await store.queue(message(text), agent=7)
    process = store.process()
    await process.journal.done(await process.take(), what="unknown", keep_text=True)
    return turn


async def test_a_message_is_resent_at_the_end_of_its_thread(store: Store) -> None:
    turn = await unanswered(store)
    waiting = await store.queue(message("meanwhile", ts(1)))

    assert await store.process().inbox.again(turn, by=TurnId("click")) == "queued"

    first, second = await store.box()
    assert (first, second != turn) == (waiting, True)
    process = store.process()
    await process.journal.done(await process.take())
    again = await process.take()
    assert again.record.body == message()


async def test_a_message_is_resent_once_however_often_requested(store: Store) -> None:
    turn = await unanswered(store, "my secret words")
    await store.process().inbox.again(turn, by=TurnId("click"))
    before = await store.dump()

    assert await store.process().inbox.again(turn, by=TurnId("click")) == "queued", "the click's turn runs again"
    assert await store.process().inbox.again(turn, by=TurnId("another click")) == "already"

    assert await store.dump() == before
    process = store.process()
    await process.journal.done(await process.take())
    assert not await store.contains_text("my secret words")


async def test_a_button_works_before_its_notice_is_recorded(
    store: Store,
) -> None:
    turn = await store.queue(message("my secret words"), agent=7)
    process = store.process()
    taken = await process.take()
    await process.journal.outcome(taken, "{}", what="unknown")

    assert await process.inbox.again(turn, by=TurnId("click")) == "queued"

    assert (await process.take(taken.held)).record.body == message("my secret words"), (
        "the next worker can still read it"
    )
    await process.journal.done(taken, what="unknown", keep_text=True)
    again = await process.take()
    assert again.record.id != turn
    await process.journal.done(again)
    assert not await store.contains_text("my secret words")


@pytest.mark.parametrize("progress", ["never was", "waits", "answered"])
async def test_an_expired_message_cannot_be_resent(store: Store, progress: str) -> None:
    turn = TurnId("nobody") if progress == "never was" else await store.conversation()
    if progress == "answered":
        await store.process().journal.done(await store.process().take())
    before = await store.dump()

    assert await store.process().inbox.again(turn, by=TurnId("click")) == "gone"

    assert await store.dump() == before


async def test_a_full_thread_resends_nothing_until_it_has_room(store: Store) -> None:
    turn = await unanswered(store)
    for number in range(50):
        await store.queue(message("x", ts(number + 1)))

    assert await store.process().inbox.again(turn, by=TurnId("click")) == "full"
    process = store.process()
    await process.journal.done(await process.take())
    assert await process.inbox.again(turn, by=TurnId("click")) == "queued"
    assert len(await store.box(LANE)) == 50
