"""A deleted message is stopped: nothing is posted, nothing becomes a dead letter, and nobody is told but who waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from redis.asyncio import Redis

from bridge.cli.trace import steps_of
from bridge.ids import MessageKey, ThreadKey
from bridge.playground.emulator.faults import Error, RateLimited
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, DM_ALICE, DM_BOB, GENERAL
from bridge.playground.local_server import DropAfter
from bridge.queue.trace import trace_of
from support.harness import POST, SALES, SUPPORT, Harness, kill_task
from support.store import PREFIX, TEAM
from support.waiting import wait_until

MENTION = f"<@{BRIDGE}> "
TWO_PARTS = "\n\n".join(f"Paragraph {number}: {'words ' * 60}" for number in range(50))
LEFT = "because the thread's first message was deleted."


@pytest.fixture
async def harness(harness: Harness, redis: Redis) -> AsyncIterator[Harness]:
    """A bridge that hears stops, and gets Slack's events."""
    harness.configure(BRIDGE_THREAD_REPLIES="all")
    stops = harness.store.process().inbox.stops
    listener = asyncio.create_task(harness.parts().turns.watches.listen(stops))
    channel = f"{PREFIX}stops"

    async def is_listening() -> bool:
        return bool(dict(await redis.pubsub_numsub(channel))[channel])

    await wait_until(is_listening, "it listens")
    yield harness
    await kill_task(listener)


async def say(harness: Harness, text: str, root: str = "", user: str = ALICE, channel: str = GENERAL) -> str:
    return await harness.slack.people.say(user, channel, text, thread_ts=root or None)


async def delete(harness: Harness, ts: str, channel: str = GENERAL) -> None:
    await harness.slack.people.delete(channel, ts)


async def asked(harness: Harness, count: int = 1) -> asyncio.Task[None]:
    """Start the next turn, and wait until its agent works on it."""
    harness.service.gate.clear()
    work = await harness.start_next()
    await wait_until(lambda: harness.service.in_flight == 1 and len(harness.service.asked) == count, "it's asked")
    return work


async def decided(harness: Harness, ts: str, channel: str = GENERAL) -> list[str]:
    """The last step of a message's trace."""
    return [step.detail for step in steps_of(await trace_of(harness.store.scripts, MessageKey(TEAM, channel, ts)))][-1:]


async def left_behind(harness: Harness) -> list[str]:
    """What people see of the bot, and its dead letters; its work must have ended."""
    assert [key async for key in harness.store.redis.scan_iter(f"{PREFIX}box:*")] == []
    assert [
        one.state for one in harness.slack.workspace.sessions.values() if one.lifecycle == "processing" or one.status
    ] == []
    dead = [str(one) for one in await harness.store.redis.zrange(f"{PREFIX}dead", 0, -1)]
    return [one.words for one in (*harness.seen.messages, *harness.seen.ephemerals)] + dead


@pytest.mark.parametrize("channel", [GENERAL, DM_ALICE])
async def test_a_root_deleted_while_the_agent_works_gets_no_answer(harness: Harness, channel: str) -> None:
    root = await say(harness, f"{MENTION}what is our secret?", channel=channel)
    work = await asked(harness)

    await delete(harness, root, channel)
    await work  # its request is cancelled

    assert harness.service.in_flight == 0
    assert await left_behind(harness) == []
    assert await decided(harness, root, channel) == ["deleted"]
    assert await harness.store.sessions.thread(ThreadKey(TEAM, channel, root)) is None
    assert not await harness.store.contains_text("secret")


async def test_a_reply_deleted_while_the_agent_works_gets_no_answer(harness: Harness) -> None:
    root = await say(harness, f"{MENTION}begin")
    await harness.work()
    reply = await say(harness, "the secret", root)
    await say(harness, "and go on", root)
    work = await asked(harness, 2)

    await delete(harness, reply)
    await work
    harness.service.gate.set()
    await harness.work()

    assert await left_behind(harness) == ["re: begin", "re: and go on"]
    assert await decided(harness, reply) == ["deleted"]
    assert not await harness.store.contains_text("secret")


