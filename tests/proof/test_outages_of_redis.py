"""People keep writing while a real Redis is full, read-only, loading, slow or unable to write: nothing is lost."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shlex
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

import bridge
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, CAROL, GENERAL, PRIVATE, RANDOM, SHARED
from bridge.playground.sample_project.answers import Proper
from support.continuous_load import RETRIES, continuous_load
from support.real_redis import RealRedis
from support.system import BridgeProcess, System, open_system
from support.waiting import wait_until

CODE = Path(bridge.__file__).parent.parent

Fault = Callable[[System, RealRedis], AbstractAsyncContextManager[None]]

PEOPLE = ((ALICE, GENERAL), (BOB, RANDOM), (CAROL, SHARED))
SLOWLY = ("--key-load-delay", "10000", "--loading-process-events-interval-bytes", "1024")


async def test_messages_are_answered_despite_every_redis_failure(
    private_redis: Callable[[], RealRedis],
) -> None:
    server = private_redis()
    async with open_system(server.url, "test", retry_delays=RETRIES) as system:
        bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_THREAD_TURNS_PER_MINUTE="0")
        async with continuous_load(system, *PEOPLE) as threads:
            for fault in (is_loading, is_full, is_read_only, cannot_write, is_slow):
                await threads.wait_until_accepted(1)
                async with fault(system, server):
                    await refused_meanwhile(system, fault.__name__)
                    # The other faults let some writes through, such as a reply in a full one.
                    if fault in {is_read_only, cannot_write}:
                        await threads.wait_until_refused(2)
                await threads.wait_until_accepted(1)

        await bridge.reaches("redis")


async def test_messages_after_a_refused_one_are_answered_in_order(
    private_redis: Callable[[], RealRedis],
) -> None:
    server = private_redis()
    async with open_system(server.url, "test", retry_delays=(1.0, 2.0, 3.0)) as system:
        slack, replica = system.slack, await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
        await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
        system.project.on("POST", "/api/sdk/agents/1/chat", Proper(delay=2.0))
        busy = await system.mention(BOB, RANDOM, "begin")
        await wait_until(lambda: system.chats() == ["begin"], "the agent is asked")

        server.kill()
        root = await system.mention(ALICE, GENERAL, "hello there")
        await slack.people.say(BOB, RANDOM, "first", thread_ts=busy)
        gone, changed = [await system.mention(CAROL, SHARED, text) for text in ("oh no", "old")]
        await slack.people.delete(SHARED, gone)
        await slack.people.edit(SHARED, changed, f"<@{BRIDGE}> new")
        await asyncio.to_thread(server.start)
        await wait_until(
            lambda: system.redis.exists("{test}:refusing"), "the other bridge knows when messages were refused"
        )
        slack.events_url = f"{replica.url}/slack/events"
        await slack.people.say(ALICE, GENERAL, "and this", thread_ts=root)
        await slack.people.say(BOB, RANDOM, "second", thread_ts=busy)
        await system.answered(GENERAL, root, 2)
        await system.answered(RANDOM, busy, 3)
        await system.answered(SHARED, changed)

        assert [text for text in system.chats() if text in {"hello there", "and this"}] == [
            "hello there",
            "and this",
        ]
        assert [words for words in system.chats() if words in {"begin", "first", "second"}] == [
            "begin",
            "first",
            "second",
        ]
        assert sorted(set(system.chats()) & {"oh no", "old", "new"}) == ["new"]
        assert len(system.chats()) == 6


async def test_refused_messages_are_answered_before_slack_retries(private_redis: Callable[[], RealRedis]) -> None:
    server = private_redis()
    async with open_system(server.url, "test", retry_delays=(600.0,)) as system:
        await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
        busy = await system.mention(BOB, RANDOM, "begin")
        await system.answered(RANDOM, busy)

        server.kill()
        root = await system.mention(ALICE, GENERAL, "hello there")
        await system.slack.people.say(ALICE, GENERAL, "and this", thread_ts=root)
        await system.slack.people.say(BOB, RANDOM, "first", thread_ts=busy)
        refused = [delivery.status for delivery in system.slack.deliveries[-3:]]
        await asyncio.to_thread(server.start)
        await system.slack.people.say(BOB, RANDOM, "second", thread_ts=busy)
        await system.answered(GENERAL, root, 2)
        await system.answered(RANDOM, busy, 3)

        assert refused == [503] * 3
        assert [words for words in system.chats() if words in {"begin", "first", "second"}] == [
            "begin",
            "first",
            "second",
        ]
        assert [words for words in system.chats() if words in {"hello there", "and this"}] == [
            "hello there",
            "and this",
        ]
        assert len(system.chats()) == 5


async def refused_meanwhile(system: System, what: str) -> None:
    """Wait until a command is answered with the notice that nothing can be accepted."""

    async def is_told() -> bool:
        return "couldn't queue " in (await system.slack.ui.command(ALICE, PRIVATE, "/stats")).body

    await wait_until(is_told, f"a command is refused while redis {what}", 15)


@asynccontextmanager
async def is_full(system: System, _server: RealRedis) -> AsyncIterator[None]:
    """Every write fails with OOM."""
    await system.redis.config_set("maxmemory", "1")
    yield
    await system.redis.config_set("maxmemory", "0")


@asynccontextmanager
async def is_read_only(system: System, _server: RealRedis) -> AsyncIterator[None]:
    """The server became a replica."""
    await system.redis.slaveof("127.0.0.1", "1")
    yield
    await system.redis.slaveof()


@asynccontextmanager
async def cannot_write(system: System, _server: RealRedis) -> AsyncIterator[None]:
    """The server requires a replica that is missing, and refuses writes."""
    await system.redis.config_set("min-replicas-to-write", "1")
    yield
    await system.redis.config_set("min-replicas-to-write", "0")


@asynccontextmanager
async def is_slow(_system: System, server: RealRedis) -> AsyncIterator[None]:
    """The server is suspended most of the time."""

    async def stutter() -> None:
        while True:
            server.send_signal(signal.SIGSTOP)
            await asyncio.sleep(2.5)
            server.send_signal(signal.SIGCONT)
            await asyncio.sleep(0.1)

    task = asyncio.create_task(stutter())
    try:
        yield
    finally:
        task.cancel()
        server.send_signal(signal.SIGCONT)


@asynccontextmanager
async def is_loading(system: System, server: RealRedis) -> AsyncIterator[None]:
    """The server was killed and reloads its file, which takes longer the more was written; so this comes first.

    A fast reload may go unnoticed on a busy machine; then the server is killed again.
    """
    for number in range(50):  # 10 ms each, however little was written so far
        await system.redis.set(f"ballast:{number}", "x" * 1024, ex=60)
    is_over = asyncio.Event()
    server.kill()
    starting = asyncio.create_task(restarted_until(is_over, server))
    try:
        yield
    finally:
        is_over.set()
        await starting


async def restarted_until(is_over: asyncio.Event, server: RealRedis) -> None:
    await asyncio.to_thread(server.start, *SLOWLY)
    while not is_over.is_set():
        server.kill()
        await asyncio.to_thread(server.start, *SLOWLY)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A data folder whose server stops with the test."""
    with tempfile.TemporaryDirectory(prefix="br-") as path:
        yield Path(path)
        if (Path(path) / "redis.sock").exists():
            os.kill(server_pid(Path(path)), signal.SIGKILL)


