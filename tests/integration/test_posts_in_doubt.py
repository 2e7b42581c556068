"""Posts that Slack may or may not have accepted: without history permission, or by response_url."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.faults import DropAfter, DropBefore, Fault, Http, RateLimited
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, DM_ALICE, GENERAL, NOBOT, RANDOM
from support.lives import end_leases
from support.mortals import a_mortal
from support.real_redis import RealRedis
from support.waiting import wait_until
from support.world import World, a_shared_world, words_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

HISTORY = {"channels:history", "groups:history", "mpim:history"}
SHOW = "turn:show"
MISSING = "so it may be missing"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(redis_server: RealRedis) -> AsyncIterator[World]:
    async with a_shared_world(redis_server.url, BRIDGE_DEFAULT_AGENT="1") as world:
        world.slack.scopes.difference_update(HISTORY)  # scopes that people can decline
        yield world


@pytest_asyncio.fixture(loop_scope="module")
async def world(opened: World) -> AsyncIterator[World]:
    opened.look_from_here()
    yield opened
    opened.slack.faults.clear()
    await wait_until(opened.is_at_rest, "nothing is queued")
    assert not await opened.redis.exists(f"{{{opened.namespace}}}:dead"), "nothing is lost silently"


def ours(world: World, channel: str) -> list[Message]:
    return [one for one in world.slack.messages(channel) if one.user == BRIDGE]


def offers(world: World, channel: str) -> list[Message]:
    return [one for one in ours(world, channel) if SHOW in str(one.blocks)]


@pytest.mark.parametrize("fault", [DropBefore(), DropAfter()])
async def test_an_answer_in_doubt_brings_a_notice_and_is_shown_once(world: World, fault: Fault) -> None:
    is_there = isinstance(fault, DropAfter)
    world.slack.faults.on("chat.postMessage", fault, channel=GENERAL)

    root = await world.mention(ALICE, GENERAL, f"tell me of {type(fault).__name__}")
    said = await world.answered(GENERAL, root, 1 + is_there)

    assert MISSING in said[-1]
    assert len(said) == 1 + is_there
    notice = world.answers(GENERAL, root)[-1].ts
    await world.slack.ui.click(BOB, GENERAL, notice, SHOW)
    await world.slack.ui.click(ALICE, GENERAL, notice, SHOW)
    said = await world.answered(GENERAL, root, 2 + is_there)
    await world.whispered(ALICE)  # that someone else was faster
    assert type(fault).__name__ in said[-1]
    await wait_until(lambda: not offers_in_thread(world, root), "the offer is gone")
    assert len(world.answers(GENERAL, root)) == 2 + is_there
    assert len(world.chats()) == 1


def offers_in_thread(world: World, root: str) -> list[Message]:
    return [one for one in world.answers(GENERAL, root) if SHOW in str(one.blocks)]


async def test_a_notice_in_doubt_is_repeated_a_few_times(world: World) -> None:
    world.slack.faults.on("chat.postMessage", DropAfter(), times=2, channel=GENERAL)

    root = await world.mention(ALICE, GENERAL, "tell me twice")
    said = await world.answered(GENERAL, root, 3)
    await wait_until(world.is_at_rest, "the turn ends")

    assert [MISSING in words for words in said] == [False, True, True]
    await world.slack.ui.click(ALICE, GENERAL, world.answers(GENERAL, root)[1].ts, SHOW)
    await world.answered(GENERAL, root, 4)
    await world.slack.ui.click(ALICE, GENERAL, world.answers(GENERAL, root)[2].ts, SHOW)
    assert "no longer available" in await world.whispered(ALICE)


async def test_a_shown_answer_in_doubt_is_offered_again(world: World) -> None:
    world.slack.faults.on("chat.postMessage", DropBefore(), channel=GENERAL)
    root = await world.mention(ALICE, GENERAL, "tell me at last")
    await world.answered(GENERAL, root)
    world.slack.faults.on("chat.postMessage", DropBefore(), channel=GENERAL)

    await world.slack.ui.click(ALICE, GENERAL, world.answers(GENERAL, root)[0].ts, SHOW)
    await wait_until(lambda: len(world.answers(GENERAL, root)) == 2, "the post is in doubt again")
    await world.slack.ui.click(ALICE, GENERAL, world.answers(GENERAL, root)[-1].ts, SHOW)
    said = await world.answered(GENERAL, root, 3)

    assert ["tell me at last" in words for words in said] == [False, False, True]


async def test_a_report_in_doubt_does_not_pause_its_schedule(world: World) -> None:
    await world.slack.ui.command(ALICE, RANDOM, "/stats", "report daily 09:00")
    await world.whispered(ALICE)
    (report,) = await world.redis.zrange(f"{{{world.namespace}}}:reports", 0, -1)
    world.slack.faults.on("chat.postMessage", DropBefore(), channel=RANDOM)

    await becomes_due(world, report)
    await wait_until(lambda: offers(world, RANDOM), "the channel is notified")
    await wait_until(world.is_at_rest, "the turn ends")
    await becomes_due(world, report)

    await wait_until(lambda: len(ours(world, RANDOM)) == 2, "the second post is there")
    assert "Statistics" in words_of(ours(world, RANDOM)[-1])
    assert "is paused" not in "".join(map(words_of, ours(world, DM_ALICE)))
    await world.slack.ui.click(ALICE, RANDOM, offers(world, RANDOM)[0].ts, SHOW)
    await wait_until(lambda: len(ours(world, RANDOM)) == 3, "the first post is there, too")


async def becomes_due(world: World, report: str) -> None:
    await world.redis.zadd(f"{{{world.namespace}}}:due", {report: int(time.time() * 1000)})


@pytest.mark.parametrize("fault", [DropAfter(), Http(500)])
async def test_a_card_by_url_is_never_posted_twice_and_offered_where_it_is_in_doubt(world: World, fault: Fault) -> None:
    world.slack.faults.on("response_url", fault)
    before, offered = len(cards(world)), len(offers(world, DM_ALICE))

    await world.slack.ui.command(ALICE, NOBOT, "/workflows", f"run 1 {type(fault).__name__}")
    await wait_until(lambda: len(offers(world, DM_ALICE)) > offered, "she is notified")
    await wait_until(world.is_at_rest, "the turn ends")

    assert len(cards(world)) == before + isinstance(fault, DropAfter)
    shown = len(ours(world, DM_ALICE))
    await world.slack.ui.click(ALICE, DM_ALICE, offers(world, DM_ALICE)[-1].ts, SHOW)
    await wait_until(lambda: len(ours(world, DM_ALICE)) > shown, "the answer is shown where the bot may post")
    assert "completed" in words_of(ours(world, DM_ALICE)[-1])


def cards(world: World) -> list[Message]:
    return [one for one in world.slack.messages(NOBOT) if "completed" in words_of(one)]


async def test_a_private_answer_that_was_not_sent_is_retried(world: World) -> None:
    world.slack.faults.on("response_url", RateLimited(1), times=2)
    before, offered = len(cards(world)), len(offers(world, DM_ALICE))

    await world.slack.ui.command(ALICE, NOBOT, "/workflows", "run 1 again")

    await wait_until(lambda: len(cards(world)) == before + 1, "the card is posted")
    assert len(offers(world, DM_ALICE)) == offered


async def test_a_private_answer_by_url_is_never_shown_twice(world: World) -> None:
    world.slack.faults.on("response_url", DropAfter())
    offered = len(offers(world, DM_ALICE))

    await world.slack.ui.command(ALICE, GENERAL, "/workflows", "list")
    await wait_until(lambda: len(offers(world, DM_ALICE)) > offered, "she is notified")

    assert len(world.whispers(ALICE)) == 1
    await world.slack.ui.click(ALICE, DM_ALICE, offers(world, DM_ALICE)[-1].ts, SHOW)
    assert "Echo" in await world.whispered(ALICE, 2)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="bridges are forked, and their ends are told by Linux")
async def test_a_kill_after_a_card_went_by_url_does_not_double_it(world: World, tmp_path: Path) -> None:
    (bridge,) = world.bridges
    await bridge.end()
    mortal = a_mortal(world, tmp_path, "after slack response 1", BRIDGE_DEFAULT_AGENT="1")
    await (await mortal.start()).ready()
    world.slack.events_url = f"{mortal.url}/slack/events"
    before, offered = len(cards(world)), len(offers(world, DM_ALICE))

    await world.slack.ui.command(ALICE, NOBOT, "/workflows", "run 1 killed")
    await wait_until(lambda: mortal.has_ended, "the bridge is killed")
    await end_leases(world)
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    await wait_until(lambda: len(offers(world, DM_ALICE)) > offered, "she is notified")

    assert len(cards(world)) == before + 1
