"""Slack's retries of refused events, arriving after later messages, edits and deletions, or before replies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.cli.trace import steps_of
from bridge.playground.emulator.faults import Error, RateLimited
from bridge.playground.emulator.sample import OTHER_TEAM, STRANGER
from bridge.queue.trace import trace_of
from support import real_redis
from support.front_door import FrontDoor, a_front_door
from support.harness import READ, SALES, SUPPORT
from support.saying import US
from support.store import CHANNEL, LANE, PREFIX, ROOT, START, THREAD, USER, a_store, key_of, ts
from support.waiting import wait_until

BOT = US.bot_user


@pytest.fixture
async def door(redis: Redis) -> AsyncIterator[FrontDoor]:
    async with a_front_door(redis) as door:
        door.harness.store.namespace.since = None  # every thread is new
        yield door


def said(text: str, at: str = ROOT, **changes: Any) -> dict[str, Any]:
    """The event of a message; unless its ts is `ROOT`, a reply in the thread."""
    event = {
        "type": "app_mention" if f"<@{BOT}>" in text else "message", "channel": CHANNEL, "user": USER, "text": text,
        "ts": at, "event_ts": at, "client_msg_id": f"c{at}",
    }  # fmt: skip
    return event | ({} if at == ROOT else {"thread_ts": ROOT}) | changes


async def sent(door: FrontDoor, event: dict[str, Any], event_id: str = "", retry: int = 0) -> int:
    """Send *event* as Slack does; *retry* is the number of the retry."""
    headers = [(b"x-slack-retry-num", b"%d" % retry)] if retry else []
    known = {"event_id": event_id or f"Ev{event['ts']}", "is_ext_shared_channel": False}
    return (await door.event(event, *headers, **known)).status


def deleted(at: str, now: str = ts(9)) -> dict[str, Any]:
    """The event of a deletion."""
    return {
        "type": "message", "subtype": "message_deleted", "channel": CHANNEL, "ts": now, "event_ts": now,
        "deleted_ts": at, "hidden": True,
    }  # fmt: skip


def changed(text: str, at: str = ROOT, after: float = 5.0, was: str = f"<@{BOT}> old") -> dict[str, Any]:
    """The event of an edit, *after* seconds later."""
    now = f"{float(at) + after:.6f}"
    return {
        "type": "message", "subtype": "message_changed", "channel": CHANNEL, "ts": now, "event_ts": now, "hidden": True,
        "message": said(text, at, type="message") | {"edited": {"user": USER, "ts": _seconds(now)}},
        "previous_message": said(was, at, type="message"),
    }  # fmt: skip


def mentioned_again(text: str, at: str = ROOT, after: float = 5.0) -> dict[str, Any]:
    """The mention event that follows an edit: it has the original ts."""
    return said(f"<@{BOT}> {text}", at, edited={"user": USER, "ts": _seconds(f"{float(at) + after:.6f}")})


def _seconds(moment: str) -> str:
    return f"{moment.partition('.')[0]}.000000"


@contextmanager
def away(door: FrontDoor) -> Iterator[None]:
    """Make Redis unavailable."""
    with real_redis.away(door.harness.store.redis):
        yield


async def traced(door: FrontDoor, at: str, count: int = 1) -> list[str]:
    """Return the decisions in a message's trace once there are *count*."""

    async def steps() -> list[str]:
        known = steps_of(await trace_of(door.harness.store.scripts, key_of(at)))
        return [step.detail for step in known if step.what == "decided"]

    async def are_there() -> bool:
        return len(await steps()) >= count

    await wait_until(are_there, "the decisions are in the trace")
    return await steps()


async def test_a_late_message_goes_before_newer_ones(door: FrontDoor) -> None:
    await sent(door, said(f"<@{BOT}> begin"))
    await sent(door, said("third", ts(3)))
    await sent(door, said("second", ts(2)))

    await sent(door, said("first", ts(1)), retry=1)
    await door.harness.work()

    assert door.harness.service.messages == ["begin", "first", "second", "third"]


