"""What Slack sends again because it was refused: after later messages, edits and deletions, and before replies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.slack.web import SlackWeb
from bridge.store.trace import trace_of
from support.front_door import FrontDoor, a_front_door
from support.saying import US
from support.store import CHANNEL, LANE, ROOT, THREAD, USER, key_of, ts
from support.turns import SALES, SUPPORT

BOT = US.bot_user


@pytest.fixture
async def door(redis: Redis, web: SlackWeb) -> AsyncIterator[FrontDoor]:
    async with a_front_door(redis, web) as door:
        yield door


def said(text: str, at: str = ROOT, **changes: Any) -> dict[str, Any]:
    """Make the event of a message; any but `ROOT` is a reply in its thread."""
    event = {
        "type": "app_mention" if f"<@{BOT}>" in text else "message", "channel": CHANNEL, "user": USER, "text": text,
        "ts": at, "event_ts": at, "client_msg_id": f"c{at}",
    }  # fmt: skip
    return event | ({} if at == ROOT else {"thread_ts": ROOT}) | changes


async def sent(door: FrontDoor, event: dict[str, Any], event_id: str = "", retry: int = 0) -> int:
    """Let Slack send *event* for the *retry*-th time again."""
    headers = [(b"x-slack-retry-num", b"%d" % retry)] if retry else []
    known = {"event_id": event_id or f"Ev{event['ts']}", "is_ext_shared_channel": False}
    return (await door.event(event, *headers, **known)).status


async def test_a_message_that_comes_late_goes_before_those_written_after_it(door: FrontDoor) -> None:
    await sent(door, said(f"<@{BOT}> begin"))
    await sent(door, said("third", ts(3)))
    await sent(door, said("second", ts(2)))

    await sent(door, said("first", ts(1)), retry=1)
    await door.bench.work()

    assert door.bench.service.messages == ["begin", "first", "second", "third"]


async def test_a_message_that_comes_late_does_not_go_before_one_that_was_sent(door: FrontDoor) -> None:
    await sent(door, said(f"<@{BOT}> begin"))
    await door.bench.work()
    await sent(door, said("second", ts(2)))
    door.bench.service.gate.clear()
    work = await door.bench.begin()
    await door.wait_until_asked(2)

    await sent(door, said("first", ts(1)), retry=1)
    door.bench.service.gate.set()
    await work
    await door.bench.work()

    assert door.bench.service.messages == ["begin", "second", "first"]
    assert len(door.bench.say.words) == 3


async def test_a_message_that_comes_late_goes_before_one_that_waits_for_a_choice(door: FrontDoor) -> None:
    door.bench.service.agents = [SUPPORT, SALES]
    await sent(door, said(f"<@{BOT}> second", ts(2)))
    await door.bench.work()

    await sent(door, said(f"<@{BOT}> first", ts(1)), retry=1)
    await door.bench.store.sessions.choose_agent(THREAD, 8)
    await door.bench.work()

    assert [words.rpartition("\n")[2] for words in door.bench.service.messages] == ["first", "second"]
    assert len(door.bench.say.replies("bridge_menu")) == 1


@pytest.mark.parametrize("is_withdrawn", ["first", "second"])
async def test_a_menu_whose_message_is_deleted_opens_again_for_the_one_that_is_left(
    door: FrontDoor, is_withdrawn: str
) -> None:
    door.bench.service.agents = [SUPPORT, SALES]
    await sent(door, said(f"<@{BOT}> second", ts(2)))
    await door.bench.work()
    await sent(door, said(f"<@{BOT}> first", ts(1)), retry=1)

    await sent(door, deleted(ts(1) if is_withdrawn == "first" else ts(2)), "Ev-deleted")
    await door.bench.work()
    await door.bench.store.sessions.choose_agent(THREAD, 8)
    await door.bench.work()

    left = "second" if is_withdrawn == "first" else "first"
    assert [words.rpartition("\n")[2] for words in door.bench.service.messages] == [left]


async def test_a_message_from_before_a_stop_that_comes_late_is_held_and_goes_first(door: FrontDoor) -> None:
    await sent(door, said(f"<@{BOT}> begin"))
    await sent(door, said("second", ts(2)))
    stops = door.bench.store.process().inbox.stops
    stopped = await stops.stop(LANE, ts(5))
    await door.bench.work()

    await sent(door, said("first", ts(1)), retry=1)
    await door.bench.work()
    before = list(door.bench.service.messages)
    await stops.resume(LANE, by=stopped.turn, drop=False)
    await door.bench.work()

    assert before == []
    assert door.bench.service.messages == ["first", "second"]


async def test_a_message_that_an_older_release_queued_is_not_overtaken(door: FrontDoor) -> None:
    await sent(door, said(f"<@{BOT}> begin"))
    await sent(door, said("third", ts(3)))
    store = door.bench.store
    await store.redis.hdel(f"{{test}}:turn:{(await store.box())[1]}", "ts")

    await sent(door, said("second", ts(2)), retry=1)
    await door.bench.work()

    assert door.bench.service.messages == ["begin", "third", "second"]


async def test_the_trace_says_that_a_message_was_put_before_later_ones(door: FrontDoor) -> None:
    await sent(door, said(f"<@{BOT}> begin"))
    await sent(door, said("second", ts(2)))

    await sent(door, said("first", ts(1)), retry=1)

    (turn,) = (await trace_of(door.bench.store.scripts, key_of(ts(1)))).turns
    assert (turn.behind, turn.overtakes, turn.ahead) == (1, 1, 1)


def deleted(at: str, now: str = ts(9)) -> dict[str, Any]:
    """Make the event of a deletion."""
    return {
        "type": "message", "subtype": "message_deleted", "channel": CHANNEL, "ts": now, "event_ts": now,
        "deleted_ts": at, "hidden": True,
    }  # fmt: skip