async def test_deleting_the_root_discards_what_waits_and_tells_each_author_once(harness: Harness) -> None:
    root = await say(harness, f"{MENTION}begin")
    work = await asked(harness)
    for user in (ALICE, BOB, BOB):
        await say(harness, "more", root, user)

    await delete(harness, root)
    await work
    await harness.work()

    told = [(one.user, one.text, one.place.thread_ts) for one in harness.seen.ephemerals]
    assert sorted(told) == [
        (ALICE, f"Your message wasn't sent to the agent {LEFT}", ""),
        (BOB, f"Your 2 messages weren't sent to the agent {LEFT}", ""),
    ]
    assert len(await left_behind(harness)) == 2
    await say(harness, "is anybody here?", root)
    assert await harness.store.process().hold() == []


async def test_a_mention_starts_anew_in_a_thread_whose_root_was_deleted(harness: Harness) -> None:
    root = await say(harness, f"{MENTION}begin")
    await harness.work()
    await delete(harness, root)

    await say(harness, f"{MENTION}again", root)
    await harness.work()

    assert [body.get("sessionId") for body in harness.service.asked] == [None, None]


@pytest.mark.parametrize("reply", [False, True])
async def test_a_message_deleted_while_its_menu_waits_leaves_nothing(harness: Harness, *, reply: bool) -> None:
    harness.service.agents = [SUPPORT, SALES]
    root = await say(harness, f"{MENTION}which one?")
    await harness.work()
    assert len(harness.seen.replies("bridge_menu")) == 1
    if reply:
        await say(harness, "quick!", root, BOB)

    await delete(harness, root)
    await harness.work()

    assert await left_behind(harness) == ([f"Your message wasn't sent to the agent {LEFT}"] if reply else [])


async def test_a_message_deleted_while_its_answer_waits_for_slack_gets_none(harness: Harness) -> None:
    root = await say(harness, f"{MENTION}begin")
    harness.slack.faults.on(POST, RateLimited(60))

    async def delete_it() -> None:
        harness.on_sleep = None
        await delete(harness, root)

    harness.on_sleep = delete_it
    await harness.work()

    assert await left_behind(harness) == []


@pytest.mark.parametrize("reply", [False, True])
async def test_a_message_deleted_between_the_parts_of_its_answer_loses_them_all(
    harness: Harness, *, reply: bool
) -> None:
    root = at = await say(harness, f"{MENTION}begin")
    if reply:
        await harness.work()
        at = await say(harness, "a long one", root)
    harness.service.chats = [httpx.Response(200, json={"sessionId": 1, "message": TWO_PARTS})]
    resume = harness.hang(is_done=True)
    work = await harness.start_next()
    await wait_until(lambda: len(harness.seen.messages) == 1 + reply, "the first part is posted")

    await delete(harness, at)
    resume.set()
    await work

    assert await left_behind(harness) == (["re: begin"] if reply else [])


@pytest.mark.parametrize("is_known", [True, False], ids=["told", "not told"])
@pytest.mark.parametrize("how", ["posted outside", "refused", "in doubt"])
async def test_an_answer_outside_of_its_gone_thread_is_removed(harness: Harness, how: str, *, is_known: bool) -> None:
    root = await say(harness, f"{MENTION}begin")
    work = await asked(harness)
    await say(harness, "more", root, BOB)
    message = harness.slack.workspace.messages.find(GENERAL, root)
    assert message is not None
    for one in harness.slack.workspace.messages.thread(GENERAL, root)[::-1]:
        harness.slack.workspace.messages.delete(one)  # Slack's event about it is late
    if how == "refused":
        harness.slack.faults.on(POST, Error("thread_not_found"), times=None)
    if how == "in doubt":
        harness.slack.faults.on(POST, DropAfter())
    harness.service.gate.set()
    await work
    if is_known:
        await harness.store.process().inbox.withdraw(MessageKey(TEAM, GENERAL, root))
    await harness.work()

    assert await left_behind(harness) == [f"Your message wasn't sent to the agent {LEFT}"]
    assert await harness.store.sessions.thread(ThreadKey(TEAM, GENERAL, root)) is None
    assert await decided(harness, root) == ["deleted"]