async def test_a_late_message_goes_after_one_that_was_sent(door: FrontDoor) -> None:
    await sent(door, said(f"<@{BOT}> begin"))
    await door.harness.work()
    await sent(door, said("second", ts(2)))
    door.harness.service.gate.clear()
    work = await door.harness.begin()
    await door.wait_until_asked(2)

    await sent(door, said("first", ts(1)), retry=1)
    door.harness.service.gate.set()
    await work
    await door.harness.work()

    assert door.harness.service.messages == ["begin", "second", "first"]
    assert len(door.harness.seen.words) == 3


async def test_a_late_message_goes_before_one_waiting_for_a_choice(door: FrontDoor) -> None:
    door.harness.service.agents = [SUPPORT, SALES]
    await sent(door, said(f"<@{BOT}> second", ts(2)))
    await door.harness.work()

    await sent(door, said(f"<@{BOT}> first", ts(1)), retry=1)
    await door.harness.store.sessions.choose_agent(THREAD, 8)
    await door.harness.work()

    assert [words.rpartition("\n")[2] for words in door.harness.service.messages] == ["first", "second"]
    assert len(door.harness.seen.replies("bridge_menu")) == 1


@pytest.mark.parametrize("is_withdrawn", ["first", "second"])
async def test_a_menu_of_a_deleted_message_is_shown_again_for_the_next(door: FrontDoor, is_withdrawn: str) -> None:
    door.harness.service.agents = [SUPPORT, SALES]
    await sent(door, said(f"<@{BOT}> second", ts(2)))
    await door.harness.work()
    await sent(door, said(f"<@{BOT}> first", ts(1)), retry=1)

    await sent(door, deleted(ts(1) if is_withdrawn == "first" else ts(2)), "Ev-deleted")
    await door.harness.work()
    await door.harness.store.sessions.choose_agent(THREAD, 8)
    await door.harness.work()

    left = "second" if is_withdrawn == "first" else "first"
    assert [words.rpartition("\n")[2] for words in door.harness.service.messages] == [left]


async def test_a_late_message_from_before_a_stop_is_held_and_goes_first(door: FrontDoor) -> None:
    await sent(door, said(f"<@{BOT}> begin"))
    await sent(door, said("second", ts(2)))
    stops = door.harness.store.process().inbox.stops
    stopped = await stops.stop(LANE, ts(5))
    await door.harness.work()

    await sent(door, said("first", ts(1)), retry=1)
    await door.harness.work()
    before = list(door.harness.service.messages)
    await stops.resume(LANE, by=stopped.turn, drop=False)
    await door.harness.work()

    assert before == []
    assert door.harness.service.messages == ["first", "second"]


async def test_a_resent_message_is_not_overtaken(door: FrontDoor) -> None:
    await sent(door, said(f"<@{BOT}> begin"))
    await sent(door, said("third", ts(3)))
    inbox = door.harness.store.process().inbox
    stopped = await inbox.stops.stop(LANE, ts(4), only=key_of(ts(3)))
    assert await inbox.again(stopped.turn) == "queued"

    await sent(door, said("second", ts(2)), retry=1)
    await door.harness.work()

    assert door.harness.service.messages == ["begin", "third", "second"]


async def test_the_trace_says_that_a_message_was_put_before_later_ones(door: FrontDoor) -> None:
    await sent(door, said(f"<@{BOT}> begin"))
    await sent(door, said("second", ts(2)))

    await sent(door, said("first", ts(1)), retry=1)

    (turn,) = (await trace_of(door.harness.store.scripts, key_of(ts(1)))).turns
    assert (turn.behind, turn.overtakes, turn.ahead) == (1, 1, 1)


# Edits


@pytest.mark.parametrize("again", [mentioned_again("new"), changed(f"<@{BOT}> new")], ids=["mention", "change"])
async def test_an_edit_of_a_refused_message_is_sent_once(door: FrontDoor, again: dict[str, Any]) -> None:
    with away(door):
        assert await sent(door, said(f"<@{BOT}> old")) == 503

    assert await sent(door, again, "Ev-edit") == 200
    assert await sent(door, said(f"<@{BOT}> old"), retry=2) == 200
    await door.harness.work()

    assert door.harness.service.messages == ["new"]


