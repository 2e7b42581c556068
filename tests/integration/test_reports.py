"""Scheduled reports with two bridges running: each is posted once per slot, and its thread is a conversation."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from bridge.cli.manifest import app_manifest
from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import ALICE, BRIDGE, DM_ALICE, GENERAL, PRIVATE, RANDOM
from support.waiting import wait_until
from support.world import World, shared_world, words_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, world = shared_world(World.start_bridge)


def reports(world: World, channel: str) -> list[Message]:
    shown = world.slack.messages(channel)
    return [one for one in shown if (one.metadata or {}).get("event_type") == "bridge_report"]


async def keep(world: World, channel: str, words: str) -> str:
    """Schedule a report by command; return its id."""
    return await keep_by(lambda: world.slack.ui.command(ALICE, channel, "/stats", words), world)


async def keep_by(ask: Callable[[], Awaitable[object]], world: World) -> str:
    """Schedule a report with any request; return its id."""
    kept = f"{{{world.namespace}}}:reports"
    before = set(await world.redis.zrange(kept, 0, -1))
    await ask()

    async def made() -> set[str]:
        return set(await world.redis.zrange(kept, 0, -1)) - before

    await wait_until(made, "the report is scheduled")
    (id_,) = await made()
    return id_


async def becomes_due(world: World, report: str) -> float:
    """Make a report due now; return the time."""
    due = time.time()
    await world.redis.zadd(f"{{{world.namespace}}}:due", {report: int(due * 1000)})
    return due


async def test_one_of_two_bridges_posts_a_slot_and_discusses_it(world: World) -> None:
    report = await keep(world, GENERAL, "report daily 09:00 --only runs,tags")
    due = await becomes_due(world, report)
    await wait_until(lambda: reports(world, GENERAL), "the report is posted")
    (post,) = reports(world, GENERAL)
    assert float(post.ts) - due < 2, "it was found within a second"
    assert "Schedule: every day at 09:00 (Europe/Berlin)" in words_of(post)

    await world.mention(ALICE, GENERAL, "1: why so many?", thread_ts=post.ts)
    await world.answered(GENERAL, post.ts, 2)  # the report itself is the first message

    (asked,) = world.chats()
    assert "> Statistics: " in asked
    assert asked.endswith("why so many?")
    assert len(reports(world, GENERAL)) == 1


async def test_a_report_for_an_archived_channel_pauses_and_notifies_its_owner(world: World) -> None:
    report = await keep(world, RANDOM, "report weekly mon 09:00")
    channel = world.slack.workspace.channels[RANDOM]
    world.slack.workspace.change_channel(channel, is_archived=True)

    await becomes_due(world, report)
    await wait_until(lambda: told(world), "the owner is notified")
    await world.slack.ui.command(ALICE, GENERAL, "/stats", "reports")

    listed = await world.whispered(ALICE, 2)
    assert "Paused: its channel is archived" in listed
    assert len(told(world)) == 1
    world.slack.workspace.change_channel(channel, is_archived=False)


async def test_a_channel_is_found_by_each_of_its_names(world: World) -> None:
    """With ids, as in the manifest, and without, as in an older one; in messages with and without."""
    said = "report weekdays 08:30 Europe/Berlin {}"
    made = [await keep(world, GENERAL, said.format(name)) for name in ("#random", "#private")]
    older = app_manifest(None)
    for command in older["features"]["slash_commands"]:
        command["should_escape"] = False
    world.slack.install(older)
    made += [await keep(world, GENERAL, said.format(name)) for name in ("#Random", "#private")]
    world.slack.install(app_manifest(None))
    for line in (f"!stats {said.format(name)}" for name in (f"<#{RANDOM}>", "#random")):
        made.append(await keep_by(partial(world.slack.people.say, ALICE, DM_ALICE, line), world))

    for report in made:
        await becomes_due(world, report)
    await wait_until(lambda: len(reports(world, RANDOM)) == 4, "all reports for #random are posted")
    await wait_until(lambda: len(reports(world, PRIVATE)) == 2, "all reports for #private are posted")


async def test_a_form_keeps_a_report_without_words(world: World) -> None:
    await world.slack.ui.command(ALICE, GENERAL, "/stats", "report")
    await wait_until(lambda: world.slack.views(ALICE), "the form is open")
    view = world.slack.views(ALICE)[-1]
    assert "Europe/Berlin" in str(view.blocks), "her own time zone"

    wrong = await world.slack.ui.submit(view.id, {"often": "cron", "cron": "every day"}, ALICE)
    assert "cron" in (wrong.json or {})["errors"]
    await world.slack.ui.submit(view.id, {"often": "every Friday", "time": "16:45"}, ALICE)

    assert "every Friday at 16:45" in await world.whispered(ALICE)


def told(world: World) -> list[str]:
    shown = world.slack.messages(DM_ALICE)
    return [words for one in shown if one.user == BRIDGE and "is paused" in (words := words_of(one))]
