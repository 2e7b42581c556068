"""The session map, channel defaults, and marks of searched threads."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bridge.errors import RecordNotUnderstood
from bridge.features.workflows.runs import results_of
from bridge.ids import TurnId
from bridge.queue.records import Conversation
from support.store import PREFIX, THREAD, Store


async def test_a_thread_without_messages_is_not_bound(store: Store) -> None:
    assert await store.sessions.thread(THREAD) is None


async def test_a_session_is_replaced_only_if_it_is_unchanged(store: Store) -> None:
    await store.conversation(agent=7)

    assert await store.sessions.rebind(THREAD, expected=None, session=1)
    assert not await store.sessions.rebind(THREAD, expected=None, session=2)
    assert not await store.sessions.rebind(THREAD, expected=9, session=2)
    assert await store.sessions.rebind(THREAD, expected=1, session=3, agent=8)

    assert await store.sessions.thread(THREAD) == Conversation(agent=8, session=3)


async def test_a_lost_binding_can_be_written_again(store: Store) -> None:
    assert await store.sessions.rebind(THREAD, expected=None, session=1, agent=7)

    assert await store.sessions.thread(THREAD) == Conversation(agent=7, session=1)
    assert 89.9 < await store.days_left(f"thread:{THREAD}") <= 90


async def test_a_fresh_session_keeps_the_agent(store: Store) -> None:
    await store.conversation(agent=7)
    await store.sessions.rebind(THREAD, expected=None, session=1)

    await store.sessions.restart(THREAD)

    assert await store.sessions.thread(THREAD) == Conversation(agent=7)


async def test_a_fresh_session_binds_no_thread(store: Store) -> None:
    before = await store.dump()

    await store.sessions.restart(THREAD)

    assert await store.dump() == before


async def test_the_notice_of_an_outage_binds_nothing_and_expires(store: Store) -> None:
    assert await store.said_once.may_notify(THREAD, TurnId("turn"))
    await store.said_once.notified(THREAD)

    assert await store.sessions.thread(THREAD) is None
    assert 0 < await store.days_left(f"outage_notice:{THREAD}") < 2


async def test_a_search_is_remembered_for_a_day(store: Store) -> None:
    assert not await store.sessions.was_searched(THREAD)

    await store.sessions.mark_searched(THREAD)

    assert await store.sessions.was_searched(THREAD)
    assert 1 < await store.days_left(f"looked:{THREAD}") < 1.1


async def test_results_that_cannot_be_read_say_so(store: Store, redis: Redis) -> None:
    await redis.set(f"{PREFIX}results:t", "{", ex=60)

    with pytest.raises(RecordNotUnderstood):
        await results_of(store.scripts, TurnId("t"))