@pytest.mark.parametrize("first", ["mention", "change"])
async def test_the_two_events_of_an_edit_start_one_turn_and_offer_nothing(door: FrontDoor, first: str) -> None:
    twins = {"mention": mentioned_again("new"), "change": changed(f"<@{BOT}> new", was="new")}

    await sent(door, twins.pop(first), "Ev-first")
    await door.harness.work()
    await sent(door, twins.popitem()[1], "Ev-second")
    await door.harness.work()

    assert door.harness.service.messages == ["new"]
    assert door.harness.seen.whispers == []


async def test_the_two_events_of_an_edit_after_sending_are_offered_once(door: FrontDoor) -> None:
    await sent(door, said(f"<@{BOT}> old"))
    await door.harness.work()

    await sent(door, mentioned_again("new"), "Ev-mention")
    await sent(door, changed(f"<@{BOT}> new"), "Ev-change")
    await door.harness.work()

    assert door.harness.service.messages == ["old"]
    assert len(door.harness.seen.whispers) == 1


async def test_an_edit_that_slack_retries_does_not_undo_a_later_one(door: FrontDoor) -> None:
    await sent(door, said(f"<@{BOT}> old"))
    await sent(door, changed(f"<@{BOT}> newest", after=9), "Ev-second")

    await sent(door, changed(f"<@{BOT}> new", after=5), "Ev-first", retry=2)
    await door.harness.work()

    assert door.harness.service.messages == ["newest"]


SECOND_AFTER = str(int(float(ROOT)) + 5)
WEEK = 7 * 24 * 3600.0


@pytest.mark.parametrize(("after", "asked"), [(WEEK - 7200, ["new"]), (WEEK, []), (90 * 24 * 3600.0, [])])
async def test_an_edit_of_an_unknown_mention_starts_it_once(door: FrontDoor, after: float, asked: list[str]) -> None:
    for number in range(2):
        assert await sent(door, mentioned_again("new", after=after), f"Ev{number}", retry=number) == 200
        await door.harness.work()

    assert door.harness.service.messages == asked


async def test_the_trace_says_why_an_edit_of_an_old_mention_starts_nothing(door: FrontDoor) -> None:
    await sent(door, mentioned_again("new", after=WEEK + 1))

    assert await traced(door, ROOT) == ["not for an agent: edited more than seven days after it was written"]


async def test_a_stranger_cannot_start_anything_by_an_edit(door: FrontDoor) -> None:
    event = mentioned_again("let me in") | {"user_team": "TOTHER"}

    assert await sent(door, event) == 200
    await door.harness.work()

    assert door.harness.service.messages == []


async def test_an_edit_that_removes_the_mention_of_a_refused_message_withdraws_it(door: FrontDoor) -> None:
    with away(door):
        await sent(door, said(f"<@{BOT}> old"))

    await sent(door, changed("never mind"), "Ev-edit")
    assert await sent(door, said(f"<@{BOT}> old"), retry=2) == 200
    await door.harness.work()

    assert door.harness.service.messages == []
    assert await traced(door, ROOT) == [
        "not for an agent: it was edited before Slack resent it, and this is the earlier text"
    ]


async def test_a_refused_edit_is_waited_for(door: FrontDoor) -> None:
    with away(door):
        await sent(door, said(f"<@{BOT}> old"))
        assert await sent(door, changed(f"<@{BOT}> new"), "Ev-edit") == 503

    root = await sent(door, said(f"<@{BOT}> old"), retry=2)
    edit = await sent(door, changed(f"<@{BOT}> new"), "Ev-edit", retry=2)
    root_again = await sent(door, said(f"<@{BOT}> old"), retry=3)
    await door.harness.work()

    assert (root, edit, root_again) == (503, 200, 200)
    assert door.harness.service.messages == ["new"]


