"""What's true of every episode, an alert's or an incident: one message, edited at its end, whatever dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final, NamedTuple

import pytest
from redis.asyncio import Redis

from bridge.features.alerts.alert import AlertSpec, StoredAlert
from bridge.features.alerts.store import AlertStore
from bridge.features.registry import features
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import BOB, GENERAL, RANDOM
from bridge.queue.scripting import epoch_ms
from bridge.slack.parts import Place
from support.harness import Harness, Posted
from support.store import TEAM

MINUTE = timedelta(minutes=1)


class Kind(NamedTuple):
    """What's posted in a *channel* because there's a dead letter, and what *looks* for that."""

    mark: str
    channel: str
    looks: str
    on: str
    over: str
    said: str


KINDS: Final = {
    "alert": Kind(
        "bridge_alert", GENERAL, "alerts.evaluate_all", "⚠️ failed work &gt; 0: 1 message or command failed.",
        "✅ failed work &gt; 0 is over. It lasted 1 min.", "✅ Recovered after 1 min: no work failed.",
    ),
    "incident": Kind(
        "bridge_incident", RANDOM, "incidents.watch", "⚠️ Some work couldn't be finished: 1 message or command.",
        "✅ Over: there was work that couldn't be finished, for 2 min.", "✅ Over after 2 min.",
    ),
}  # fmt: skip


@pytest.fixture(params=KINDS)
async def kind(request: pytest.FixtureRequest, harness: Harness, redis: Redis) -> AsyncIterator[Kind]:
    harness.configure(BRIDGE_OPS_CHANNEL=RANDOM)
    if request.param == "alert":
        alert = StoredAlert("a1", AlertSpec(condition="failed work > 0", team=TEAM, channel=GENERAL, owner=BOB))
        await harness.store.process().inbox.write(*AlertStore(harness.store.scripts).add(alert, harness.store.clock()))
    await redis.config_set("appendonly", "yes")
    yield KINDS[request.param]
    await redis.config_set("appendonly", "no")


async def look(harness: Harness, kind: Kind) -> None:
    harness.store.clock.time += MINUTE
    await harness.parts().clock.do(next(job for job in features.jobs if job.name == kind.looks))


async def a_minute_later(harness: Harness, kind: Kind) -> None:
    await look(harness, kind)
    await harness.work()


async def begins(harness: Harness) -> None:
    await harness.store.redis.zadd(harness.store.scripts.keys.dead(), {"t1": epoch_ms(harness.store.clock())})


async def ends(harness: Harness) -> None:
    await harness.store.redis.delete(harness.store.scripts.keys.dead())


def posts(harness: Harness, kind: Kind) -> list[Posted]:
    return harness.seen.replies(kind.mark)


async def on(harness: Harness, kind: Kind) -> Posted:
    await begins(harness)
    await a_minute_later(harness, kind)
    (post,) = posts(harness, kind)
    return post


async def test_an_episode_is_one_message_while_it_lasts(harness: Harness, kind: Kind) -> None:
    for _ in range(3):
        await a_minute_later(harness, kind)
    assert posts(harness, kind) == []

    await begins(harness)
    for _ in range(10):
        await a_minute_later(harness, kind)

    (post,) = posts(harness, kind)
    assert (post.place, post.text) == (Place(kind.channel), kind.on)


async def test_its_end_is_a_reply_and_edits_the_message(harness: Harness, kind: Kind) -> None:
    first = await on(harness, kind)
    await ends(harness)
    for _ in range(3):
        await a_minute_later(harness, kind)

    edited, reply = posts(harness, kind)
    assert (edited.ts, edited.text) == (first.ts, kind.over)
    assert (reply.place, reply.text) == (Place(kind.channel, first.ts), kind.said)


@pytest.mark.parametrize("others", [1, 7])
async def test_one_of_many_processes_posts_each_change(harness: Harness, kind: Kind, others: int) -> None:
    job = next(job for job in features.jobs if job.name == kind.looks)
    names = [f"p{number}" for number in range(others + 1)]
    for changes in (begins, ends):
        await changes(harness)
        deps = [harness.parts(name).turns.deps for name in names]
        await asyncio.gather(*(job.handler(one) for one in deps))  # as if all had claimed the minute
        await asyncio.gather(*(harness.work(name) for name in names))

    assert [one.text[:1] for one in posts(harness, kind)] == ["✅", "✅"]


@pytest.mark.parametrize("killed_at", ["claim", "before the post", "after the post"])
async def test_what_a_killed_process_began_is_posted_once(harness: Harness, kind: Kind, killed_at: str) -> None:
    await begins(harness)
    await look(harness, kind)

    await harness.finish_despite_a_kill(killed_at)
    await a_minute_later(harness, kind)

    assert [one.text for one in posts(harness, kind)] == [kind.on]


@pytest.mark.parametrize("killed_at", ["claim", "edit", "before the reply", "after the reply"])
async def test_an_end_of_a_killed_process_is_posted_once(harness: Harness, kind: Kind, killed_at: str) -> None:
    first = await on(harness, kind)
    await ends(harness)
    await look(harness, kind)

    await harness.finish_despite_a_kill(killed_at)
    await a_minute_later(harness, kind)

    edited, reply = posts(harness, kind)
    assert edited.text == kind.over
    assert reply.place == Place(kind.channel, first.ts)


async def test_an_end_waits_for_the_post(harness: Harness, kind: Kind) -> None:
    await begins(harness)
    await look(harness, kind)
    await ends(harness)
    await look(harness, kind)
    assert posts(harness, kind) == [], "it's still queued"

    await harness.work()
    for _ in range(2):
        await a_minute_later(harness, kind)

    root, reply = posts(harness, kind)
    assert root.text.startswith("✅")
    assert reply.place == Place(kind.channel, root.ts)


async def test_a_deleted_message_does_not_hold_up_the_end(harness: Harness, kind: Kind) -> None:
    await on(harness, kind)
    harness.slack.faults.on("chat.update", Error("message_not_found"))
    await ends(harness)

    await a_minute_later(harness, kind)

    assert posts(harness, kind)[-1].text == kind.said
