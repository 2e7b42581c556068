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
from support.waiting import wait_until
from support.world import World, a_world

SETTINGS = {"BRIDGE_DEFAULT_AGENT": "1", "BRIDGE_MAX_AGE": "30d"}
AN_HOUR = 3600.0
Step = Callable[[World, RealRedis, Path], Awaitable[None]]


async def copied_file(world: World, server: RealRedis, folder: Path) -> None:
    await world.redis.config_set("auto-aof-rewrite-percentage", 0)
    assert (await world.redis.info("persistence"))["aof_rewrite_in_progress"] == 0
    shutil.copytree(server.folder / "appendonlydir", folder / "appendonlydir")


async def snapshot(world: World, server: RealRedis, folder: Path) -> None:
    await world.redis.save()
    shutil.copy(server.folder / "dump.rdb", folder)


async def restored_file(world: World, server: RealRedis, folder: Path) -> None:  # noqa: ARG001 - a step takes all three
    shutil.copytree(folder / "appendonlydir", server.folder / "appendonlydir")
    server.start()


async def restored_snapshot(world: World, server: RealRedis, folder: Path) -> None:
    shutil.copy(folder / "dump.rdb", server.folder)
    server.start("--appendonly", "no")
    await world.redis.config_set("appendonly", "yes")

    async def is_written() -> bool:
        return bool((await world.redis.info("persistence"))["aof_rewrite_in_progress"] == 0)

    await wait_until(is_written, "the append-only file is written")
    server.stop()
    await world.redis.connection_pool.disconnect()
    server.start()


@pytest.mark.parametrize(("back_up", "restore"), [(copied_file, restored_file), (snapshot, restored_snapshot)])
async def test_a_restored_backup_continues_conversations_and_answers_nothing_twice(
    private_redis: Callable[[], RealRedis], tmp_path: Path, back_up: Step, restore: Step
) -> None:
    server = private_redis()
    async with a_world(server.url, f"test-{secrets.token_hex(4)}") as world:
        bridge = await world.start_bridge(**SETTINGS)
        old = await world.mention(ALICE, GENERAL, "my name is Ada")
        await world.answered(GENERAL, old)
        await back_up(world, server, tmp_path)
        await world.replied(ALICE, GENERAL, old, "what is my name?")
        late = await world.mention(ALICE, GENERAL, "my name is Bob")
        await world.answered(GENERAL, late)
        await bridge.kill()
        server.kill()
        await world.redis.connection_pool.disconnect()
        shutil.rmtree(server.folder / "appendonlydir")
        (server.folder / "dump.rdb").unlink(missing_ok=True)

        await restore(world, server, tmp_path)
        await was_away(world, AN_HOUR)
        await world.start_bridge(**SETTINGS)
        await wait_until(lambda: has_caught_up(world), "the bridge has caught up")
        said = await world.replied(ALICE, GENERAL, old, "what is my name?")
        said += await world.replied(ALICE, GENERAL, late, f"<@{BRIDGE}> what is my name?")

    asked = ["my name is Ada", "what is my name?", "my name is Bob", "what is my name?", "what is my name?"]
    assert world.chats() == asked
    names = [words.splitlines()[0] for words in said if words.startswith("Your name")]
    assert (names[-2], names[-1]) == ("Your name is Ada.", "Your name is Bob.")


async def has_caught_up(world: World) -> bool:
    return bool(await world.redis.hexists(f"{{{world.namespace}}}:catch_up", "done"))
