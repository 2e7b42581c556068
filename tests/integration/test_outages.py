"""The service, Redis or Slack is unavailable for a while: nothing is lost, and people are notified."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, GENERAL, RANDOM
from support.busy_disk import busy_disk
from support.real_redis import ON_DISK, RealRedis
from support.world import World, a_world

CHAT = "/api/sdk/agents/1/chat"


async def test_messages_of_an_outage_of_the_service_are_answered_after_it(world: World) -> None:
    await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
    root = await world.mention(ALICE, GENERAL, "hello there")
    await world.answered(GENERAL, root)
    await world.project.stop()

    await world.slack.people.say(ALICE, GENERAL, "are you there?", thread_ts=root)
    said = await world.answered(GENERAL, root, 2, timeout=30)
    await world.slack.people.say(ALICE, GENERAL, "and now?", thread_ts=root)
    other = await world.mention(BOB, RANDOM, "hello from here")
    await world.answered(RANDOM, other, 1, timeout=30)
    await world.project.start()
    await world.answered(GENERAL, root, 4, timeout=30)
    await world.answered(RANDOM, other, 2, timeout=30)

    assert "down" in said[1]
    assert "is queued" in said[1]
    assert world.chats()[0:1] == ["hello there"]
    assert [words for words in world.chats() if words in {"are you there?", "and now?"}] == [
        "are you there?",
        "and now?",
    ]
    assert sum("down" in words for words in world.said(GENERAL, root)) == 1, "notified once"


@pytest.fixture
def redis_on_disk() -> Iterator[RealRedis]:
    """A server with its data on a real disk."""
    with tempfile.TemporaryDirectory(prefix="br-", dir=ON_DISK) as folder, RealRedis(Path(folder)) as server:
        yield server


async def test_redis_killed_and_restarted(redis_on_disk: RealRedis) -> None:
    server = redis_on_disk
    async with a_world(server.url, "test") as world:
        bridge = await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
        with busy_disk(server.folder):
            root = await threads_until_a_write_is_put_off(world)
            server.kill()

        answer = await world.slack.ui.command(ALICE, GENERAL, "/stats")
        assert answer.status == 200
        assert answer.ms < 3000
        assert "couldn't queue this" in answer.body
        asked = world.chats()
        await world.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root)
        assert world.slack.deliveries[-1].status == 503
        assert (await bridge.state())[0] == 200
        server.start()
        said = await world.answered(GENERAL, root, 2, timeout=30)

        assert "Alice" in said[1]
        assert len(world.answers(GENERAL, root)) == 2
        assert world.chats() == [*asked, "what is my name?"]


async def threads_until_a_write_is_put_off(world: World) -> str:
    """Start thread after thread, each with an answer, for more than a second; return the last one.

    With `appendfsync everysec` a server syncs once a second in the background and meanwhile delays writes that it has
    already answered: the moment to kill it. With `always` there is no such moment.
    """
    deadline = time.monotonic() + 1.5
    while True:
        root = await world.mention(ALICE, GENERAL, "my name is Alice")
        await world.answered(GENERAL, root)
        is_put_off = (await world.redis.info("persistence"))["aof_pending_bio_fsync"]
        if is_put_off or time.monotonic() > deadline:
            return root
