"""A hung or restarted Redis: everything is answered in time, refused requests don't run later, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, GENERAL
from support.real_redis import ON_DISK, RealRedis
from support.system import System, open_system, text_of
from support.waiting import wait_until


def runs(system: System) -> list[object]:
    return [call.body["input"] for call in system.project.calls if call.path.endswith("/run")]


async def test_a_hung_redis_loses_and_repeats_nothing(private_redis: Callable[[], RealRedis]) -> None:
    async with asyncio.TaskGroup() as group:  # both wait for a lease
        group.create_task(commands_refused_do_not_run_later(private_redis()))
        group.create_task(replies_are_sent_once_with_a_known_outcome(private_redis()))


async def commands_refused_do_not_run_later(server: RealRedis) -> None:
    async with open_system(server.url, "test") as system:
        bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
        await system.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 before")
        await wait_until(lambda: runs(system), "the workflow runs")
        await wait_until(lambda: system.slack.messages(GENERAL), "the card is posted")
        card = next(message for message in system.slack.messages(GENERAL) if message.user == BRIDGE)
        await wait_until(lambda: "completed" in text_of(card), "the card shows the result")
        await system.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1")
        await wait_until(lambda: system.slack.views(ALICE), "the form is open")
        view = system.slack.views(ALICE)[-1]
        before = len(system.ephemerals(BOB))

        server.send_signal(signal.SIGSTOP)
        command, click, form, root = await asyncio.gather(
            system.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 refused"),
            system.slack.ui.click(BOB, GENERAL, card.ts, "run:again"),
            system.slack.ui.submit(view.id, {"input": "refused"}, ALICE),
            system.mention(ALICE, GENERAL, "hello there"),
        )
        mention = next(one for one in system.slack.deliveries[::-1] if one.name == "app_mention")
        health = (await bridge.state())[0]
        server.send_signal(signal.SIGCONT)
        await system.answered(GENERAL, root)
        await system.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 after")
        await wait_until(lambda: "after" in runs(system), "the bridge works again")

        assert (command.status, click.status, form.status, mention.status) == (200, 200, 200, 503)
        assert max(command.ms, click.ms, form.ms) < 3000
        assert "couldn't queue " in command.body
        assert "couldn't queue " in text_of(system.ephemerals(BOB)[before])
        assert view.errors, "the form stays open with the error"
        assert health == 200
        assert runs(system) == ["before", "after"]
        assert system.chats() == ["hello there"], "Slack retried it"


async def replies_are_sent_once_with_a_known_outcome(server: RealRedis) -> None:
    async with open_system(server.url, "test") as system:
        await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
        roots = [await system.mention(ALICE, GENERAL, f"hello {number}") for number in range(3)]
        for root in roots:
            await system.answered(GENERAL, root)

        server.send_signal(signal.SIGSTOP)
        await asyncio.gather(*(
            system.slack.people.say(ALICE, GENERAL, f"reply {number}", thread_ts=root)
            for number, root in enumerate(roots)
        ))  # fmt: skip
        server.send_signal(signal.SIGCONT)
        answers = [await system.answered(GENERAL, root, 2) for root in roots]

        assert "can't tell whether" not in str(answers), "the receiving process learned that its worker has the message"
        refused = [one for one in system.slack.deliveries if one.status == HTTPStatus.SERVICE_UNAVAILABLE]
        assert len(refused) >= len(roots), "Slack was asked to retry it"
        asked = [f"{words} {number}" for words in ("hello", "reply") for number in range(3)]
        assert sorted(system.chats()) == sorted(asked)


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


@contextmanager
def busy_disk(folder: Path) -> Iterator[None]:
    """Write and sync in *folder* continuously during the block, so that a server's own syncs are slow."""
    over = threading.Event()

    def write(path: Path) -> None:
        with path.open("wb", buffering=0) as file:
            while not over.is_set():
                file.seek(0)
                file.write(bytes(32 << 20))
                os.fsync(file.fileno())
        path.unlink()

    writers = [threading.Thread(target=write, args=(folder / f"busy{number}",)) for number in range(3)]
    for writer in writers:
        writer.start()
    try:
        yield
    finally:
        over.set()
        for writer in writers:
            writer.join()
