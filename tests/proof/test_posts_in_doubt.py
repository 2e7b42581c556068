"""Posts that Slack may or may not have accepted: without history permission, or by response_url."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.faults import DropAfter, DropBefore, Fault, Http, RateLimited, Slow
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, DM_ALICE, GENERAL, NOBOT, RANDOM
from support.kill_runs import end_leases
from support.real_redis import RealRedis
from support.system import System, open_shared_system, open_system, text_of
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")

HISTORY = {"channels:history", "groups:history", "mpim:history"}
SHOW = "turn:show"
MISSING = "so it may be missing"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(redis_server: RealRedis) -> AsyncIterator[System]:
    async with open_shared_system(redis_server.url, BRIDGE_DEFAULT_AGENT="1") as system:
        system.slack.scopes.difference_update(HISTORY)  # scopes that people can decline
        yield system


@pytest_asyncio.fixture(loop_scope="module")
async def system(opened: System) -> AsyncIterator[System]:
    opened.start_test()
    yield opened
    opened.slack.faults.clear()
    await wait_until(opened.is_at_rest, "nothing is queued")
    assert not await opened.redis.exists(f"{{{opened.namespace}}}:dead"), "nothing is lost silently"


def ours(system: System, channel: str) -> list[Message]:
    return [one for one in system.slack.messages(channel) if one.user == BRIDGE]


def offers(system: System, channel: str) -> list[Message]:
    return [one for one in ours(system, channel) if SHOW in str(one.blocks)]


@pytest.mark.parametrize("fault", [DropBefore(), DropAfter()])
async def test_an_answer_in_doubt_brings_a_notice_and_is_shown_once(system: System, fault: Fault) -> None:
    is_there = isinstance(fault, DropAfter)
    system.slack.faults.on("chat.postMessage", fault, channel=GENERAL)

    root = await system.mention(ALICE, GENERAL, f"tell me of {type(fault).__name__}")
    answers = await system.answered(GENERAL, root, 1 + is_there)

    assert MISSING in answers[-1]
    assert len(answers) == 1 + is_there
    notice = system.answers(GENERAL, root)[-1].ts
    await system.slack.ui.click(BOB, GENERAL, notice, SHOW)
    await system.slack.ui.click(ALICE, GENERAL, notice, SHOW)
    answers = await system.answered(GENERAL, root, 2 + is_there)
    await system.ephemeral_text(ALICE)  # that someone else was faster
    assert type(fault).__name__ in answers[-1]
    await wait_until(lambda: not offers_in_thread(system, root), "the offer is gone")
    assert len(system.answers(GENERAL, root)) == 2 + is_there
    assert len(system.chats()) == 1


def offers_in_thread(system: System, root: str) -> list[Message]:
    return [one for one in system.answers(GENERAL, root) if SHOW in str(one.blocks)]


async def test_a_notice_in_doubt_is_repeated_a_few_times(system: System) -> None:
    system.slack.faults.on("chat.postMessage", DropAfter(), times=2, channel=GENERAL)

    root = await system.mention(ALICE, GENERAL, "tell me twice")
    answers = await system.answered(GENERAL, root, 3)
    await wait_until(system.is_at_rest, "the turn ends")

    assert [MISSING in words for words in answers] == [False, True, True]
    await system.slack.ui.click(ALICE, GENERAL, system.answers(GENERAL, root)[1].ts, SHOW)
    await system.answered(GENERAL, root, 4)
    await system.slack.ui.click(ALICE, GENERAL, system.answers(GENERAL, root)[2].ts, SHOW)
    assert "no longer available" in await system.ephemeral_text(ALICE)


async def test_a_shown_answer_in_doubt_is_offered_again(system: System) -> None:
    system.slack.faults.on("chat.postMessage", DropBefore(), channel=GENERAL)
    root = await system.mention(ALICE, GENERAL, "tell me at last")
    await system.answered(GENERAL, root)
    system.slack.faults.on("chat.postMessage", DropBefore(), channel=GENERAL)

    await system.slack.ui.click(ALICE, GENERAL, system.answers(GENERAL, root)[0].ts, SHOW)
    await wait_until(lambda: len(system.answers(GENERAL, root)) == 2, "the post is in doubt again")
    await system.slack.ui.click(ALICE, GENERAL, system.answers(GENERAL, root)[-1].ts, SHOW)
    answers = await system.answered(GENERAL, root, 3)

    assert ["tell me at last" in words for words in answers] == [False, False, True]


async def test_a_report_in_doubt_does_not_pause_its_schedule(system: System) -> None:
    await system.slack.ui.command(ALICE, RANDOM, "/stats", "report daily 09:00")
    await system.ephemeral_text(ALICE)
    (report,) = await system.redis.zrange(f"{{{system.namespace}}}:reports", 0, -1)
    system.slack.faults.on("chat.postMessage", DropBefore(), channel=RANDOM)

    await becomes_due(system, report)
    await wait_until(lambda: offers(system, RANDOM), "the channel is notified")
    await wait_until(system.is_at_rest, "the turn ends")
    await becomes_due(system, report)

    await wait_until(lambda: len(ours(system, RANDOM)) == 2, "the second post is there")
    assert "Statistics" in text_of(ours(system, RANDOM)[-1])
    assert "is paused" not in "".join(map(text_of, ours(system, DM_ALICE)))
    await system.slack.ui.click(ALICE, RANDOM, offers(system, RANDOM)[0].ts, SHOW)
    await wait_until(lambda: len(ours(system, RANDOM)) == 3, "the first post is there, too")


async def becomes_due(system: System, report: str) -> None:
    await system.redis.zadd(f"{{{system.namespace}}}:due", {report: int(time.time() * 1000)})


@pytest.mark.parametrize("fault", [DropAfter(), Http(500)])
async def test_a_card_in_doubt_by_url_is_offered_and_never_posted_twice(system: System, fault: Fault) -> None:
    system.slack.faults.on("response_url", fault)
    before, offered = len(cards(system)), len(offers(system, DM_ALICE))

    await system.slack.ui.command(ALICE, NOBOT, "/workflows", f"run 1 {type(fault).__name__}")
    await wait_until(lambda: len(offers(system, DM_ALICE)) > offered, "she is notified")
    await wait_until(system.is_at_rest, "the turn ends")

    assert len(cards(system)) == before + isinstance(fault, DropAfter)
    shown = len(ours(system, DM_ALICE))
    await system.slack.ui.click(ALICE, DM_ALICE, offers(system, DM_ALICE)[-1].ts, SHOW)
    await wait_until(lambda: len(ours(system, DM_ALICE)) > shown, "the answer is shown where the bot may post")
    assert "completed" in text_of(ours(system, DM_ALICE)[-1])


def cards(system: System) -> list[Message]:
    return [one for one in system.slack.messages(NOBOT) if "completed" in text_of(one)]


async def test_a_private_answer_that_was_not_sent_is_retried(system: System) -> None:
    system.slack.faults.on("response_url", RateLimited(1), times=2)
    before, offered = len(cards(system)), len(offers(system, DM_ALICE))

    await system.slack.ui.command(ALICE, NOBOT, "/workflows", "run 1 again")

    await wait_until(lambda: len(cards(system)) == before + 1, "the card is posted")
    assert len(offers(system, DM_ALICE)) == offered


async def test_a_private_answer_by_url_is_never_shown_twice(system: System) -> None:
    system.slack.faults.on("response_url", DropAfter())
    offered = len(offers(system, DM_ALICE))

    await system.slack.ui.command(ALICE, GENERAL, "/workflows", "list")
    await wait_until(lambda: len(offers(system, DM_ALICE)) > offered, "she is notified")

    assert len(system.ephemerals(ALICE)) == 1
    await system.slack.ui.click(ALICE, DM_ALICE, offers(system, DM_ALICE)[-1].ts, SHOW)
    assert "Echo" in await system.ephemeral_text(ALICE, 2)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="bridges are forked, and only Linux reports their end")
async def test_a_kill_after_a_card_was_sent_by_url_does_not_repeat_it(system: System, tmp_path: Path) -> None:
    (bridge,) = system.bridges
    await bridge.end()
    killable = system.killable_bridge(tmp_path, "after slack response 1", BRIDGE_DEFAULT_AGENT="1")
    await (await killable.start()).ready()
    system.slack.events_url = f"{killable.url}/slack/events"
    before, offered = len(cards(system)), len(offers(system, DM_ALICE))

    await system.slack.ui.command(ALICE, NOBOT, "/workflows", "run 1 killed")
    await wait_until(lambda: killable.has_ended, "the bridge is killed")
    await end_leases(system)
    await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    await wait_until(lambda: len(offers(system, DM_ALICE)) > offered, "she is notified")

    assert len(cards(system)) == before + 1


async def test_a_post_is_not_repeated_while_slack_is_at_it(redis_server: RealRedis) -> None:
    async with asyncio.TaskGroup() as group:  # they mostly wait
        group.create_task(cut_post(redis_server))
        for ends in (False, True):
            group.create_task(post_with_little_time(redis_server, ends=ends))


async def cut_post(redis_server: RealRedis) -> None:
    async with open_system(redis_server.url, f"test-{secrets.token_hex(4)}") as system:
        await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
        system.slack.faults.on("chat.postMessage", DropAfter(later=4))

        root = await system.mention(ALICE, GENERAL, "are you cut?")

        await is_answered_once(system, root)


async def post_with_little_time(redis_server: RealRedis, *, ends: bool) -> None:
    """After waiting for its channel, it has three seconds of its ten left, and Slack takes six."""
    async with open_system(redis_server.url, f"test-{secrets.token_hex(4)}") as system:
        await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
        bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_DRAIN_SECONDS="25")
        for fault in (RateLimited(7), Slow(6)):
            system.slack.faults.on("chat.postMessage", fault)

        root = await system.mention(ALICE, GENERAL, "are you slow?")
        await wait_until(lambda: b"hasn't accepted an answer" in bridge.log, "it no longer waits for Slack")
        if ends:
            bridge.send_signal(signal.SIGTERM)  # the other one goes on

        await is_answered_once(system, root)


async def is_answered_once(system: System, root: str) -> None:
    await system.answered(GENERAL, root)
    await wait_until(system.is_at_rest, "the turn ends")
    await wait_until(lambda: all(one.status for one in system.called("chat.postMessage")), "Slack is done")
    assert len(system.answers(GENERAL, root)) == 1
