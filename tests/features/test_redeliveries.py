"""Slack's retries of refused events, arriving after later messages, edits and deletions, or before replies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from zlib import crc32

import pytest

from bridge.cli.trace import steps_of
from bridge.ids import TurnId
from bridge.inbound import InboundMessage
from bridge.playground.emulator.faults import Error, RateLimited
from bridge.playground.emulator.sample import OTHER_TEAM, STRANGER
from bridge.queue.trace import trace_of
from support import real_redis
from support.harness import READ, SALES, SUPPORT, Harness
from support.sample_posts import US
from support.store import CHANNEL, LANE, PREFIX, ROOT, START, THREAD, USER, key_of, open_store, ts
from support.waiting import wait_until

BOT = US.bot_user


@pytest.fixture
def harness(harness: Harness) -> Harness:
    harness.store.namespace.since = None  # every thread is new
    harness.store.clock.time = datetime.fromtimestamp(float(ROOT) + 20, UTC)
    return harness


def said(text: str, at: str = ROOT, **changes: Any) -> dict[str, Any]:
    """The event of a message; unless its ts is `ROOT`, a reply in the thread."""
    event = {
        "type": "app_mention" if f"<@{BOT}>" in text else "message", "channel": CHANNEL, "user": USER, "text": text,
        "ts": at, "event_ts": at, "client_msg_id": f"c{at}",
    }  # fmt: skip
    return event | ({} if at == ROOT else {"thread_ts": ROOT}) | changes


async def sent(harness: Harness, event: dict[str, Any], event_id: str = "", retry: int = 0) -> int:
    """Send *event* as Slack does; *retry* is the number of the retry."""
    headers = [(b"x-slack-retry-num", b"%d" % retry)] if retry else []
    known = {"event_id": event_id or f"Ev{event['ts']}", "is_ext_shared_channel": False}
    return (await harness.event(event, *headers, **known)).status


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
def redis_unavailable(harness: Harness) -> Iterator[None]:
    """Make Redis unavailable."""
    with real_redis.refused_commands(harness.store.redis):
        yield


async def traced(harness: Harness, at: str, count: int = 1) -> list[str]:
    """Return the decisions in a message's trace once there are *count*."""

    async def steps() -> list[str]:
        known = steps_of(await trace_of(harness.store.scripts, key_of(at)))
        return [step.detail for step in known if step.what == "decided"]

    async def are_there() -> bool:
        return len(await steps()) >= count

    await wait_until(are_there, "the decisions are in the trace")
    return await steps()


def reads(harness: Harness, *events: dict[str, Any]) -> None:
    """Write the root and *events* to the thread's history."""
    harness.write(ROOT, f"<@{BOT}> begin")
    for one in events:
        changes = {"edited": one["edited"]} if "edited" in one else {}
        harness.write(one["ts"], one["text"], user=one["user"], thread_ts=ROOT, **changes)


class Step(NamedTuple):
    """What Slack sends, and how it is answered."""

    event: dict[str, Any]
    retry: int = 0
    status: int = 200
    is_redis_away: bool = False


def away(event: dict[str, Any]) -> Step:
    """Slack sends *event* while Redis is unavailable."""
    return Step(event, status=503, is_redis_away=True)