def server_pid(folder: Path) -> int:
    return int((folder / "redis.pid").read_text())


@asynccontextmanager
async def on_an_embedded_redis(folder: Path) -> AsyncIterator[tuple[System, BridgeProcess]]:
    async with open_system(f"unix://{folder}/redis.sock", "test", retry_delays=[0.5] * 30) as system:
        environ = {"REDIS_URL": "", "BRIDGE_DATA_DIR": str(folder), "BRIDGE_DEFAULT_AGENT": "1"}
        yield system, await system.start_bridge("--embedded-redis", **environ)


async def test_a_killed_embedded_redis_restarts_with_its_data(folder: Path) -> None:
    async with on_an_embedded_redis(folder) as (system, bridge):
        root = await system.mention(ALICE, GENERAL, "my name is Alice")
        await system.answered(GENERAL, root)
        before = server_pid(folder)

        os.kill(before, signal.SIGKILL)
        answers = await system.replied(ALICE, GENERAL, root, "what is my name?")
        await bridge.reaches("redis")

        assert "Alice" in answers[1]
        assert system.chats() == ["my name is Alice", "what is my name?"]
        assert server_pid(folder) != before
        assert "redis_trouble" not in (await bridge.state())[1]


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of another process are Linux's")
async def test_an_embedded_redis_without_room_is_reported_and_recovers(folder: Path) -> None:
    async with on_an_embedded_redis(folder) as (system, bridge):
        root = await system.mention(ALICE, GENERAL, "my name is Alice")
        await system.answered(GENERAL, root)
        assert bridge.process is not None

        with no_room(bridge.process.pid, server_pid(folder)):
            await system.slack.people.say(ALICE, GENERAL, "what is my name?", thread_ts=root)
            refused = system.slack.deliveries[-1].status

            async def is_named() -> bool:
                said = (await bridge.state())[1]
                return said["redis"] == "down" and "can't grow any larger" in said.get("redis_trouble", "")

            await wait_until(is_named, "it reports the problem")
            status, _ = await bridge.state()
            code, checked = await check_without_room(folder)
        said = await system.answered(GENERAL, root, 2)
        await bridge.reaches("redis")

        assert (refused, status, code) == (503, 200, 1)
        assert "can't grow any larger" in checked["detail"]
        assert "recovers by itself" in checked["cure"]
        assert "Alice" in said[1]
        assert system.chats() == ["my name is Alice", "what is my name?"]
        assert "redis_trouble" not in (await bridge.state())[1]


@contextmanager
def no_room(*pids: int) -> Iterator[None]:
    """Limit file sizes for these processes and the server they start, as on a full disk."""
    before = [resource.prlimit(pid, resource.RLIMIT_FSIZE) for pid in pids]
    for pid, (_, most) in zip(pids, before, strict=True):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, most))
    try:
        yield
    finally:
        resource.prlimit(pids[0], resource.RLIMIT_FSIZE, before[0])  # the others have ended


async def check_without_room(folder: Path) -> tuple[int, dict[str, Any]]:
    """Run the check while no file can grow; return its exit code and its row for the embedded Redis."""
    command = shlex.join([sys.executable, "-m", "bridge", "check", "--json", "--embedded-redis"])
    process = await asyncio.create_subprocess_shell(
        f"ulimit -f 1; exec {command}",
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(CODE),
            "PYTHONDONTWRITEBYTECODE": "1",
            "BRIDGE_DATA_DIR": str(folder),
        },
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    [row] = [row for row in json.loads(output)["rows"] if row["area"] == "Redis"]
    return process.returncode or 0, row