async def test_a_message_is_sent_if_its_edit_never_comes(door: FrontDoor) -> None:
    with away(door):
        await sent(door, said(f"<@{BOT}> old"))
        await sent(door, changed(f"<@{BOT}> new"), "Ev-edit")

    assert await sent(door, said(f"<@{BOT}> old"), retry=3) == 200
    await door.harness.work()

    assert door.harness.service.messages == ["old"]


async def test_an_edit_of_a_refused_reply_is_sent(door: FrontDoor) -> None:
    await sent(door, said(f"<@{BOT}> begin"))
    with away(door):
        await sent(door, said("old", ts(1)))

    await sent(door, changed("new", ts(1), was="old"), "Ev-edit")
    await sent(door, said("old", ts(1)), retry=2)
    await door.harness.work()

    assert door.harness.service.messages == ["begin", "new"]


async def test_an_edit_of_a_message_before_the_first_mention_is_ignored(door: FrontDoor) -> None:
    await sent(door, said("just talk", ts(1)))
    await sent(door, said(f"<@{BOT}> help", ts(2)))

    await sent(door, changed("just some talk", ts(1), was="just talk"), "Ev-edit")
    await door.harness.work()

    assert len(door.harness.service.messages) == 1
    assert not await door.harness.store.holds_words("just some talk")


# Deletions


@pytest.mark.parametrize("at", [ROOT, ts(1)], ids=["mention", "reply"])
async def test_a_message_deleted_before_slacks_retry_is_dropped(door: FrontDoor, at: str) -> None:
    event = said(f"<@{BOT}> oh no") if at == ROOT else said("oh no", at)
    if at != ROOT:
        await sent(door, said(f"<@{BOT}> begin"))
        await door.harness.work()
    with away(door):
        await sent(door, event)

    await sent(door, deleted(at), "Ev-deleted")
    assert await sent(door, event, retry=2) == 200
    await door.harness.work()

    assert "oh no" not in door.harness.service.messages
    assert await traced(door, at) == ["not for an agent: it was deleted before Slack resent it"]


async def test_a_refused_deletion_applies_to_the_retried_message(door: FrontDoor) -> None:
    with away(door):
        await sent(door, said(f"<@{BOT}> oh no"))
        assert await sent(door, deleted(ROOT), "Ev-deleted") == 503

    assert await sent(door, said(f"<@{BOT}> oh no"), retry=1) == 200
    await sent(door, deleted(ROOT), "Ev-deleted", retry=1)
    await door.harness.work()

    assert door.harness.service.messages == []


async def test_a_refused_deletion_reaches_other_processes(door: FrontDoor) -> None:
    store = door.harness.store
    with away(door):
        await sent(door, deleted(ROOT), "Ev-deleted")

    await wait_until(lambda: store.redis.exists(f"{PREFIX}seen:m:{key_of(ROOT)}"), "the tombstone is saved")

    assert 0 < await store.redis.pttl(f"{PREFIX}seen:m:{key_of(ROOT)}") <= 15 * 60 * 1000


async def test_a_deleted_old_message_leaves_no_mark(door: FrontDoor) -> None:
    before = await door.keys()

    await sent(door, deleted(ROOT, f"{float(ROOT) + 601:.6f}"), "Ev-deleted")

    assert await door.keys() == before


# Replies to a refused root


def reads(door: FrontDoor, *events: dict[str, Any]) -> None:
    """Write the root and *events* to the thread's history."""
    door.harness.write(ROOT, f"<@{BOT}> begin")
    for one in events:
        changes = {"edited": one["edited"]} if "edited" in one else {}
        door.harness.write(one["ts"], one["text"], user=one["user"], thread_ts=ROOT, **changes)


async def refused_root(door: FrontDoor) -> None:
    with away(door):
        assert await sent(door, said(f"<@{BOT}> begin")) == 503


