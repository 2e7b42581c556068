"""The receiver: which messages are for the bot, and what happens to them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from bridge.ends.decisions import Received
from bridge.errors import SlackUnreachable
from bridge.ids import own_lane
from bridge.inbound import MessageFile, Notice, Table
from bridge.playground.emulator.sample import BOB, OTHER_BOT, RANDOM, STRANGER
from bridge.queue.put import NotQueued, Queued
from support.harness import NOT_NOW, Harness
from support.store import BOT, CHANNEL, LANE, ROOT, START, THREAD, USER, message, ts

QUEUED = Received("queued")
UNBOUND = Received("unbound", "its thread has no conversation")
OTHERS = Received("ignored", "starts by mentioning someone else")


@pytest.fixture
def harness(harness: Harness) -> Harness:
    harness.store.namespace.since = None  # every thread is new
    return harness


async def receive(harness: Harness, text: str, ts: str = ROOT, **changes: Any) -> Received:
    return await harness.receive(message(text, ts, is_mention=f"<@{BOT}>" in text, **changes))


async def notices(harness: Harness) -> list[str]:
    process = harness.store.process()
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
        ("\u200b\ufe0f \u3164", True, "a new thread", Received("ignored", "no text")),
        ("!stats", False, "a bound thread", QUEUED),
        ("!stats", False, "an unbound thread", UNBOUND),
        ("!stats", False, "a new thread", Received("ignored", "not addressed to the bot")),
        ("!stats", True, "a new thread", QUEUED),
        (f"<@{BOT}> !stats", False, "a new thread", QUEUED),
        ("!help", False, "a new thread", QUEUED),
        ("\uff01Help", False, "an unbound thread", QUEUED),
        ("!help me", False, "a new thread", Received("ignored", "not addressed to the bot")),
        ("\u200b<@U0BOB> look at this", False, "a bound thread", OTHERS),
    ],
)
async def test_a_message_for_the_bot_is_queued(
    harness: Harness, text: str, where: str, expected: Received, *, is_direct: bool
) -> None:
    if where == "a bound thread":
        await harness.store.conversation()

    received = await receive(harness, text, ROOT if where == "a new thread" else ts(1), is_direct=is_direct)

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
async def test_a_reply_is_queued_only_with_a_mention_where_one_is_needed(
    harness: Harness, text: str, expected: Received
) -> None:
    harness.configure(BRIDGE_THREAD_REPLIES="mentions")
    await harness.store.conversation()

    assert await receive(harness, text, ts(1)) == expected


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
        ("hello", "the top", {"user_team": "T2"}, Received("ignored", "its author doesn't have access: stranger")),
        (f"<@{BOT}> hello", "the top", {"user_team": "T2"}, Received("refused", "stranger")),
        (
            "hello",
            "the top",
            {"is_typed": False, "user": OTHER_BOT},
            Received("ignored", "posted by another app's bot"),
        ),
    ],
)
async def test_the_answers_setting_decides_which_messages_count(
    harness: Harness, text: str, where: str, changes: dict[str, Any], expected: Received
) -> None:
    await harness.store.set_channel(answers="all")
    if where == "a bound thread":
        await harness.store.conversation()
    if where == "another channel":
        changes = {**changes, "channel": RANDOM}

    received = await receive(harness, text, ts(1) if where.endswith("thread") else ROOT, **changes)

    assert received == expected
    is_bound = await harness.store.sessions.thread(THREAD) is not None
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
    harness: Harness, everywhere: str, here: str | None, expected: Received
) -> None:
    harness.configure(BRIDGE_THREAD_REPLIES=everywhere)
    await harness.store.set_channel(replies=here)
    await harness.store.conversation()

    assert await receive(harness, "hello", ts(1)) == expected
    assert await receive(harness, f"<@{BOT}> hello", ts(2)) == QUEUED


@pytest.mark.parametrize(
    ("text", "is_in_order"),
    [("hello", True), ("!new", True), ("!stats", False), ("!workflows run 3 x", False), ("!wonderful", True)],
)
async def test_commands_skip_the_queue_except_a_new_session(harness: Harness, text: str, *, is_in_order: bool) -> None:
    first = await harness.store.conversation()

    await receive(harness, text, ts(1))

    box = await harness.store.box()
    assert (len(box) == 2) is is_in_order
    assert await harness.store.entries() == (1 if is_in_order else 2)
    assert box[0] == first


@pytest.mark.parametrize(("text", "binds"), [(f"<@{BOT}> hello", True), (f"<@{BOT}> !stats", False)])
async def test_a_command_starts_no_conversation(harness: Harness, text: str, *, binds: bool) -> None:

    await receive(harness, text)

    assert (await harness.store.sessions.thread(THREAD) is not None) is binds


STRANGERS = "Only members of the bridge's own workspace"


@pytest.mark.parametrize(
    ("rules", "changes", "reason", "notice"),
    [
        ({}, {"user_team": "T2"}, "stranger", STRANGERS),
        ({}, {"user_team": "T2", "is_shared": True}, "stranger", STRANGERS),
        ({}, {"is_shared": True, "user": STRANGER}, "stranger", STRANGERS),
        ({"BRIDGE_ALLOWED_USERS": BOB}, {}, "user", "have access to the bridge"),
        ({"BRIDGE_ALLOWED_CHANNELS": RANDOM}, {}, "channel", "enabled in this channel"),
    ],
)
async def test_a_refused_person_gets_a_private_notice_and_their_text_is_deleted(
    harness: Harness, rules: dict[str, str], changes: dict[str, Any], reason: str, notice: str
) -> None:
    harness.configure(**rules)
    harness.slack.workspace.channels[CHANNEL].members.append(STRANGER)

    received = await receive(harness, f"<@{BOT}> my secret words", **changes)
    assert not await harness.store.contains_text("my secret words")
    await harness.work()

    assert received == Received("refused", reason)
    (posted,) = harness.seen.ephemerals
    assert (posted.user, notice in posted.text) == (changes.get("user", USER), True)
    assert harness.seen.messages == []
    assert await harness.store.sessions.thread(THREAD) is None


async def test_an_unreadable_person_is_neither_accepted_nor_refused(harness: Harness) -> None:
    harness.slack.faults.on("users.info", NOT_NOW)
    before = await harness.store.dump()

    with pytest.raises(SlackUnreachable):
        await receive(harness, f"<@{BOT}> hello", is_shared=True)

    assert await harness.store.dump() == before


async def test_a_mention_in_a_canvas_is_refused_in_private(harness: Harness) -> None:
    said = message("was mentioned in a canvas", ROOT, is_mention=True)

    assert await harness.receiver.mentioned_in_canvas(said) == Received("refused", "canvas")
    assert await notices(harness) == ["canvas"]


async def test_a_stranger_who_mentions_the_bot_in_a_canvas_gets_the_reason(harness: Harness) -> None:
    harness.configure(BRIDGE_ALLOWED_USERS=BOB)

    await harness.receiver.mentioned_in_canvas(message("was mentioned in a canvas", ROOT, is_mention=True))

    assert await notices(harness) == ["user"]


async def test_a_refused_reply_in_a_bound_thread_gets_a_notice(harness: Harness) -> None:
    harness.configure(BRIDGE_ALLOWED_USERS=BOB)
    first = await harness.store.conversation()

    assert await receive(harness, "hello", ts(1)) == Received("refused", "user")

    assert await harness.store.box() == [first]
    assert await harness.store.entries() == 2


async def test_a_message_to_a_full_thread_gets_a_private_notice(harness: Harness) -> None:
    await harness.store.conversation()
    for number in range(1, 50):
        await harness.store.queue(message("x", ts(number)))

    assert await receive(harness, "one too many", ts(50)) == Received("full", "thread_full")

    assert len(await harness.store.box(LANE)) == 50
    assert await receive(harness, "one too many", ts(50)) == Received("duplicate")  # the notice is sent only once
    await harness.work()
    (notice,) = harness.seen.ephemerals
    assert "50 messages are already waiting" in notice.text
    assert (notice.user, notice.message.thread_ts) == (USER, ROOT)
    assert len(harness.service.messages) == 50


@pytest.mark.parametrize(
    ("since", "expected"),
    [(START, QUEUED), (None, UNBOUND), (datetime.fromtimestamp(1_600_000_000, START.tzinfo), UNBOUND)],
    ids=["the thread is older than the store", "the store was never reached", "the thread is younger"],
)
async def test_a_reply_in_a_thread_that_may_have_been_bound_is_queued_for_a_search(
    harness: Harness, since: datetime | None, expected: Received
) -> None:
    harness.store.namespace.since = since

    assert await receive(harness, "hello", ts(1)) == expected

    if expected == QUEUED:
        assert (await harness.store.process().take()).record.searches


async def test_a_thread_is_searched_once(harness: Harness) -> None:
    harness.store.namespace.since = START + timedelta(days=1)
    await harness.store.sessions.mark_searched(THREAD)

    assert await receive(harness, "hello", ts(1)) == UNBOUND


async def test_the_two_events_of_a_mention_are_one_message_in_either_order(harness: Harness) -> None:

    first = await receive(harness, f"<@{BOT}> hello", event_id="Ev1")
    second = await receive(harness, f"<@{BOT}> hello", event_id="Ev2")

    assert (first, second) == (QUEUED, Received("duplicate"))


async def test_an_edit_reaches_the_waiting_message(harness: Harness) -> None:
    await receive(harness, f"<@{BOT}> hello")

    assert await harness.receiver.edited(message("better")) == Received("edited")

    assert (await harness.store.process().take()).record.body == message("better")


async def test_a_command_has_its_own_lane_and_is_deduplicated(harness: Harness) -> None:
    put = await receive(harness, f"<@{BOT}> !stats")
    taken = await harness.store.process().take()

    assert put == QUEUED
    assert taken.record.lane == own_lane(taken.record.id)
    assert await harness.store.put(message("x")) == NotQueued("duplicate", taken.record.id)
    assert isinstance(await harness.store.put(message("y", "1700000090.000100")), Queued)


async def test_the_trace_has_kinds_and_sizes_of_a_messages_parts(harness: Harness) -> None:
    parts = [Table(rows=(("secret", "words"),)), MessageFile(id="F1", kind="text", name="secret.txt", size=12)]

    await receive(harness, f"<@{BOT}> look", parts=parts)

    taken = await harness.store.process().take()
    came = str(await harness.store.field(taken.record.id, "log"))
    assert "it mentions the bot, with a table (1 x 2), a file (text, 12 bytes)" in came
    assert "secret" not in came
