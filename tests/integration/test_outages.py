"""The service, Redis or Slack is unavailable for a while: nothing is lost, and people are notified."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.playground.emulator.sample import ALICE, GENERAL
from support.busy_disk import busy_disk
from support.real_redis import ON_DISK, RealRedis
from support.system import System, open_system


@pytest.fixture
def redis_on_disk() -> Iterator[RealRedis]:
    """A server with its data on a real disk."""
    with tempfile.TemporaryDirectory(prefix="br-", dir=ON_DISK) as folder, RealRedis(Path(folder)) as server:
        yield server


async def test_messages_during_a_redis_restart_are_answered(redis_on_disk: RealRedis) -> None:
    server = redis_on_disk
    async with open_system(server.url, "test") as system:
        bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
        with busy_disk(server.folder):
            root = await threads_until_a_write_is_delayed(system)
            server.kill()

        answer = await system.slack.ui.command(ALICE, GENERAL, "/stats")
        assert answer.status == 200
        assert answer.ms < 3000
        assert "couldn't queue " in answer.body
        asked = system.chats()
        await system.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root)
        assert system.slack.deliveries[-1].status == 503
        assert (await bridge.state())[0] == 200
        server.start()
        answers = await system.answered(GENERAL, root, 2, timeout=30)

        assert "Alice" in answers[1]
        assert len(system.answers(GENERAL, root)) == 2
        assert system.chats() == [*asked, "what is my name?"]


async def threads_until_a_write_is_delayed(system: System) -> str:
    """Start thread after thread, each with an answer, for more than a second; return the last one.

    With `appendfsync everysec` a server syncs once a second in the background and meanwhile delays writes that it has
    already answered: the moment to kill it. With `always` there is no such moment.
    """
    deadline = time.monotonic() + 1.5
    while True:
        root = await system.mention(ALICE, GENERAL, "my name is Alice")
        await system.answered(GENERAL, root)
        is_put_off = (await system.redis.info("persistence"))["aof_pending_bio_fsync"]
        if is_put_off or time.monotonic() > deadline:
            return root
