"""Turns in the store: their steps, resending, sessions, limits, the writes that go with them, and the audit."""

from __future__ import annotations

from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.engine.finished_turns import Entries
from bridge.errors import RecordNotUnderstood, StoreUnavailable
from bridge.features.registry import features
from bridge.features.workflows.runs import results_of
from bridge.ids import ThreadKey, TurnId, thread_lane
from bridge.inbound import HomeOpened, Notice, SlashCommand
from bridge.metrics import Metrics
from bridge.queue.finished_turns import finished_turns_since
from bridge.queue.inbox import Arrival, Condition
from bridge.queue.journal import AlreadyUsed, TurnChanged
from bridge.queue.namespace import Namespace
from bridge.queue.put import NotQueued, Put, Queued
from bridge.queue.quotas import Quota
from bridge.queue.records import NEWEST, Conversation, Taken, Unreadable
from bridge.queue.scripting import Scripts
from bridge.queue.writes import Write
from support.store import (
    BOT,
    CHANNEL,
    LANE,
    NAMESPACE,
    PREFIX,
    ROOT,
    SPARE,
    START,
    TEAM,
    THREAD,
    USER,
    Process,
    Store,
    key_of,
    message,
    open_store,
    ts,
)


@pytest.mark.parametrize(
    ("field", "value"),
    [("v", str(NEWEST + 1)), ("body", "{"), ("step", "asleep"), ("at", ""), ("body", '{"kind": "telepathy"}')],
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


@pytest.mark.parametrize(
    ("bound_to", "expected", "kept"), [(None, None, 42), (41, 41, 42), (41, None, 41), (None, 41, None), (43, 41, 43)]
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
    fields = {name: await store.field(turn, name) for name in ("step", "what", "posted", "lane")}
    assert fields == {
        "step": "done", "what": "answered", "posted": "1700000000.000900", "lane": LANE,
    }  # fmt: skip


async def test_dead_letters_leave_the_list_with_their_records(store: Store, redis: Redis) -> None:
    process = store.process()
    for number, days in enumerate((0, 31)):
        store.clock.time = START + timedelta(days=days)
        turn = await store.queue(message("x", f"170000000{number}.000100"))
        taken = await process.take()
        await process.journal.bury(taken.held, turn, reason="r")

    assert await redis.zrange(f"{PREFIX}dead", 0, -1) == [turn]


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


async def test_looking_again_after_waiting_is_not_a_new_take(store: Store) -> None:
    await store.conversation()
    process = store.process()
    first = await process.take()

    again = await process.take(first.held, begins=False)

    assert (again.record.takes, again.record.times_delivered) == (1, 1)


async def test_nothing_is_sent_if_another_agent_was_first(store: Store) -> None:
    turn = await store.queue()
    process = store.process()
    taken = await process.take()
    await store.sessions.choose_agent(THREAD, 8)

    with pytest.raises(TurnChanged):
        await process.journal.sent(taken, first=(THREAD, 7))

    assert await store.field(turn, "step") == "queued"
    assert await store.sessions.thread(THREAD) == Conversation(agent=8)


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


async def test_the_running_turn_does_not_count_as_waiting(store: Store) -> None:
    await store.conversation()
    taken = await store.process().take()
    await store.process().journal.sent(taken)
    for number in range(50):
        assert isinstance(await store.put(message("hello", ts(number + 1))), Queued)

    assert await store.put(message("one too many", ts(51))) == NotQueued("full")


async def test_every_message_renews_its_threads_lifetime(store: Store, redis: Redis) -> None:
    await store.queue()
    await redis.pexpire(f"{{test}}:thread:{THREAD}", 1_000_000)

    await store.queue(message("a reply", ts(1)))

    assert 89.9 < await store.days_left(f"thread:{THREAD}") <= 90


async def test_only_the_first_message_of_a_thread_may_choose_its_agent(store: Store) -> None:
    first = await store.queue()
    second = await store.queue(message("<@UBOT> more", ts(1)), condition=Condition.START)

    assert [await store.field(turn, "starts") for turn in (first, second)] == ["1", None]


async def test_a_put_after_its_deadline_is_not_stored(store: Store) -> None:
    store.process_clock.redis_ahead -= SPARE + timedelta(seconds=10)  # the server receives the command ten seconds late
    before = await store.dump()

    with pytest.raises(StoreUnavailable):
        await store.put(within=timedelta(seconds=3))

    assert await store.dump() == before


async def test_events_messages_and_waiting_turns_have_their_lifetimes(store: Store, redis: Redis) -> None:
    turn = await store.queue()
    await store.process().inbox.put(HomeOpened(team=TEAM, channel=CHANNEL, user=USER), event="opened")

    assert 24.9 < 24 * await store.days_left("seen:e:opened") <= 25
    assert 7.9 < await store.days_left(f"seen:m:{key_of(ROOT)}") <= 8
    assert await redis.ttl(f"{{test}}:turn:{turn}") == -1
    assert await redis.ttl(f"{{test}}:box:{LANE}") == -1


async def test_without_a_replica_a_message_is_retried_and_already_stored(redis: Redis) -> None:
    metrics = Metrics()
    store = await open_store(redis, metrics=metrics)
    store.scripts.has_replicas = True  # as the heartbeat found; the server is gone by now

    with pytest.raises(StoreUnavailable):
        await store.put()

    assert b"bridge_wait_missing_total 1.0" in metrics.exposition()
    assert (await store.put()).end == "duplicate"
    assert await store.process().inbox.depth() == 1


async def test_commands_are_stored_without_a_replicas_confirmation(redis: Redis) -> None:
    metrics = Metrics()
    store = await open_store(redis, metrics=metrics)
    store.scripts.has_replicas = True

    command = SlashCommand(team=TEAM, channel=CHANNEL, user=USER, command="/stats")
    assert isinstance(await store.process().inbox.put(command, event="trigger:1"), Queued)

    assert b"bridge_wait_missing_total 1.0" in metrics.exposition()


async def unanswered(store: Store, text: str = "hello there") -> TurnId:
    """A turn whose text a button may send again."""
    turn = await store.queue(message(text), agent=7)
    process = store.process()
    await process.journal.done(await process.take(), what="unknown", keep_text=True)
    return turn


async def test_a_button_works_before_its_notice_is_recorded(store: Store) -> None:
    turn = await store.queue(message("my secret words"), agent=7)
    process = store.process()
    taken = await process.take()
    await process.journal.outcome(taken, "{}", what="unknown")

    assert (await process.inbox.drafts.put(turn, by=TurnId("click"))).end == "queued"

    assert (await process.take(taken.held)).record.body == message("my secret words"), (
        "the next worker can still read it"
    )
    await process.journal.done(taken, what="unknown", keep_text=True)
    again = await process.take()
    assert again.record.id != turn
    await process.journal.done(again)
    assert not await store.contains_text("my secret words")


async def test_a_full_thread_resends_nothing_until_it_has_room(store: Store) -> None:
    turn = await unanswered(store)
    for number in range(50):
        await store.queue(message("x", ts(number + 1)))

    assert (await store.process().inbox.drafts.put(turn, by=TurnId("click"))).end == "full"
    process = store.process()
    await process.journal.done(await process.take())
    assert (await process.inbox.drafts.put(turn, by=TurnId("click"))).end == "queued"
    assert len(await store.box(LANE)) == 50


async def test_a_session_is_replaced_only_if_it_is_unchanged(store: Store) -> None:
    await store.conversation(agent=7)

    assert await store.sessions.rebind(THREAD, expected=None, session=1)
    assert not await store.sessions.rebind(THREAD, expected=None, session=2)
    assert not await store.sessions.rebind(THREAD, expected=9, session=2)
    assert await store.sessions.rebind(THREAD, expected=1, session=3, agent=8)

    assert await store.sessions.thread(THREAD) == Conversation(agent=8, session=3)


async def test_a_fresh_session_binds_no_thread(store: Store) -> None:
    before = await store.dump()

    await store.sessions.restart(THREAD)

    assert await store.dump() == before


async def test_a_search_is_remembered_for_a_day(store: Store) -> None:
    assert not await store.sessions.was_searched(THREAD)

    await store.sessions.mark_searched(THREAD)

    assert await store.sessions.was_searched(THREAD)
    assert 1 < await store.days_left(f"looked:{THREAD}") < 1.1


async def test_results_that_cannot_be_read_say_so(store: Store, redis: Redis) -> None:
    await redis.set(f"{PREFIX}results:t", "{", ex=60)

    with pytest.raises(RecordNotUnderstood):
        await results_of(store.scripts, TurnId("t"))


@pytest.fixture
async def limited(redis: Redis) -> Store:
    return await open_store(redis, limits=[Quota("a thread", 2, timedelta(minutes=1), 1, "", called="thread")])


async def test_all_processes_count_together(limited: Store) -> None:
    async def put(process: str, stamp: str) -> Put:
        inbox, one = limited.process(process).inbox, message(ts=stamp)
        arrival = Arrival(inbound=one, event=stamp, thread=THREAD, condition=Condition.START, is_limited=True)
        return await inbox.put_arrival(arrival)

    puts = [await put(process, ts(number)) for number, process in enumerate("abc", start=1)]

    assert isinstance(puts[0], Queued)
    assert isinstance(puts[1], Queued)
    assert isinstance(puts[2], NotQueued)
    assert puts[2].end == "paused"
    assert timedelta(seconds=50) < puts[2].wait <= timedelta(minutes=1)


async def test_without_limits_nothing_is_counted(store: Store, redis: Redis) -> None:
    await store.queue(message(), is_limited=True)

    assert not [key async for key in redis.scan_iter("*:used:*")]


async def test_messages_that_are_not_for_an_agent_do_not_count(limited: Store) -> None:
    await limited.queue()

    puts = [await limited.put(message("!session", ts(number))) for number in range(1, 5)]

    assert [type(put) for put in puts] == [Queued] * 4


async def test_a_request_that_did_not_arrive_is_taken_back_only_from_its_own_window(store: Store, redis: Redis) -> None:
    journal, takes = store.process().journal, []
    for root in ("1700000000.000100", "1700000500.000100"):
        await store.queue(message(ts=root, thread_ts=""), agent=7)
        takes.append(await store.process().take())
    first, second = takes
    limits, counter = [Quota("runs", 2, timedelta(hours=1), 1, "")], f"{PREFIX}used:runs"

    await journal.sent(first, limits=limits)
    await journal.unsent(first, limits=limits)
    assert await redis.hget(counter, "n") == "0"

    again = await store.process().take(first.held)
    await journal.sent(again, limits=limits)
    await redis.delete(counter)  # its hour is over
    await journal.sent(second, limits=limits)
    await journal.unsent(again, limits=limits)
    assert await redis.hget(counter, "n") == "1"


HOME = HomeOpened(team=TEAM, channel="", user=USER)
SCHEDULE = f"{PREFIX}report:r1"
GUARD: Write = ("if", SCHEDULE, 0, 1, "due", "1")
SEND_WAITING: Write = ("field", SCHEDULE, 60_000, "due", "2")


async def test_a_put_and_its_writes_are_one_step(store: Store, redis: Redis) -> None:
    inbox = store.process().inbox
    await redis.hset(SCHEDULE, "due", "1")

    first = await inbox.put(HOME, event="1", writes=(GUARD, SEND_WAITING))
    second = await inbox.put(HOME, event="2", writes=(GUARD, SEND_WAITING))

    assert (first.end, second.end) == ("queued", "stale")
    assert len(await store.process().hold()) == 1


async def test_a_guard_skips_only_the_writes_it_guards(store: Store, redis: Redis) -> None:
    await redis.hset(SCHEDULE, mapping={"due": "1", "paused": "asked"})
    await redis.zadd(f"{PREFIX}due", {"r1": 1, "r2": 2})

    answers = await store.process().inbox.write(
        ("if", SCHEDULE, 0, 2, "due", "1", "paused", ""),
        ("field", SCHEDULE, 0, "due", "2"),
        ("unrank", f"{PREFIX}due", 0, "r2"),
        ("if", SCHEDULE, 0, 1, "due", "1", "skipped", ""),
        ("field max", SCHEDULE, 0, "last", "5", "numbers", "n"),
        ("unrank", f"{PREFIX}due", 60_000, "r1"),
        ("rank", f"{PREFIX}due", 60_000, "r3", 3, 0),
    )

    assert answers == ["", "", "", "holds", "2", "1", "1"]
    assert await redis.hgetall(SCHEDULE) == {"due": "1", "paused": "asked", "last": "5", "numbers": "n"}
    assert await redis.zrange(f"{PREFIX}due", 0, -1) == ["r2", "r3"]


DAYS = timedelta(days=90)
AUDIT = f"{{{NAMESPACE}}}:audit"


def entry(store: Store, taken: Taken, what: str) -> list[Write]:
    """What's written at the end of a turn."""
    entries = Entries(store.scripts.keys, features.commands.fixed_words, lifetime=DAYS, now=store.clock)
    return [entries.of(taken.record.id, taken.record, what)]


async def test_entries_expire(redis: Redis) -> None:
    store = await open_store(redis, audit_lifetime=DAYS)
    long_ago = int((store.clock() - timedelta(days=91)).timestamp() * 1000)
    await redis.xadd(AUDIT, {"v": "1", "user": "U9"}, id=f"{long_ago}-0")
    await redis.xadd(AUDIT, {"v": "1", "user": USER}, id=f"{long_ago + 86_400_000 * 2}-0")
    await redis.expire(AUDIT, 60)
    store.process_clock.redis_ahead = timedelta(0)

    await store.namespace.prune_dead_consumers()

    assert [act.user async for act in finished_turns_since(store.scripts, START - 2 * DAYS)] == [USER]


async def test_each_entry_renews_the_lifetime_of_the_audit(redis: Redis) -> None:
    store = await open_store(redis, audit_lifetime=DAYS)
    await store.conversation()
    taken = await store.process().take()
    await store.process().journal.done(taken, writes=entry(store, taken, "answered"))

    assert 89 < await store.days_left("audit") <= 90


async def test_a_long_audit_is_read_in_order(redis: Redis) -> None:
    base = int(START.timestamp() * 1000)
    for number in range(1200):
        await redis.xadd(AUDIT, {"v": "1", "user": f"U{number}"}, id=f"{base + number // 2}-{number}")
    await redis.expire(AUDIT, 60)

    found = [
        act.user
        async for act in finished_turns_since(Scripts(redis, NAMESPACE, Metrics()), START + timedelta(milliseconds=100))
    ]

    assert found == [f"U{number}" for number in range(200, 1200)]


async def test_editing_a_refused_message_does_not_queue_it(store: Store) -> None:
    notice = Notice(team=TEAM, channel=CHANNEL, user=USER, what="user")
    arrival = Arrival(inbound=notice, message=message())
    await store.process().inbox.put_arrival(arrival)

    assert await store.process().inbox.edit(message("let me in")) == "unknown"

    assert (await store.process().take()).record.body == notice


async def test_a_withdrawal_while_parking_is_not_missed(store: Store) -> None:
    await store.queue()
    process = store.process()
    taken = await process.take()
    await process.inbox.withdraw(message().key)

    assert not await process.journal.park(taken, THREAD)


async def parked(store: Store, first: str = ROOT) -> Process:
    """Create a thread whose *first* message to the bot waits for an agent to be chosen."""
    await store.queue(message(ts=first), condition=Condition.START)
    process = store.process()
    assert await process.journal.park(await process.take(), THREAD)
    return process


@pytest.mark.parametrize("first", [ROOT, ts(1)])
async def test_withdrawing_the_parked_message_wakes_the_lane(store: Store, redis: Redis, first: str) -> None:
    process = await parked(store, first)
    await store.queue(message("more", ts(2)))

    assert await process.inbox.withdraw(key_of(first)) == "withdrawn"

    assert (await process.take()).record.end.startswith("deleted")
    assert await redis.hlen(f"{PREFIX}parked") == 0


async def test_withdrawing_a_message_after_the_parked_one_keeps_it_parked(store: Store) -> None:
    await parked(store)
    await store.queue(message("more", ts(1)))

    assert await store.process().inbox.withdraw(key_of(ts(1))) == "withdrawn"

    assert await store.entries() == 0


async def test_a_message_is_resent_once_however_often_requested(store: Store) -> None:
    turn = await unanswered(store, "my secret words")
    await store.process().inbox.drafts.put(turn, by=TurnId("click"))
    before = await store.dump()

    assert (await store.process().inbox.drafts.put(turn, by=TurnId("click"))).end == "queued", (
        "the click's turn runs again"
    )
    assert (await store.process().inbox.drafts.put(turn, by=TurnId("another click"))).end == "already"

    assert await store.dump() == before
    process = store.process()
    await process.journal.done(await process.take())
    assert not await store.contains_text("my secret words")


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


async def test_two_namespaces_share_nothing(store: Store, redis: Redis) -> None:
    await store.queue()
    before = await store.dump()
    scripts = Scripts(redis, "other", Metrics())
    other = Namespace(scripts, name="other", team="T2", bot=BOT, now=store.clock)

    await other.hold()

    assert {key: value for key, value in (await store.dump()).items() if key.startswith(PREFIX)} == before