@pytest.mark.parametrize("change", ["delete", "stop"])
async def test_an_outage_notice_goes_with_its_message(harness: Harness, change: str) -> None:
    harness.service.always = httpx.ConnectError("down")
    sleeps = 0

    async def change_then_recover() -> None:
        nonlocal sleeps
        sleeps += 1
        if sleeps == 30 and change == "delete":
            await delete(harness, root)
        elif sleeps == 30:
            await say(harness, "!stop", root)
        elif sleeps == 45:
            harness.service.always = None

    root = await say(harness, f"{MENTION}hello")
    harness.on_sleep = change_then_recover
    await harness.work()

    assert harness.service.messages == []
    assert not any("will be answered" in text for text in harness.seen.texts)
    assert harness.seen.attempts


async def test_an_answer_that_was_posted_stays(harness: Harness) -> None:
    root = await say(harness, f"{MENTION}begin")
    await harness.work()

    await delete(harness, root)
    await harness.work()

    assert await left_behind(harness) == ["re: begin"]


async def test_a_deletion_reaches_a_turn_whose_worker_died(harness: Harness) -> None:
    root = await say(harness, f"{MENTION}begin")
    await kill_task(await asked(harness))

    await delete(harness, root)
    await harness.take_over()

    assert await left_behind(harness) == []


async def test_parts_of_a_killed_worker_are_removed_after_a_deletion(harness: Harness) -> None:
    root = await say(harness, f"{MENTION}begin")
    harness.service.chats = [httpx.Response(200, json={"sessionId": 1, "message": TWO_PARTS})]
    harness.hang(is_done=True)
    work = await harness.start_next()
    await wait_until(lambda: harness.seen.messages, "the first part is posted")
    await kill_task(work)

    await delete(harness, root)
    await harness.take_over()

    assert await left_behind(harness) == []


async def test_a_deletion_while_redis_is_away_counts_later(harness: Harness) -> None:
    root = await say(harness, f"{MENTION}begin")
    work = await asked(harness)
    inbox = harness.store.process().inbox

    inbox.refused_messages.deleted(MessageKey(TEAM, GENERAL, root))
    await inbox.refused_messages.write()
    await work

    assert await left_behind(harness) == []


# Runs


async def running(harness: Harness, root: str = "") -> tuple[str, asyncio.Task[None]]:
    """Start a run by a message; return that, and the work."""
    run = await say(harness, f"{MENTION}!workflows run 3 hello", root)
    harness.service.run_gate.clear()
    work = await harness.start_next()
    await wait_until(lambda: harness.service.runs, "it runs")
    return run, work


@pytest.mark.parametrize("has_card", [False, True])
@pytest.mark.parametrize("in_thread", [False, True])
async def test_a_run_whose_message_is_deleted_shows_its_card_to_its_person(
    harness: Harness, *, in_thread: bool, has_card: bool
) -> None:
    root = await say(harness, "What is this?", user=BOB) if in_thread else ""
    run, work = await running(harness, root)
    if has_card:
        await wait_until(lambda: harness.seen.replies("bridge_run"), "its card is shown")

    await delete(harness, run)
    harness.service.run_gate.set()
    await work

    assert harness.service.runs == ["hello"]
    assert harness.seen.messages == []
    (card,) = harness.seen.ephemerals
    assert (card.user, card.place.thread_ts) == (ALICE, "")
    assert "Import" in str(card.blocks)
    assert len(await left_behind(harness)) == 1


async def test_who_waits_for_a_run_is_notified_though_its_message_was_deleted(harness: Harness) -> None:
    run, work = await running(harness)
    (turn,) = [key.removeprefix(f"{PREFIX}turn:") for key in await harness.keys() if key.startswith(f"{PREFIX}turn:")]
    await harness.click("run:notify", turn, user=BOB)
    await harness.work("b")
    await delete(harness, run)
    harness.store.clock.time += timedelta(minutes=2)

    harness.service.run_gate.set()
    await work
    await harness.work()

    assert [post.place.channel for post in harness.seen.messages] == [DM_BOB]


async def test_a_run_card_outside_of_its_gone_thread_is_removed(harness: Harness) -> None:
    run, work = await running(harness)
    message = harness.slack.workspace.messages.find(GENERAL, run)
    assert message is not None
    harness.slack.workspace.messages.delete(message)  # Slack's event about it is late
    await wait_until(lambda: harness.seen.attempts, "its card was tried")

    harness.service.run_gate.set()
    await work

    assert harness.seen.messages == []
    (card,) = harness.seen.ephemerals
    assert (card.user, card.place.thread_ts) == (ALICE, "")
    assert len(await left_behind(harness)) == 1
