"""A backup of Redis, restored as docs/how-to/back-up-and-restore.md says: conversations continue."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL
from support.crowd import was_away
from support.real_redis import RealRedis
from support.system import System, open_system
from support.waiting import wait_until

SETTINGS = {"BRIDGE_DEFAULT_AGENT": "1", "BRIDGE_MAX_AGE": "30d"}
AN_HOUR = 3600.0
Step = Callable[[System, RealRedis, Path], Awaitable[None]]


async def copied_file(system: System, server: RealRedis, folder: Path) -> None:
    await system.redis.config_set("auto-aof-rewrite-percentage", 0)
    assert (await system.redis.info("persistence"))["aof_rewrite_in_progress"] == 0
    shutil.copytree(server.folder / "appendonlydir", folder / "appendonlydir")


async def snapshot(system: System, server: RealRedis, folder: Path) -> None:
    await system.redis.save()
    shutil.copy(server.folder / "dump.rdb", folder)


async def restored_file(system: System, server: RealRedis, folder: Path) -> None:  # noqa: ARG001 - a step takes all three
    shutil.copytree(folder / "appendonlydir", server.folder / "appendonlydir")
    server.start()


async def restored_snapshot(system: System, server: RealRedis, folder: Path) -> None:
    shutil.copy(folder / "dump.rdb", server.folder)
    server.start("--appendonly", "no")
    await system.redis.config_set("appendonly", "yes")

    async def is_written() -> bool:
        return bool((await system.redis.info("persistence"))["aof_rewrite_in_progress"] == 0)

    await wait_until(is_written, "the append-only file is written")
    server.stop()
    await system.redis.connection_pool.disconnect()
    server.start()


@pytest.mark.parametrize(("back_up", "restore"), [(copied_file, restored_file), (snapshot, restored_snapshot)])
async def test_a_restored_backup_continues_conversations_and_answers_nothing_twice(
    private_redis: Callable[[], RealRedis], tmp_path: Path, back_up: Step, restore: Step
) -> None:
    server = private_redis()
    async with open_system(server.url, f"test-{secrets.token_hex(4)}") as system:
        bridge = await system.start_bridge(**SETTINGS)
        old = await system.mention(ALICE, GENERAL, "my name is Ada")
        await system.answered(GENERAL, old)
        await back_up(system, server, tmp_path)
        await system.replied(ALICE, GENERAL, old, "what is my name?")
        late = await system.mention(ALICE, GENERAL, "my name is Bob")
        await system.answered(GENERAL, late)
        await bridge.kill()
        server.kill()
        await system.redis.connection_pool.disconnect()
        shutil.rmtree(server.folder / "appendonlydir")
        (server.folder / "dump.rdb").unlink(missing_ok=True)

        await restore(system, server, tmp_path)
        await was_away(system, AN_HOUR)
        await system.start_bridge(**SETTINGS)
        await wait_until(lambda: has_caught_up(system), "the bridge has caught up")
        answers = await system.replied(ALICE, GENERAL, old, "what is my name?")
        answers += await system.replied(ALICE, GENERAL, late, f"<@{BRIDGE}> what is my name?")

    asked = ["my name is Ada", "what is my name?", "my name is Bob", "what is my name?", "what is my name?"]
    assert system.chats() == asked
    names = [words.splitlines()[0] for words in answers if words.startswith("Your name")]
    assert (names[-2], names[-1]) == ("Your name is Ada.", "Your name is Bob.")


async def has_caught_up(system: System) -> bool:
    return bool(await system.redis.hexists(f"{{{system.namespace}}}:catch_up", "done"))
