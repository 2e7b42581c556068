"""The steps of a turn in the journal, from queued to done."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.errors import LaneLost
from bridge.features.workflows.runs import results_of, to_text
from bridge.ids import ThreadKey, thread_lane
from bridge.queue.records import VERSION, Conversation, Step, Unreadable, Write
from bridge.queue.turn import AlreadyUsed, TurnChanged
from support.store import CHANNEL, LANE, PREFIX, START, TEAM, THREAD, Store, key_of, message, ts

KEY = f"{PREFIX}answered:question"


def claim(turn: str) -> list[Write]:
    return [("if", KEY, 0, 1, "turn", ""), ("field", KEY, 60_000, "turn", turn)]


async def test_writes_with_sent_let_only_one_turn_send(store: Store, redis: Redis) -> None:
    takes = []
    for root in ("1700000000.000100", "1700000500.000100"):
        await store.queue(message(ts=root, thread_ts=""), agent=7)
        takes.append(await store.process().take())
    first, second = takes
    journal = store.process().journal

    for _ in range(2):  # a repetition, after a lost answer
        await journal.sent(first, writes=claim("first"))
    with pytest.raises(AlreadyUsed):
        await journal.sent(second, writes=claim("second"))

    assert [await store.field(one.record.id, "step") for one in takes] == ["sent", "queued"]
    assert await redis.hget(KEY, "turn") == "first"
    await journal.unsent(first, writes=[("if", KEY, 0, 1, "turn", "first"), ("delete", KEY, 0)])
    await journal.sent(second, writes=claim("second"))
    assert await store.field(second.record.id, "step") == "sent"


async def test_a_take_reads_the_head_and_its_threads_binding(store: Store) -> None:
    turn = await store.conversation(agent=7)
    await store.queue(message("behind", ts(1)))

    taken = await store.process().take()

    assert (taken.record.id, taken.record.lane, taken.record.step) == (turn, LANE, Step.QUEUED)
    assert (taken.record.takes, taken.record.accepted_at) == (1, START)
    assert taken.conversation == Conversation(agent=7)


async def test_an_empty_lane_is_left_without_an_entry(store: Store, redis: Redis) -> None:
    await redis.xadd(f"{PREFIX}ready", {"lane": LANE})
    held = (await store.process().hold())[0]

    assert await store.process().journal.take(held) is None

    assert await store.entries() == 0


async def test_looking_again_after_waiting_is_not_a_new_take(store: Store) -> None:
    await store.conversation()
    process = store.process()
    first = await process.take()

    again = await process.take(first.held, begins=False)

    assert (again.record.takes, again.record.times_delivered) == (1, 1)


@pytest.mark.parametrize(
    ("field", "value"),
    [("v", str(VERSION + 1)), ("body", "{"), ("step", "asleep"), ("at", ""), ("body", '{"kind": "telepathy"}')],
)
async def test_a_record_that_cannot_be_read_is_named(store: Store, redis: Redis, field: str, value: str) -> None:
    turn = await store.conversation()
    await redis.hset(f"{PREFIX}turn:{turn}", field, value)
    process = store.process()

    found = await process.journal.take((await process.hold())[0])

    assert isinstance(found, Unreadable)
    assert found.turn == turn
    await process.journal.bury(found.held, found.turn, reason="not understood")
    assert await store.box() == []


async def test_fields_of_a_later_release_are_ignored(store: Store, redis: Redis) -> None:
    turn = await store.conversation()
    await redis.hset(f"{PREFIX}turn:{turn}", "later", "1")

    taken = await store.process().take()
    await store.process().journal.sent(taken)

    assert await store.field(turn, "later") == "1"


async def test_sent_is_written_once_and_may_be_repeated_by_the_same_take(store: Store) -> None:
    turn = await store.conversation()
    journal = store.process().journal
    taken = await store.process().take()

    await journal.sent(taken, note='{"workflow": 1}')
    await journal.sent(taken, note='{"workflow": 1}')

    assert await store.field(turn, "step") == "sent"
    assert await store.field(turn, "note") == '{"workflow": 1}'
    with pytest.raises(LaneLost):
        await journal.sent(replace(taken, token="another"))


async def test_the_first_sent_message_gives_its_thread_the_agent(store: Store) -> None:
    await store.queue()
    process = store.process()
    taken = await process.take()

    await process.journal.sent(taken, first=(THREAD, 7))
    await process.journal.sent(taken, first=(THREAD, 7))  # retried: the reply was lost

    assert await store.sessions.thread(THREAD) == Conversation(agent=7)


async def test_nothing_is_sent_if_another_agent_was_first(store: Store) -> None:
    turn = await store.queue()
    process = store.process()
    taken = await process.take()
    await store.sessions.choose_agent(THREAD, 8)

    with pytest.raises(TurnChanged):
        await process.journal.sent(taken, first=(THREAD, 7))

    assert await store.field(turn, "step") == "queued"
    assert await store.sessions.thread(THREAD) == Conversation(agent=8)


async def test_sent_fails_if_the_text_was_edited_meanwhile(store: Store) -> None:
    turn = await store.conversation()
    process = store.process()
    taken = await process.take()
    await process.inbox.edit(message("better words"))

    with pytest.raises(TurnChanged):
        await process.journal.sent(taken)
    assert await store.field(turn, "step") == "queued"
    again = await process.take(taken.held)
    assert again.record.body == message("better words")
    await process.journal.sent(again)


async def test_a_withdrawn_message_is_never_marked_as_sent(store: Store) -> None:
    turn = await store.conversation()
    process = store.process()
    taken = await process.take()
    await process.inbox.withdraw(message().key)

    with pytest.raises(TurnChanged):
        await process.journal.sent(taken)
    assert await store.field(turn, "step") == "queued"
    assert (await process.take(taken.held)).record.is_withdrawn


async def test_a_request_that_did_not_arrive_is_queued_again(store: Store) -> None:
    turn = await store.conversation()
    process = store.process()
    taken = await process.take()
    await process.journal.sent(taken)

    await process.journal.unsent(taken)
    await process.journal.unsent(taken)  # retried: the reply was lost

    assert await store.field(turn, "step") == "queued"
    assert await process.inbox.edit(message("better words")) == "edited"
    again = await process.take(taken.held)
    await process.journal.sent(again)


async def test_a_recorded_outcome_stays_recorded(store: Store) -> None:
    turn = await store.conversation()
    process = store.process()
    taken = await process.take()
    await process.journal.sent(taken)

    await process.journal.outcome(taken, "the first", what="answered")
    await process.journal.outcome(taken, "the second", what="unknown")
    await process.journal.unsent(taken)

    assert await store.field(turn, "outcome") == "the first"
    assert await store.field(turn, "step") == "posting"


@pytest.mark.parametrize(
    ("bound_to", "expected", "kept"),
    [(None, None, 42), (41, 41, 42), (41, None, 41), (None, 41, None), (43, 41, 43)],
)
async def test_a_session_replaces_only_the_one_its_turn_started_with(
    store: Store, bound_to: int | None, expected: int | None, kept: int | None
) -> None:
    await store.conversation()
    await store.sessions.rebind(THREAD, expected=None, session=bound_to)
    taken = await store.process().take()

    await store.process().journal.outcome(
        taken, "{}", what="answered", writes=store.sessions.answered(message(), 42, expected=expected, agent=7)
    )

    conversation = await store.sessions.thread(THREAD)
    assert conversation is not None
    assert conversation.session == kept


async def test_an_answer_renews_its_threads_lifetime(store: Store, redis: Redis) -> None:
    await store.conversation()
    taken = await store.process().take()
    await redis.pexpire(f"{PREFIX}thread:{THREAD}", 1_000_000)

    await store.process().journal.outcome(
        taken, "{}", what="answered", writes=store.sessions.answered(message(), 42, expected=None, agent=7)
    )

    assert 89.9 < await store.days_left(f"thread:{THREAD}") <= 90


async def test_an_answer_clears_the_notice_of_an_outage(store: Store) -> None:
    await store.conversation()
    taken = await store.process().take()

    assert await store.said_once.may_notify(THREAD, taken.record.id)
    await store.said_once.notified(THREAD)
    assert not await store.said_once.may_notify(THREAD, taken.record.id)
    await store.process().journal.outcome(
        taken, "{}", what="answered", writes=store.sessions.answered(message(), 42, expected=None, agent=7)
    )

    assert await store.said_once.may_notify(THREAD, taken.record.id)


async def test_node_results_are_stored_with_the_outcome(store: Store) -> None:
    turn = await store.conversation()
    taken = await store.process().take()
    results: Write = ("set", store.scripts.keys.results(turn), 60_000, to_text({"node": [1, None]}, "out"))

    await store.process().journal.outcome(taken, "{}", what="ran", writes=[results])

    assert await results_of(store.scripts, turn) == ({"node": [1, None]}, "out")
    assert await results_of(store.scripts, taken.record.id.__class__("nobody")) == (None, None)


async def test_lanes_take_turns(store: Store) -> None:
    threads = [ThreadKey(TEAM, CHANNEL, f"1700000{n}.000100") for n in range(3)]
    for thread in threads:
        await store.queue(message(f"first of {thread.root}", thread.root))
    for thread in threads:
        second = message(f"second of {thread.root}", f"{thread.root[:-1]}1", thread_ts=thread.root)
        await store.queue(second)
    process = store.process()
    order = []
    while held := await process.hold(most=1):
        taken = await process.take(held[0])
        order.append(taken.record.lane)
        await process.journal.done(taken)

    assert order == [thread_lane(thread) for thread in threads] * 2


async def test_texts_are_deleted_with_done_and_ids_stay_for_a_week(store: Store) -> None:
    turn = await store.queue(message("my secret words"), agent=7)
    process = store.process()
    taken = await process.take()
    await process.journal.sent(taken, note="my secret words again")
    await process.journal.outcome(taken, "an answer full of secret words", what="answered")
    assert await store.contains_text("secret words")

    await process.journal.done(taken, what="answered", posted=key_of("1700000000.000900"))

    assert not await store.contains_text("secret words")
    assert 6.9 < await store.days_left(f"turn:{turn}") <= 7
    fields = {name: await store.field(turn, name) for name in ("step", "what", "posted", "lane", "t_done")}
    assert fields == {
        "step": "done", "what": "answered", "posted": "1700000000.000900", "lane": LANE,
        "t_done": str(int(START.timestamp() * 1000)),
    }  # fmt: skip


async def test_a_text_that_a_button_may_resend_stays_a_week_at_most(store: Store) -> None:
    turn = await store.queue(message("my secret words"), agent=7)
    process = store.process()

    await process.journal.done(await process.take(), what="unknown", keep_text=True)

    assert await store.contains_text("my secret words")
    assert 6.9 < await store.days_left(f"turn:{turn}") <= 7


async def test_a_dead_letter_keeps_its_reason_and_the_lane_continues(store: Store, redis: Redis) -> None:
    turn = await store.conversation()
    second = await store.queue(message("more", ts(1)))
    process = store.process()

    taken = await process.take()
    await process.journal.bury(taken.held, turn, reason="Slack: channel_not_found")

    assert await store.field(turn, "step") == "dead"
    assert await store.field(turn, "what") == "Slack: channel_not_found"
    assert 29.9 < await store.days_left(f"turn:{turn}") <= 30
    assert await redis.zrange(f"{PREFIX}dead", 0, -1) == [turn]
    assert (await process.take()).record.id == second


async def test_dead_letters_leave_the_list_with_their_records(store: Store, redis: Redis) -> None:
    process = store.process()
    for number, days in enumerate((0, 31)):
        store.clock.time = START + timedelta(days=days)
        turn = await store.queue(message("x", f"170000000{number}.000100"))
        taken = await process.take()
        await process.journal.bury(taken.held, turn, reason="r")

    assert await redis.zrange(f"{PREFIX}dead", 0, -1) == [turn]


async def test_a_turns_card_is_stored(store: Store) -> None:
    await store.conversation()
    process = store.process()
    taken = await process.take()

    await process.journal.card(taken, key_of("1700000000.000900"))

    assert (await process.take(taken.held)).record.card == "1700000000.000900"


async def test_only_expired_leases_are_taken_over(store: Store) -> None:
    await store.conversation()
    a, b = store.process("a"), store.process("b")
    held = (await a.hold())[0]
    lease = timedelta(seconds=15)

    assert await b.inbox.claim_from_the_dead(lease=lease, most=10) == []
    await store.expire_lease(held)
    assert await a.inbox.renew([held.entry]) == []
    assert await b.inbox.claim_from_the_dead(lease=lease, most=10) == []
    await store.expire_lease(held)
    assert await b.inbox.claim_from_the_dead(lease=lease, most=10) == [held]


async def test_renewing_never_reclaims_a_lane(store: Store) -> None:
    await store.conversation()
    a, b = store.process("a"), store.process("b")
    held = (await a.hold())[0]
    await b.take_over()
    before = await store.dump()

    assert await a.inbox.renew([held.entry, "9-9"]) == [held.entry, "9-9"]

    assert await store.dump() == before
    assert await b.inbox.renew([held.entry]) == []
    assert await a.inbox.renew([]) == []


@pytest.mark.parametrize("change", ["edited", "withdrawn"])
async def test_an_outcome_of_a_changed_message_is_not_recorded(store: Store, change: str) -> None:
    turn = await store.conversation()
    process = store.process()
    taken = await process.take()
    if change == "edited":
        await process.inbox.edit(message("better words"))
    else:
        await process.inbox.withdraw(message().key)

    with pytest.raises(TurnChanged):
        await process.journal.outcome(taken, "to the earlier words", what="shown")

    assert await store.field(turn, "step") == "queued"
    assert await store.field(turn, "outcome") is None


async def test_an_outcome_of_a_sent_message_stands_despite_edits(store: Store) -> None:
    turn = await store.conversation()
    process = store.process()
    taken = await process.take()
    await process.journal.sent(taken)
    await process.inbox.edit(message("better words"))

    await process.journal.outcome(taken, "an answer", what="answered")

    assert await store.field(turn, "step") == "posting"