BEGIN, OLD, EDIT = said(f"<@{BOT}> begin"), said(f"<@{BOT}> old"), changed(f"<@{BOT}> new")
FIRST, SECOND, THIRD = said("first", ts(1)), said("second", ts(2)), said("third", ts(3))
OLD_REPLY, EDITED_REPLY = said("old", ts(1)), changed("new", ts(1), was="old")
IN_HISTORY = said("new", ts(1), edited={"user": USER, "ts": _seconds(f"{float(ROOT) + 5:.6f}")})
SCENARIOS: dict[str, tuple[list[dict[str, Any]], list[Step], list[str]]] = {  # history, steps, what the agent gets
    "a late message goes before newer ones": (
        [], [Step(BEGIN), Step(THIRD), Step(SECOND), Step(FIRST, 1)], ["begin", "first", "second", "third"],
    ),
    "a refused message is sent as its mention was edited": (
        [], [away(OLD), Step(mentioned_again("new")), Step(OLD, 2)], ["new"],
    ),
    "a refused message is sent as it was edited": ([], [away(OLD), Step(EDIT), Step(OLD, 2)], ["new"]),
    "an edit that Slack retries does not undo a later one": (
        [], [Step(OLD), Step(changed(f"<@{BOT}> newest", after=9)), Step(EDIT, 2)], ["newest"],
    ),
    "a message waits for its refused edit": (
        [], [away(OLD), away(EDIT), Step(OLD, 2, 503), Step(EDIT, 2), Step(OLD, 3)], ["new"],
    ),
    "a message is sent if its edit never comes": ([], [away(OLD), away(EDIT), Step(OLD, 3)], ["old"]),
    "an edit of a refused reply is sent": (
        [], [Step(BEGIN), away(OLD_REPLY), Step(EDITED_REPLY), Step(OLD_REPLY, 2)], ["begin", "new"],
    ),
    "an edit that overtakes its message is sent once": (
        [], [Step(EDIT), Step(OLD), Step(OLD, 1), Step(EDIT, 1)], ["new"],
    ),
    "an edit is sent if its message never comes": ([], [Step(EDIT), Step(EDIT, 1)], ["new"]),
    "an edit that overtakes its reply is sent once": (
        [], [Step(BEGIN), Step(EDITED_REPLY), Step(OLD_REPLY), Step(EDITED_REPLY, 1)], ["begin", "new"],
    ),
    "an edit is sent if its reply never comes": (
        [], [Step(BEGIN), Step(EDITED_REPLY), Step(EDITED_REPLY, 1)], ["begin", "new"],
    ),
    "of two edits that overtake their reply the newest is sent": (
        [], [Step(BEGIN), Step(changed("newest", ts(1), after=9, was="new")), Step(EDITED_REPLY), Step(OLD_REPLY)],
        ["begin", "newest"],
    ),
    "a refused edit that overtakes its reply is sent once": (
        [], [Step(BEGIN), away(EDITED_REPLY), Step(OLD_REPLY, status=503), Step(EDITED_REPLY, 1), Step(OLD_REPLY, 1)],
        ["begin", "new"],
    ),
    "a reply before the edit of a refused mention is sent": (
        [], [
            away(said(f"<@{BOT}> old", ts(1))), away(SECOND), Step(changed(f"<@{BOT}> new", ts(1))), Step(SECOND, 1),
        ], ["new", "second"],
    ),
    "a deleted reply is not sent although an edit overtook it": (
        [], [Step(BEGIN), Step(EDITED_REPLY), Step(deleted(ts(1))), Step(OLD_REPLY)], ["begin"],
    ),
    "a refused deletion applies to the retried message": (
        [], [away(OLD), away(deleted(ROOT)), Step(OLD, 1), Step(deleted(ROOT), 1)], [],
    ),
    "a reply to a refused root is refused until the root arrives": (
        [], [away(BEGIN), Step(FIRST, status=503), Step(FIRST, 2, 503), Step(BEGIN, 2), Step(FIRST, 3)],
        ["begin", "first"],
    ),
    # From here on, a killed process had got the root.
    "replies that overtook a resent root are read with it": (
        [FIRST], [Step(FIRST), Step(BEGIN, 1)], ["begin", "first"],
    ),
    "an edited reply that overtook a resent root is read": (
        [IN_HISTORY], [Step(OLD_REPLY), Step(EDITED_REPLY), Step(BEGIN, 1), Step(OLD_REPLY, 1)], ["begin", "new"],
    ),
    "a deleted reply that overtook a resent root is not sent although the history lags": (
        [FIRST], [Step(FIRST), Step(deleted(ts(1))), Step(BEGIN, 1)], ["begin"],
    ),
    "a reply does not overtake one before its resent root": (
        [FIRST, SECOND], [Step(FIRST), Step(BEGIN, 1), Step(SECOND), Step(FIRST, 1)], ["begin", "first", "second"],
    ),
    "replies before a second mention are read with a resent root": (
        [FIRST, said(f"<@{BOT}> hello?", ts(2))], [Step(FIRST), Step(said(f"<@{BOT}> hello?", ts(2))), Step(BEGIN, 2)],
        ["begin", "first", "hello?"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("history", "steps", "messages"), SCENARIOS.values(), ids=SCENARIOS.keys())
async def test_whatever_slack_repeats_is_sent_once_in_order(
    harness: Harness, history: list[dict[str, Any]], steps: list[Step], messages: list[str]
) -> None:
    if history:
        reads(harness, *history)
    for event, retry, status, is_redis_away in steps:
        event_id = f"Ev{crc32(json.dumps(event).encode())}"
        with redis_unavailable(harness) if is_redis_away else nullcontext():
            assert await sent(harness, event, event_id, retry) == status
    await harness.work()

    assert [words.rpartition("\n")[2] for words in harness.service.messages] == messages
    assert harness.seen.ephemerals == []


async def test_a_late_message_goes_after_one_that_was_sent(harness: Harness) -> None:
    await sent(harness, said(f"<@{BOT}> begin"))
    await harness.work()
    await sent(harness, said("second", ts(2)))
    harness.service.gate.clear()
    work = await harness.start_next()
    await wait_until(lambda: len(harness.service.asked) == 2, "the agent is asked")

    await sent(harness, said("first", ts(1)), retry=1)
    harness.service.gate.set()
    await work
    await harness.work()

    assert harness.service.messages == ["begin", "second", "first"]
    assert len(harness.seen.texts) == 3


async def test_a_late_message_goes_before_one_waiting_for_a_choice(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    await sent(harness, said(f"<@{BOT}> second", ts(2)))
    await harness.work()

    await sent(harness, said(f"<@{BOT}> first", ts(1)), retry=1)
    await harness.store.sessions.choose_agent(THREAD, 8)
    await harness.work()

    assert [words.rpartition("\n")[2] for words in harness.service.messages] == ["first", "second"]
    assert len(harness.seen.replies("bridge_menu")) == 1


@pytest.mark.parametrize("is_withdrawn", ["first", "second"])
async def test_a_menu_of_a_deleted_message_is_shown_again_for_the_next(harness: Harness, is_withdrawn: str) -> None:
    harness.service.agents = [SUPPORT, SALES]
    await sent(harness, said(f"<@{BOT}> second", ts(2)))
    await harness.work()
    await sent(harness, said(f"<@{BOT}> first", ts(1)), retry=1)

    await sent(harness, deleted(ts(1) if is_withdrawn == "first" else ts(2)), "Ev-deleted")
    await harness.work()
    await harness.store.sessions.choose_agent(THREAD, 8)
    await harness.work()

    left = "second" if is_withdrawn == "first" else "first"
    assert [words.rpartition("\n")[2] for words in harness.service.messages] == [left]


async def test_a_late_message_from_before_a_stop_is_held_and_goes_first(harness: Harness) -> None:
    await sent(harness, said(f"<@{BOT}> begin"))
    await sent(harness, said("second", ts(2)))
    stops = harness.store.process().inbox.stops
    stopped = await stops.stop(LANE, ts(5))
    await harness.work()

    await sent(harness, said("first", ts(1)), retry=1)
    await harness.work()
    before = list(harness.service.messages)
    await stops.resume(LANE, by=stopped.turn, drop=False)
    await harness.work()

    assert before == []
    assert harness.service.messages == ["first", "second"]


async def test_a_resent_message_is_not_overtaken(harness: Harness) -> None:
    await sent(harness, said(f"<@{BOT}> begin"))
    await sent(harness, said("third", ts(3)))
    inbox = harness.store.process().inbox
    stopped = await inbox.stops.stop(LANE, ts(4), only=key_of(ts(3)))
    assert (await inbox.drafts.put(stopped.turn, by=TurnId("click"))).end == "queued"

    await sent(harness, said("second", ts(2)), retry=1)
    await harness.work()

    assert harness.service.messages == ["begin", "third", "second"]


async def test_the_trace_says_that_a_message_was_put_before_later_ones(harness: Harness) -> None:
    await sent(harness, said(f"<@{BOT}> begin"))
    await sent(harness, said("second", ts(2)))

    await sent(harness, said("first", ts(1)), retry=1)

    (turn,) = (await trace_of(harness.store.scripts, key_of(ts(1)))).turns
    assert (turn.behind, turn.overtakes, turn.ahead) == (1, 1, 1)


# Edits


@pytest.mark.parametrize("first", ["mention", "change"])
async def test_the_two_events_of_an_edit_start_one_turn_and_offer_nothing(harness: Harness, first: str) -> None:
    twins = {"mention": mentioned_again("new"), "change": changed(f"<@{BOT}> new", was="new")}

    await sent(harness, twins.pop(first), "Ev-first")
    await harness.work()
    await sent(harness, twins.popitem()[1], "Ev-second")
    await harness.work()

    assert harness.service.messages == ["new"]
    assert harness.seen.ephemerals == []


async def test_the_two_events_of_an_edit_after_sending_are_offered_once(harness: Harness) -> None:
    await sent(harness, said(f"<@{BOT}> old"))
    await harness.work()

    await sent(harness, mentioned_again("new"), "Ev-mention")
    await sent(harness, changed(f"<@{BOT}> new"), "Ev-change")
    await harness.work()

    assert harness.service.messages == ["old"]
    assert len(harness.seen.ephemerals) == 1


SECOND_AFTER = str(int(float(ROOT)) + 5)
WEEK = 7 * 24 * 3600.0


@pytest.mark.parametrize(("after", "asked"), [(WEEK - 7200, ["new"]), (WEEK, []), (90 * 24 * 3600.0, [])])
async def test_an_edit_of_an_unknown_mention_starts_it_once(harness: Harness, after: float, asked: list[str]) -> None:
    for number in range(2):
        assert await sent(harness, mentioned_again("new", after=after), f"Ev{number}", retry=number) == 200
        await harness.work()

    assert harness.service.messages == asked


async def test_the_trace_says_why_an_edit_of_an_old_mention_starts_nothing(harness: Harness) -> None:
    await sent(harness, mentioned_again("new", after=WEEK + 1))

    assert await traced(harness, ROOT) == ["not for an agent: edited more than seven days after it was written"]


async def test_a_stranger_cannot_start_anything_by_an_edit(harness: Harness) -> None:
    event = mentioned_again("let me in") | {"user_team": "TOTHER"}

    assert await sent(harness, event) == 200
    await harness.work()

    assert harness.service.messages == []


async def test_an_edit_that_removes_the_mention_of_a_refused_message_withdraws_it(harness: Harness) -> None:
    with redis_unavailable(harness):
        await sent(harness, said(f"<@{BOT}> old"))

    await sent(harness, changed("never mind"), "Ev-edit")
    assert await sent(harness, said(f"<@{BOT}> old"), retry=2) == 200
    await harness.work()

    assert harness.service.messages == []
    assert await traced(harness, ROOT) == [
        "not for an agent: it was edited before Slack delivered it, and its new text isn't for an agent"
    ]


async def test_an_edit_while_its_message_arrives_is_not_lost(harness: Harness) -> None:
    await sent(harness, said(f"<@{BOT}> begin"))
    inbox = harness.store.process().inbox
    look = inbox.edit

    async def overtaken(message: InboundMessage, **how: bool) -> str:
        result = await look(message, **how)
        inbox.edit = look  # type: ignore[method-assign]
        await sent(harness, said("old", ts(1)))
        return result

    inbox.edit = overtaken  # type: ignore[assignment,method-assign]
    await sent(harness, changed("new", ts(1), was="old"), "Ev-edit")
    await harness.work()

    assert harness.service.messages == ["begin", "new"]


async def test_an_edit_does_not_send_what_was_written_while_muted(harness: Harness) -> None:
    await sent(harness, said(f"<@{BOT}> begin"))
    await harness.store.sessions.mute(THREAD, is_muted=True)
    await sent(harness, said("just talk", ts(1)))
    await traced(harness, ts(1))
    await harness.store.sessions.mute(THREAD, is_muted=False)

    await sent(harness, changed("just some talk", ts(1), was="just talk"), "Ev-edit")
    await harness.work()

    assert harness.service.messages == ["begin"]


async def test_an_edit_of_a_message_before_the_first_mention_is_ignored(harness: Harness) -> None:
    await sent(harness, said("just talk", ts(1)))
    await sent(harness, said(f"<@{BOT}> help us", ts(2)))

    await sent(harness, changed("just some talk", ts(1), was="just talk"), "Ev-edit")
    await harness.work()

    assert len(harness.service.messages) == 1
    assert not await harness.store.contains_text("just some talk")


# Deletions


@pytest.mark.parametrize("at", [ROOT, ts(1)], ids=["mention", "reply"])
async def test_a_message_deleted_before_slacks_retry_is_dropped(harness: Harness, at: str) -> None:
    event = said(f"<@{BOT}> oh no") if at == ROOT else said("oh no", at)
    if at != ROOT:
        await sent(harness, said(f"<@{BOT}> begin"))
        await harness.work()
    with redis_unavailable(harness):
        await sent(harness, event)

    await sent(harness, deleted(at), "Ev-deleted")
    assert await sent(harness, event, retry=2) == 200
    await harness.work()

    assert "oh no" not in harness.service.messages
    assert await traced(harness, at) == ["not for an agent: it was deleted before Slack delivered it"]


async def test_a_refused_deletion_reaches_other_processes(harness: Harness) -> None:
    store = harness.store
    with redis_unavailable(harness):
        await sent(harness, deleted(ROOT), "Ev-deleted")

    await wait_until(lambda: store.redis.exists(f"{PREFIX}seen:m:{key_of(ROOT)}"), "the tombstone is saved")

    assert 0 < await store.redis.pttl(f"{PREFIX}seen:m:{key_of(ROOT)}") <= 15 * 60 * 1000


async def test_a_deleted_old_message_leaves_no_mark(harness: Harness) -> None:
    before = await harness.keys()

    await sent(harness, deleted(ROOT, f"{float(ROOT) + 601:.6f}"), "Ev-deleted")

    assert await harness.keys() == before


# Replies to a refused root


async def refused_root(harness: Harness) -> None:
    with redis_unavailable(harness):
        assert await sent(harness, said(f"<@{BOT}> begin")) == 503


async def test_a_reply_without_further_retries_is_read_when_its_root_arrives(harness: Harness) -> None:
    second, first = said("second", ts(2)), said("first, changed since", ts(1), edited={"user": USER, "ts": ts(5)})
    reads(harness, first, second)
    await refused_root(harness)

    kept = [await sent(harness, said("second", ts(2)), retry=3), await sent(harness, said("first", ts(1)), retry=3)]
    assert not await harness.store.contains_text("second")
    await sent(harness, said(f"<@{BOT}> begin"), retry=3)
    await harness.work()

    assert kept == [200, 200]
    assert harness.service.messages == ["begin", "first, changed since", "second"]
    (asked,) = (call.args for call in harness.seen.called(READ))
    assert asked["ts"] == ROOT
    assert await traced(harness, ts(2), 2) == [
        "not yet: it's read again once its thread's first message arrives, within ten minutes",
        "a reply in a thread with a conversation",
    ]


async def test_replies_that_overtook_an_edited_resent_root_are_read(harness: Harness) -> None:
    reads(harness, said("and this", ts(1)))
    await sent(harness, said("and this", ts(1)))  # a killed process had got the root
    await sent(harness, changed(f"<@{BOT}> begin"), "Ev-edit")
    await harness.work()

    for retry in (1, 2):
        await sent(harness, said(f"<@{BOT}> old"), retry=retry)
        await caught_up(harness)

    assert harness.service.messages == ["begin", "and this"]
    assert len(harness.seen.called(READ)) == 1


async def test_replies_before_an_outage_was_noted_are_read_with_a_resent_root(harness: Harness) -> None:
    store, root, reply = harness.store, f"{float(ROOT) + 25:.6f}", f"{float(ROOT) + 30:.6f}"
    harness.write(root, f"<@{BOT}> begin")
    harness.write(reply, "and this", thread_ts=root)
    namespace = (await open_store(store.redis, store.clock)).namespace
    await namespace.hold()
    store.clock.time += timedelta(seconds=20)  # Redis was away, and a killed process had got the root
    assert await sent(harness, said("and this", reply, thread_ts=root)) == 200

    await namespace.hold()
    await sent(harness, said(f"<@{BOT}> begin", root, thread_ts=root), retry=1)
    await harness.work()

    assert harness.service.messages == ["begin", "and this"]


async def test_a_resent_edit_does_not_read_what_people_said_before_it(harness: Harness) -> None:
    reads(harness, said("just talk", ts(1)))
    await sent(harness, said("just talk", ts(1)))

    await sent(harness, mentioned_again("begin"), "Ev-edit", retry=1)
    await harness.work()

    assert harness.seen.called(READ) == []


async def test_a_root_that_slack_repeats_is_read_once_at_most(harness: Harness) -> None:
    reads(harness)
    await sent(harness, said(f"<@{BOT}> begin"))
    for retry in (1, 2):
        await sent(harness, said(f"<@{BOT}> begin"), retry=retry)
    before = harness.seen.called(READ)
    await sent(harness, said(f"<@{BOT}> begin", ts(30), thread_ts=ts(30)), retry=1)
    for retry in (2, 3):
        await sent(harness, said(f"<@{BOT}> begin", ts(30), thread_ts=ts(30)), retry=retry)
    await caught_up(harness)

    assert before == []
    assert [call.args["ts"] for call in harness.seen.called(READ)] == [ts(30)]


@pytest.mark.parametrize("is_allowed", [True, False])
async def test_a_thread_is_read_once_although_others_are_marked(harness: Harness, *, is_allowed: bool) -> None:
    reads(harness)
    second, web = ts(30), harness.parts().catch_up.web
    harness.write(second, f"<@{BOT}> begin")
    read = web.read
    if not is_allowed:
        harness.slack.faults.on(READ, Error("missing_scope"), times=None)

    async def overtaken(*what: Any, **how: Any) -> Any:
        del web.read  # type: ignore[method-assign]
        await sent(harness, said(f"<@{BOT}> begin", second, thread_ts=second), retry=1)
        return await read(*what, **how)

    web.read = overtaken  # type: ignore[method-assign]
    await sent(harness, said(f"<@{BOT}> begin"), retry=1)
    await harness.work()

    assert sorted(call.args["ts"] for call in harness.seen.called(READ)) == [ROOT, second]
    assert harness.service.messages == ["begin", "begin"]


@pytest.mark.parametrize("why", ["missing_scope", "not_in_channel"])
async def test_a_resent_root_is_answered_at_once_without_history(harness: Harness, why: str) -> None:
    harness.slack.faults.on(READ, Error(why), times=None)

    await sent(harness, said(f"<@{BOT}> begin"), retry=1)
    await harness.work()

    assert harness.service.messages == ["begin"]
    assert len(harness.seen.called(READ)) == 1
    assert [pause for pause in harness.slept if pause >= 1] == []


async def test_a_resent_root_waits_a_minute_at_most_for_limited_history(harness: Harness) -> None:
    await sent(harness, said(f"<@{BOT}> begin"), retry=1)

    (marked,) = [key for key in await harness.keys() if ":unread_thread:" in key]
    assert 0 < await harness.store.redis.pttl(marked) <= 60_000


async def test_a_stored_reply_waits_until_slack_lets_it_be_read(harness: Harness) -> None:
    reads(harness, said("first", ts(1)))
    harness.slack.faults.on(READ, RateLimited(7))
    await refused_root(harness)
    await sent(harness, said("first", ts(1)), retry=3)

    await sent(harness, said(f"<@{BOT}> begin"), retry=3)
    await harness.work()

    assert harness.service.messages == ["begin", "first"]
    assert 7 in harness.slept


async def test_a_deleted_or_unreadable_stored_reply_is_skipped(harness: Harness) -> None:
    harness.slack.faults.on(READ, Error("missing_scope"))
    await refused_root(harness)
    await sent(harness, said("first", ts(1)), retry=3)

    await sent(harness, said(f"<@{BOT}> begin"), retry=3)
    await harness.work()

    assert harness.service.messages == ["begin"]


async def test_a_stored_reply_of_a_stranger_is_refused_with_a_notice(harness: Harness) -> None:
    workspace = harness.slack.workspace
    workspace.enter(STRANGER, workspace.channels[CHANNEL])
    stranger = said("let me in", ts(1), user=STRANGER, user_team=OTHER_TEAM)
    reads(harness, stranger)
    await refused_root(harness)

    assert await sent(harness, stranger, retry=2) == 503
    assert await sent(harness, stranger, retry=3) == 200
    await sent(harness, said(f"<@{BOT}> begin"), retry=3)
    await harness.work()

    assert harness.service.messages == ["begin"]
    assert [one.user for one in harness.seen.ephemerals] == [STRANGER]


@pytest.mark.parametrize(
    ("written", "status"),
    [(-5.0, 200), (5.0, 503), (9.0, 503), (15.0, 200)],
    ids=["before", "", "just before", "after"],
)
async def test_a_reply_waits_for_a_root_sent_while_no_bridge_ran(harness: Harness, written: float, status: int) -> None:
    store, began = harness.store, START.timestamp()
    store.clock.time = START + timedelta(seconds=10)

    await (await open_store(store.redis, store.clock)).namespace.hold()  # a starting process

    root, reply = f"{began + written:.6f}", f"{began + written + 30:.6f}"
    assert await sent(harness, said("and this", reply, thread_ts=root)) == status


async def test_a_stored_reply_expires_after_ten_minutes(harness: Harness) -> None:
    await refused_root(harness)
    await sent(harness, said("first", ts(1)), retry=3)

    (marked,) = [key for key in await harness.keys() if ":unread_thread:" in key]
    assert 0 < await harness.store.redis.pttl(marked) <= 10 * 60 * 1000


@pytest.mark.parametrize(
    ("root", "reply"),
    [
        (f"{float(ROOT) + 3:.6f}", f"{float(ROOT) + 4:.6f}"),  # nothing was refused when its root was written
        (ROOT, f"{float(ROOT) + 600:.6f}"),  # Slack no longer retries its root
    ],
)
async def test_an_unrelated_reply_in_an_unbound_thread_is_ignored(harness: Harness, root: str, reply: str) -> None:
    await refused_root(harness)

    assert await sent(harness, said("just talk", reply, thread_ts=root)) == 200

    assert await traced(harness, reply) == ["not for an agent: its thread has no conversation"]
    assert not [key for key in await harness.keys() if ":unread_thread:" in key]


async def test_a_reply_to_a_deleted_root_is_ignored(harness: Harness) -> None:
    await refused_root(harness)
    await sent(harness, deleted(ROOT), "Ev-deleted")

    assert await sent(harness, said("and this", ts(1))) == 200


async def test_a_refused_reply_does_not_cause_others_to_be_refused(harness: Harness) -> None:
    await refused_root(harness)
    late = f"{float(ROOT) + 30:.6f}"
    assert await sent(harness, said("and this", late)) == 503

    later = f"{float(ROOT) + 31:.6f}"
    assert await sent(harness, said("others talk", later, thread_ts=late)) == 200


async def test_a_live_reply_waits_for_one_that_was_refused_before_its_root(harness: Harness) -> None:
    first, second = said("first", ts(1)), said("second", ts(2))
    reads(harness, first, second)
    await refused_root(harness)
    assert await sent(harness, first) == 503

    await sent(harness, said(f"<@{BOT}> begin"), retry=2)
    await sent(harness, second)
    await harness.work()
    assert await sent(harness, first, retry=2) == 200
    await harness.work()

    assert harness.service.messages == ["begin", "first", "second"]


async def test_an_edited_reply_to_a_refused_root_is_sent_with_its_new_text(harness: Harness) -> None:
    reads(harness, said("new", ts(1), edited={"user": USER, "ts": f"{SECOND_AFTER}.000000"}))
    await refused_root(harness)
    assert await sent(harness, said("old", ts(1))) == 503

    edit = await sent(harness, changed("new", ts(1), was="old"), "Ev-edit")
    await sent(harness, said(f"<@{BOT}> begin"), retry=2)
    reply = await sent(harness, said("old", ts(1)), retry=2)
    await harness.work()
    reply_again = await sent(harness, said("old", ts(1)), retry=3)
    await harness.work()

    assert (edit, reply, reply_again) == (200, 503, 200)
    assert harness.service.messages == ["begin", "new"]


async def test_over_a_socket_a_reply_to_a_refused_root_is_acknowledged_only_with_its_root(harness: Harness) -> None:
    with redis_unavailable(harness):
        assert await harness.envelope("events_api", envelope_of(said(f"<@{BOT}> begin"))) is None

    early = await harness.envelope("events_api", envelope_of(said("and this", ts(1)), retry=1))
    root = await harness.envelope("events_api", envelope_of(said(f"<@{BOT}> begin"), retry=2))
    reply = await harness.envelope("events_api", envelope_of(said("and this", ts(1)), retry=2))
    await harness.work()

    assert (early, root, reply) == (None, {"envelope_id": "e1"}, {"envelope_id": "e1"})
    assert harness.service.messages == ["begin", "and this"]


def envelope_of(event: dict[str, Any], retry: int = 0) -> dict[str, Any]:
    """An envelope's content, as `bridge.door.sockets` passes it on."""
    payload = {"type": "event_callback", "event_id": f"Ev{event['ts']}", "event": event, "retry_attempt": retry}
    return payload | {"is_ext_shared_channel": False}


# Refused messages in Slack's history


async def begun(harness: Harness, *replies: dict[str, Any]) -> None:
    """Begin a conversation, and write it and *replies* to the history."""
    reads(harness, *replies)
    await sent(harness, said(f"<@{BOT}> begin"))
    await harness.work()


async def caught_up(harness: Harness) -> None:
    """Write the refusals, read what they marked, and let the agents answer."""
    parts = harness.parts()
    await parts.turns.deps.inbox.refused_messages.write()
    await parts.catch_up.catch_up()
    await harness.work()


async def test_a_live_reply_waits_for_a_refused_one(harness: Harness) -> None:
    first, second = said("first", ts(1)), said("second", ts(2))
    await begun(harness, first, second)
    with redis_unavailable(harness):
        assert await sent(harness, first) == 503

    assert await sent(harness, second) == 200
    await harness.work()
    assert await sent(harness, first, retry=2) == 200
    await harness.work()

    assert harness.service.messages == ["begin", "first", "second"]
    assert "late" not in str(harness.seen.messages[-1].blocks)


@pytest.mark.parametrize("at", [ROOT, ts(1)], ids=["root", "reply"])
async def test_a_refused_message_is_read_without_a_retry(harness: Harness, at: str) -> None:
    refused = said(f"<@{BOT}> begin") if at == ROOT else said("first", at)
    if at == ROOT:
        reads(harness)
    else:
        await begun(harness, refused)
    with redis_unavailable(harness):
        await sent(harness, refused)

    await caught_up(harness)
    again = [await sent(harness, refused, retry=retry) for retry in (2, 3)]
    await caught_up(harness)

    assert harness.service.messages == ["begin", "first"][: 1 + (at != ROOT)]
    assert again == [200, 200]
    assert harness.parts().catch_up.has_outage()


async def test_a_root_and_its_replies_are_read_in_order(harness: Harness) -> None:
    reply = said("and this", ts(1))
    reads(harness, reply)
    await refused_root(harness)
    assert await sent(harness, reply) == 503

    await caught_up(harness)

    assert harness.service.messages == ["begin", "and this"]


async def test_a_retry_of_a_refused_reply_ends_the_waiting(harness: Harness) -> None:
    first, second = said("first", ts(1)), said("second", ts(2))
    await begun(harness, first, second)
    harness.slack.faults.on(READ, RateLimited(60))
    with redis_unavailable(harness):
        await sent(harness, first)

    await sent(harness, second)
    await sent(harness, first, retry=1)
    await harness.work()

    assert harness.service.messages == ["begin", "first", "second"]
    assert harness.seen.called(READ) == []


async def test_without_history_a_reply_does_not_wait_for_a_refused_one(harness: Harness) -> None:
    first, second = said("first", ts(1)), said("second", ts(2))
    await begun(harness, first, second)
    harness.slack.faults.on(READ, Error("missing_scope"), times=None)
    with redis_unavailable(harness):
        await sent(harness, first)

    await sent(harness, second)
    await harness.work()
    await sent(harness, first, retry=1)
    await harness.work()

    assert harness.service.messages == ["begin", "second", "first"]


async def test_with_limited_history_a_reply_waits_a_minute_at_most(harness: Harness) -> None:
    first, second = said("first", ts(1)), said("second", ts(2))
    await begun(harness, first, second)
    with redis_unavailable(harness):
        await sent(harness, first)

    await sent(harness, second)

    (marked,) = [key for key in await harness.keys() if ":unread_thread:" in key]
    assert 0 < await harness.store.redis.pttl(marked) <= 60_000


async def test_an_edit_that_was_refused_is_read(harness: Harness) -> None:
    edited = said("new", ts(1), edited={"user": USER, "ts": f"{SECOND_AFTER}.000000"})
    await begun(harness, edited)
    with redis_unavailable(harness):
        await sent(harness, said("old", ts(1)))
        await sent(harness, changed("new", ts(1), was="old"), "Ev-edit")

    await caught_up(harness)

    assert harness.service.messages == ["begin", "new"]


async def test_a_refused_edit_of_a_waiting_message_is_read(harness: Harness) -> None:
    edited = said("new", ts(1), edited={"user": USER, "ts": f"{SECOND_AFTER}.000000"})
    await begun(harness, edited, said("third", ts(2)))
    await sent(harness, said("old", ts(1)))
    with redis_unavailable(harness):
        await sent(harness, changed("new", ts(1), was="old"), "Ev-edit")
        await sent(harness, said("third", ts(2)))

    await caught_up(harness)

    assert harness.service.messages == ["begin", "new", "third"]


async def test_a_refused_command_is_run_once(harness: Harness) -> None:
    command = said("!mute", ts(1))
    await begun(harness, command)
    with redis_unavailable(harness):
        await sent(harness, command)

    await caught_up(harness)
    await sent(harness, command, retry=2)
    await harness.work()

    assert await harness.store.redis.hget(f"{PREFIX}thread:{THREAD}", "muted")
    assert [one.text for one in harness.seen.ephemerals if "offline" in one.text] == []


async def test_refused_talk_among_people_is_not_read(harness: Harness) -> None:
    with redis_unavailable(harness):
        await sent(harness, said("just talk", ts(1)))

    await caught_up(harness)

    assert harness.seen.called(READ) == []


async def test_a_refused_edit_of_an_old_message_is_not_read(harness: Harness) -> None:
    harness.store.clock.time += timedelta(days=2)
    with redis_unavailable(harness):
        await sent(harness, changed(f"<@{BOT}> new", after=2 * 24 * 3600.0), "Ev-edit")

    await caught_up(harness)

    assert harness.seen.reads == 0


async def test_refused_messages_are_not_read_if_catching_up_is_off(harness: Harness) -> None:
    reads(harness)
    harness.configure(BRIDGE_CATCH_UP="off")
    with redis_unavailable(harness):
        await sent(harness, said(f"<@{BOT}> begin"))

    await caught_up(harness)

    assert harness.service.messages == []
