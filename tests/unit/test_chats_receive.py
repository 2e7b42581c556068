"""The receiver: which messages are for the bot, and what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.errors import SlackUnreachable
from bridge.features.access import Access
from bridge.features.conversations.receive import Received, Receiver
from bridge.features.registry import features
from bridge.ids import own_lane
from bridge.inbound import MessageFile, Notice, Table
from bridge.queue.inbox import Duplicate, Queued
from support.store import CHANNEL, LANE, ROOT, START, TEAM, THREAD, USER, Store, a_store, message, ts
from support.turns import BOT, MemoryDirectory

QUEUED = Received("queued")
UNBOUND = Received("unbound", "its thread is not bound")
OTHERS = Received("ignored", "begins by mentioning somebody else")


@dataclass
class Door:
    store: Store
    directory: MemoryDirectory = field(default_factory=MemoryDirectory)
    since: datetime | None = None
    rules: dict[str, frozenset[str]] = field(default_factory=dict)

    def receiver(self) -> Receiver:
        access = Access(home=frozenset({TEAM, "E1"}), directory=self.directory, **self.rules)
        return Receiver(self.store.process().inbox, access, features, self.store.channels, BOT, lambda: self.since)

    async def receive(self, text: str, ts: str = ROOT, **changes: Any) -> Received:
        return await self.receiver().receive(message(text, ts, is_mention=f"<@{BOT}>" in text, **changes))

    async def notices(self) -> list[str]:
        process = self.store.process()
        taken = [await process.take(held) for held in await process.hold()]
        return [one.record.body.what for one in taken if isinstance(one.record.body, Notice)]


@pytest.mark.parametrize(
    ("text", "is_direct", "where", "expected"),
    [
        (f"<@{BOT}> hello", False, "a new thread", QUEUED),
        (f"hello <@{BOT}>", False, "a new thread", QUEUED),
        ("hello", True, "a new thread", QUEUED),
        ("<@U0BOB> is what I ask about", True, "a new thread", QUEUED),
        ("hello", True, "an unbound thread", QUEUED),
        ("hello", False, "a new thread", Received("ignored", "not addressed to the bot")),
        ("hello", False, "a bound thread", QUEUED),
        ("hello", False, "an unbound thread", UNBOUND),
        (f"<@{BOT}> hello", False, "an unbound thread", QUEUED),
        ("<@U0BOB> look at this", False, "a bound thread", OTHERS),
        ("  <@U0BOB|anna> look at this", False, "a bound thread", OTHERS),
        ("<@W2> look at this", False, "a bound thread", OTHERS),
        (f"<@U0BOB> and <@{BOT}>", False, "a bound thread", QUEUED),
        ("look at this, <@U0BOB>", False, "a bound thread", QUEUED),
        (f"<@{BOT}> hello", False, "a bound thread", QUEUED),
        ("   ", False, "a bound thread", Received("ignored", "no text")),
        ("", True, "a new thread", Received("ignored", "no text")),
        ("!stats", False, "a bound thread", QUEUED),
        ("!stats", False, "an unbound thread", UNBOUND),
        ("!stats", False, "a new thread", Received("ignored", "not addressed to the bot")),
        ("!stats", True, "a new thread", QUEUED),
        (f"<@{BOT}> !stats", False, "a new thread", QUEUED),
    ],
)
async def test_who_is_meant(redis: Redis, text: str, where: str, expected: Received, *, is_direct: bool) -> None:
    door = Door(await a_store(redis))
    if where == "a bound thread":
        await door.store.conversation()

    received = await door.receive(text, ROOT if where == "a new thread" else ts(1), is_direct=is_direct)

    assert received == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello", Received("ignored", "replies need a mention here")),
        (f"<@{BOT}> hello", QUEUED),
        ("!stats", QUEUED),
        ("!importantly, hello", Received("ignored", "replies need a mention here")),
    ],
)
async def test_where_replies_need_a_mention(redis: Redis, text: str, expected: Received) -> None:
    door = Door(await a_store(redis))
    door.store.channels.replies = "mentions"
    await door.store.conversation()

    assert await door.receive(text, ts(1)) == expected


@pytest.mark.parametrize(
    ("text", "where", "changes", "expected"),
    [
        ("hello", "the top", {}, QUEUED),
        (f"<@{BOT}> hello", "the top", {}, QUEUED),
        ("!stats", "the top", {}, QUEUED),
        ("look at this, <@U0BOB>", "the top", {}, QUEUED),
        ("<@U0BOB> look at this", "the top", {}, OTHERS),
        ("  ", "the top", {}, Received("ignored", "no text")),
        ("hello", "a bound thread", {}, QUEUED),
        ("hello", "an unbound thread", {}, UNBOUND),
        ("hello", "another channel", {}, Received("ignored", "not addressed to the bot")),
        ("hello", "the top", {"user_team": "T2"}, Received("ignored", "its author has no access: stranger")),
        (f"<@{BOT}> hello", "the top", {"user_team": "T2"}, Received("refused", "stranger")),
        ("hello", "the top", {"is_typed": False, "user": "UAPP"}, Received("ignored", "written by another app's bot")),
    ],
)
async def test_where_every_top_level_message_is_answered(
    redis: Redis, text: str, where: str, changes: dict[str, Any], expected: Received
) -> None:
    door = Door(await a_store(redis))
    door.directory.bots = {"UAPP"}
    await door.store.set_channel(answers="all")
    if where == "a bound thread":
        await door.store.conversation()
    if where == "another channel":
        changes = {**changes, "channel": "C2"}

    received = await door.receive(text, ts(1) if where.endswith("thread") else ROOT, **changes)

    assert received == expected
    is_bound = await door.store.sessions.thread(THREAD) is not None
    assert is_bound is ((expected == QUEUED and text != "!stats") or where == "a bound thread")


@pytest.mark.parametrize(
    ("everywhere", "here", "expected"),
    [
        ("all", None, QUEUED),
        ("all", "mentions", Received("ignored", "replies need a mention here")),
        ("mentions", None, Received("ignored", "replies need a mention here")),
        ("mentions", "all", QUEUED),
    ],
)
async def test_a_channel_decides_which_replies_count(
    redis: Redis, everywhere: Any, here: str | None, expected: Received
) -> None:
    door = Door(await a_store(redis))
    door.store.channels.replies = everywhere
    await door.store.set_channel(replies=here)
    await door.store.conversation()

    assert await door.receive("hello", ts(1)) == expected
    assert await door.receive(f"<@{BOT}> hello", ts(2)) == QUEUED


@pytest.mark.parametrize(
    ("text", "is_in_order"),
    [("hello", True), ("!new", True), ("!stats", False), ("!workflows run 3 x", False), ("!wonderful", True)],
)
async def test_commands_wait_for_nobody_but_a_fresh_start_waits_for_what_was_said_before(
    redis: Redis, text: str, *, is_in_order: bool
) -> None:
    door = Door(await a_store(redis))
    first = await door.store.conversation()

    await door.receive(text, ts(1))

    box = await door.store.box()
    assert (len(box) == 2) is is_in_order
    assert await door.store.entries() == (1 if is_in_order else 2)
    assert box[0] == first


@pytest.mark.parametrize(("text", "binds"), [(f"<@{BOT}> hello", True), (f"<@{BOT}> !stats", False)])
async def test_a_command_starts_no_conversation(redis: Redis, text: str, *, binds: bool) -> None:
    door = Door(await a_store(redis))

    await door.receive(text)

    assert (await door.store.sessions.thread(THREAD) is not None) is binds


@pytest.mark.parametrize(
    ("rules", "changes", "reason"),
    [
        ({}, {"user_team": "T2"}, "stranger"),
        ({}, {"user_team": "T2", "is_shared": True}, "stranger"),
        ({}, {"is_shared": True}, "stranger"),
        ({"allowed_users": frozenset({"U9"})}, {}, "user"),
        ({"allowed_channels": frozenset({"C9"})}, {}, "channel"),
    ],
)
async def test_who_may_not_is_told_in_private_and_nothing_else_is_kept(
    redis: Redis, rules: dict[str, frozenset[str]], changes: dict[str, Any], reason: str
) -> None:
    door = Door(await a_store(redis), rules=rules)

    received = await door.receive(f"<@{BOT}> my secret words", **changes)

    assert received == Received("refused", reason)
    assert await door.notices() == [reason]
    assert not await door.store.holds_words("my secret words")
    assert await door.store.sessions.thread(THREAD) is None


@pytest.mark.parametrize(
    ("rules", "changes"),
    [
        ({}, {"user_team": TEAM}),
        ({}, {"user_team": TEAM, "is_shared": True}),
        ({}, {"user_team": "E1", "is_shared": True}),
        ({"allowed_users": frozenset({USER}), "allowed_channels": frozenset({CHANNEL})}, {}),
    ],
)
async def test_people_of_the_home_workspace_may(
    redis: Redis, rules: dict[str, frozenset[str]], changes: dict[str, Any]
) -> None:
    door = Door(await a_store(redis), rules=rules)
    door.directory.home.add(USER)

    assert await door.receive(f"<@{BOT}> hello", **changes) == QUEUED


async def test_who_cannot_be_judged_is_neither_let_in_nor_turned_away(redis: Redis) -> None:
    door = Door(await a_store(redis))
    door.directory.trouble = SlackUnreachable("users.info")
    before = await door.store.dump()

    with pytest.raises(SlackUnreachable):
        await door.receive(f"<@{BOT}> hello", is_shared=True)

    assert await door.store.dump() == before


async def test_who_mentions_the_bot_in_a_canvas_is_told_that_it_cannot_answer(redis: Redis) -> None:
    door = Door(await a_store(redis))

    received = await door.receiver().mentioned_in_canvas(message("was mentioned in a canvas", ROOT, is_mention=True))

    assert received == Received("refused", "canvas")
    assert await door.notices() == ["canvas"]


async def test_a_stranger_who_mentions_the_bot_in_a_canvas_is_told_why_not(redis: Redis) -> None:
    door = Door(await a_store(redis), rules={"allowed_users": frozenset({"U2"})})

    await door.receiver().mentioned_in_canvas(message("was mentioned in a canvas", ROOT, is_mention=True))

    assert await door.notices() == ["user"]


async def test_a_refused_reply_in_a_thread_that_is_not_ours_is_left_in_peace(redis: Redis) -> None:
    door = Door(await a_store(redis), rules={"allowed_users": frozenset({"U9"})})

    assert await door.receive("hello", ts(1)) == UNBOUND

    assert await door.notices() == []


async def test_a_refused_reply_in_a_bound_thread_is_told(redis: Redis) -> None:
    door = Door(await a_store(redis), rules={"allowed_users": frozenset({"U9"})})
    first = await door.store.conversation()

    assert await door.receive("hello", ts(1)) == Received("refused", "user")

    assert await door.store.box() == [first]
    assert await door.store.entries() == 2


async def test_a_message_that_finds_its_thread_full_is_refused_in_private(redis: Redis) -> None:
    door = Door(await a_store(redis))
    await door.store.conversation()
    for number in range(1, 50):
        await door.store.queue(message("x", ts(number)))

    assert await door.receive("one too many", ts(50)) == Received("full", "thread_full")

    assert len(await door.store.box(LANE)) == 50
    assert await door.notices() == ["thread_full"]
    assert await door.receive("one too many", ts(50)) == Received("duplicate")  # it is told once


@pytest.mark.parametrize(
    ("since", "expected"),
    [(START, QUEUED), (None, UNBOUND), (datetime.fromtimestamp(1_600_000_000, START.tzinfo), UNBOUND)],
    ids=["the thread is older than the store", "the store was never reached", "the thread is younger"],
)
async def test_a_reply_in_a_thread_that_may_have_been_bound_is_kept_to_be_searched(
    redis: Redis, since: datetime | None, expected: Received
) -> None:
    door = Door(await a_store(redis), since=since)

    assert await door.receive("hello", ts(1)) == expected

    if expected == QUEUED:
        assert (await door.store.process().take()).record.searches


async def test_a_thread_is_searched_once(redis: Redis) -> None:
    door = Door(await a_store(redis), since=START + timedelta(days=1))
    await door.store.sessions.mark_searched(THREAD)

    assert await door.receive("hello", ts(1)) == UNBOUND


async def test_the_two_events_of_a_mention_are_one_message_in_either_order(redis: Redis) -> None:
    door = Door(await a_store(redis))

    first = await door.receive(f"<@{BOT}> hello", event_id="Ev1")
    second = await door.receive(f"<@{BOT}> hello", event_id="Ev2")

    assert (first, second) == (QUEUED, Received("duplicate"))


async def test_an_edit_reaches_the_message_that_waits(redis: Redis) -> None:
    door = Door(await a_store(redis))
    await door.receive(f"<@{BOT}> hello")

    assert await door.receiver().edited(message("better")) == Received("edited")

    assert (await door.store.process().take()).record.body == message("better")


async def test_a_command_has_a_lane_of_its_own_and_is_seen_like_any_message(redis: Redis) -> None:
    door = Door(await a_store(redis))
    put = await door.receive(f"<@{BOT}> !stats")
    taken = await door.store.process().take()

    assert put == QUEUED
    assert taken.record.lane == own_lane(taken.record.id)
    assert await door.store.put(message("x")) == Duplicate(taken.record.id)
    assert isinstance(await door.store.put(message("y", "1700000090.000100")), Queued)


async def test_the_trace_knows_kinds_and_sizes_of_what_is_in_a_message(redis: Redis) -> None:
    door = Door(await a_store(redis))
    parts = [Table(rows=(("secret", "words"),)), MessageFile(id="F1", kind="text", name="secret.txt", size=12)]

    await door.receive(f"<@{BOT}> look", parts=parts)

    taken = await door.store.process().take()
    came = str(await door.store.field(taken.record.id, "came"))
    assert "it mentions the bot, with a table (1 x 2), a file (text, 12 bytes)" in came
    assert "secret" not in came