async def test_a_reply_to_a_refused_root_is_refused_until_the_root_arrives(door: FrontDoor) -> None:
    await refused_root(door)

    early = [await sent(door, said("and this", ts(1)), retry=retry) for retry in range(3)]
    root = await sent(door, said(f"<@{BOT}> begin"), retry=2)
    reply = await sent(door, said("and this", ts(1)), retry=3)
    await door.harness.work()

    assert (early, root, reply) == ([503] * 3, 200, 200)
    assert door.harness.service.messages == ["begin", "and this"]


async def test_a_reply_without_further_retries_is_read_when_its_root_arrives(door: FrontDoor) -> None:
    second, first = said("second", ts(2)), said("first, changed since", ts(1), edited={"user": USER, "ts": ts(5)})
    reads(door, first, second)
    await refused_root(door)

    kept = [await sent(door, said("second", ts(2)), retry=3), await sent(door, said("first", ts(1)), retry=3)]
    assert not await door.harness.store.holds_words("second")
    await sent(door, said(f"<@{BOT}> begin"), retry=3)
    await door.harness.work()

    assert kept == [200, 200]
    assert door.harness.service.messages == ["begin", "first, changed since", "second"]
    (asked,) = (call.args for call in door.harness.seen.called(READ))
    assert (asked["ts"], asked["oldest"], asked["latest"]) == (ROOT, ts(1), ts(2))
    assert await traced(door, ts(2), 2) == [
        "not yet: it's read again once its thread's first message arrives, within ten minutes",
        "a reply in a thread with a conversation",
    ]


async def test_a_stored_reply_waits_until_slack_lets_it_be_read(door: FrontDoor) -> None:
    reads(door, said("first", ts(1)))
    door.harness.slack.faults.on(READ, RateLimited(7))
    await refused_root(door)
    await sent(door, said("first", ts(1)), retry=3)

    await sent(door, said(f"<@{BOT}> begin"), retry=3)
    await door.harness.work()

    assert door.harness.service.messages == ["begin", "first"]
    assert 7 in door.harness.slept


async def test_stored_replies_are_read_with_limited_history(door: FrontDoor) -> None:
    replies = [said(f"reply {number:02d}", ts(number)) for number in range(1, 41)]
    reads(door, *replies)

    async def time_passes() -> None:
        door.harness.store.clock.time += timedelta(seconds=door.harness.slept[-1])

    door.harness.on_sleep = time_passes
    door.harness.slack.limits_history = True
    await refused_root(door)
    for one in replies:
        await sent(door, one, retry=3)

    await sent(door, said(f"<@{BOT}> begin"), retry=3)
    await door.harness.work()

    assert door.harness.service.messages == ["begin", *(one["text"] for one in replies)]
    assert len(door.harness.seen.called(READ)) <= 2 * 3


async def test_a_deleted_or_unreadable_stored_reply_is_skipped(door: FrontDoor) -> None:
    door.harness.slack.faults.on(READ, Error("missing_scope"))
    await refused_root(door)
    await sent(door, said("first", ts(1)), retry=3)

    await sent(door, said(f"<@{BOT}> begin"), retry=3)
    await door.harness.work()

    assert door.harness.service.messages == ["begin"]


async def test_a_stored_reply_of_a_stranger_is_refused_with_a_notice(door: FrontDoor) -> None:
    workspace = door.harness.slack.workspace
    workspace.enter(STRANGER, workspace.channels[CHANNEL])
    stranger = said("let me in", ts(1), user=STRANGER, user_team=OTHER_TEAM)
    reads(door, stranger)
    await refused_root(door)

    assert await sent(door, stranger, retry=2) == 503
    assert await sent(door, stranger, retry=3) == 200
    await sent(door, said(f"<@{BOT}> begin"), retry=3)
    await door.harness.work()

    assert door.harness.service.messages == ["begin"]
    assert [one.user for one in door.harness.seen.whispers] == [STRANGER]


@pytest.mark.parametrize(
    ("written", "status"),
    [(-5.0, 200), (5.0, 503), (9.0, 503), (15.0, 200)],
    ids=["before", "", "just before", "after"],
)
async def test_a_root_written_while_no_bridge_ran_is_waited_for(door: FrontDoor, written: float, status: int) -> None:
    store, began = door.harness.store, START.timestamp()
    store.clock.time = START + timedelta(seconds=10)

    await (await a_store(store.redis, store.clock)).namespace.hold()  # a starting process

    root, reply = f"{began + written:.6f}", f"{began + written + 30:.6f}"
    assert await sent(door, said("and this", reply, thread_ts=root)) == status


async def test_a_stored_reply_expires_after_ten_minutes(door: FrontDoor) -> None:
    await refused_root(door)
    await sent(door, said("first", ts(1)), retry=3)

    (kept,) = [key for key in await door.keys() if ":kept:" in key]
    assert 0 < await door.harness.store.redis.pttl(kept) <= 10 * 60 * 1000


@pytest.mark.parametrize(
    ("root", "reply"),
    [
        (f"{float(ROOT) + 3:.6f}", f"{float(ROOT) + 4:.6f}"),  # nothing was refused when its root was written
        (ROOT, f"{float(ROOT) + 600:.6f}"),  # Slack no longer retries its root
    ],
)
async def test_an_unrelated_reply_in_an_unbound_thread_is_ignored(door: FrontDoor, root: str, reply: str) -> None:
    await refused_root(door)

    assert await sent(door, said("just talk", reply, thread_ts=root)) == 200

    assert await traced(door, reply) == ["not for an agent: its thread has no conversation"]
    assert not [key for key in await door.keys() if ":kept:" in key]


async def test_a_reply_to_a_deleted_root_is_ignored(door: FrontDoor) -> None:
    await refused_root(door)
    await sent(door, deleted(ROOT), "Ev-deleted")

    assert await sent(door, said("and this", ts(1))) == 200


async def test_a_refused_reply_does_not_cause_others_to_be_refused(door: FrontDoor) -> None:
    await refused_root(door)
    late = f"{float(ROOT) + 30:.6f}"
    assert await sent(door, said("and this", late)) == 503

    later = f"{float(ROOT) + 31:.6f}"
    assert await sent(door, said("others talk", later, thread_ts=late)) == 200


async def test_an_edited_reply_to_a_refused_root_is_sent_with_its_new_text(door: FrontDoor) -> None:
    reads(door, said("new", ts(1), edited={"user": USER, "ts": f"{SECOND_AFTER}.000000"}))
    await refused_root(door)
    assert await sent(door, said("old", ts(1))) == 503

    edit = await sent(door, changed("new", ts(1), was="old"), "Ev-edit")
    await sent(door, said(f"<@{BOT}> begin"), retry=2)
    reply = await sent(door, said("old", ts(1)), retry=2)
    await door.harness.work()

    assert (edit, reply) == (200, 200)
    assert door.harness.service.messages == ["begin", "new"]


async def test_over_a_socket_a_reply_to_a_refused_root_is_acknowledged_only_with_its_root(door: FrontDoor) -> None:
    with away(door):
        assert await door.envelope("events_api", enveloped(said(f"<@{BOT}> begin"))) is None

    early = await door.envelope("events_api", enveloped(said("and this", ts(1)), retry=1))
    root = await door.envelope("events_api", enveloped(said(f"<@{BOT}> begin"), retry=2))
    reply = await door.envelope("events_api", enveloped(said("and this", ts(1)), retry=2))
    await door.harness.work()

    assert (early, root, reply) == (None, {"envelope_id": "e1"}, {"envelope_id": "e1"})
    assert door.harness.service.messages == ["begin", "and this"]


def enveloped(event: dict[str, Any], retry: int = 0) -> dict[str, Any]:
    """An envelope's content, as `bridge.slack.sockets` passes it on."""
    payload = {"type": "event_callback", "event_id": f"Ev{event['ts']}", "event": event, "retry_attempt": retry}
    return payload | {"is_ext_shared_channel": False}
