"""Messages from a long outage are found in Slack's history and answered once, in order."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, GENERAL, RANDOM
from support.crowd import MENTION, THREADS, Crowd, was_away, was_down
from support.forks import run
from support.outage import Line, nobody_listens, talk
from support.real_redis import RealRedis
from support.waiting import wait_until
from support.world import World, a_world

HOUR, DAY = 3600.0, 86_400.0
SETTINGS = {"BRIDGE_DEFAULT_AGENT": "1", "BRIDGE_MAX_AGE": "30d", "BRIDGE_THREAD_TURNS_PER_MINUTE": "0"}


async def a_heartbeat(world: World) -> None:
    """Wait for a bridge's next heartbeat in the namespace."""
    owner = f"{{{world.namespace}}}:owner"
    before = await world.redis.hget(owner, "alive")

    async def beats() -> bool:
        return before != await world.redis.hget(owner, "alive")

    await wait_until(beats, "the next heartbeat")


@pytest.mark.parametrize("seconds", [HOUR / 2, HOUR, DAY, 7 * DAY])
async def test_a_crowd_that_talked_in_an_outage_is_answered_once_and_in_order(world: World, seconds: float) -> None:
    bridge = await world.start_bridge(**SETTINGS)
    crowd = Crowd(world)
    await crowd.gather(since=seconds + HOUR)
    await bridge.kill()
    await crowd.talk(seconds)
    await was_down(world, seconds)

    await world.start_bridge(**SETTINGS)
    await crowd.settled(crowd.count)

    assert crowd.faults() == []
    assert len(crowd.threads) == THREADS


@pytest.mark.timeout(180)  # the dead bridge's claim has to expire
async def test_a_killed_process_is_followed_by_another(world: World) -> None:
    bridge = await world.start_bridge(**SETTINGS)
    crowd = Crowd(world)
    await crowd.gather(since=2 * HOUR)
    await bridge.kill()
    await crowd.talk(HOUR, rounds=4)
    await was_down(world, HOUR)
    await world.start_bridge(**SETTINGS)
    await world.start_bridge(**SETTINGS)
    prefix = f"{{{world.namespace}}}:"

    async def has_begun() -> bool:
        return int(await world.redis.hget(f"{prefix}catch_up", "read") or 0) > 2

    await wait_until(has_begun, "catching up begins")
    reader = str(await world.redis.get(f"{prefix}catching_up"))
    os.kill(int(reader.split(":")[1]), signal.SIGKILL)
    left = await world.redis.zcard(f"{prefix}unread")
    await crowd.settled(crowd.count)

    assert left > 0
    assert crowd.faults() == []


async def test_over_a_socket_an_outage_is_noticed_when_it_is_open_again(world: World) -> None:
    await world.start_bridge_on_a_socket(**SETTINGS)
    crowd = Crowd(world)
    await crowd.gather(4, since=2 * HOUR)

    with nobody_listens(world.slack):
        await wait_until(lambda: not world.slack.sockets, "no socket is open")
        await crowd.talk(HOUR)
        await was_away(world, HOUR)
        await a_heartbeat(world)
        assert not await world.redis.exists(f"{{{world.namespace}}}:catch_up"), "the socket is still closed"
    await crowd.settled(crowd.count)

    assert crowd.faults() == []


async def test_messages_of_an_outage_of_redis_are_caught_up(private_redis: Callable[[], RealRedis]) -> None:
    server = private_redis()
    async with a_world(server.url, "test") as world:
        bridge = await world.start_bridge(**SETTINGS)
        crowd = Crowd(world)
        await crowd.gather(4, since=2 * HOUR)
        bridge.send_signal(signal.SIGSTOP)  # the next heartbeat would say that it is listening
        await was_away(world, HOUR)
        server.kill()
        bridge.send_signal(signal.SIGCONT)
        await wait_until(lambda: b"Redis is unavailable" in bridge.log, "the bridge notices")
        await crowd.talk(HOUR)

        server.start()
        await crowd.settled(crowd.count)

    assert crowd.faults() == []


async def test_switched_off_nothing_is_looked_for(world: World) -> None:
    bridge = await world.start_bridge(**SETTINGS)
    await bridge.kill()
    with nobody_listens(world.slack):
        await talk(world.slack, HOUR / 2, [Line(ALICE, GENERAL, f"{MENTION}while away")])
    await was_down(world, HOUR)

    await world.start_bridge(**SETTINGS, BRIDGE_CATCH_UP="off")
    await world.answered(GENERAL, await world.mention(BOB, GENERAL, "live"))

    assert world.chats() == ["live"]
    assert not await world.redis.exists(f"{{{world.namespace}}}:catch_up")


async def prints(world: World, folder: Path, *words: str, code: int = 0) -> str:
    """A command's output, given only the Redis URL."""
    here = {"REDIS_URL": world.redis_url, "BRIDGE_NAMESPACE": world.namespace}
    ended, printed, _ = await run(words, folder, {**os.environ, **here})
    assert ended == code
    return printed


async def test_a_wiped_redis_loses_neither_sessions_nor_messages_that_waited(
    private_redis: Callable[[], RealRedis], tmp_path: Path
) -> None:
    server = private_redis()
    async with a_world(server.url, "test") as world:
        prefix = f"{{{world.namespace}}}:"
        bridge = await world.start_bridge(**SETTINGS)
        root = await world.mention(ALICE, GENERAL, "first words")
        await world.answered(GENERAL, root)
        session = max(world.project.operations.talks)
        await world.project.stop()
        await world.slack.people.say(ALICE, GENERAL, "waiting here", thread_ts=root)
        other = await world.mention(BOB, RANDOM, "waiting there")
        await world.answered(RANDOM, other)  # the answer says that the service is down

        await world.redis.hset(f"{prefix}defaults", "T0HOME:C0ELSEWHERE", "7")
        await a_heartbeat(world)  # the bridge has read the settings
        await world.redis.flushall()
        await wait_until(lambda: b"Redis was wiped" in bridge.log, "the bridge notices")
        await world.project.start()

        def words() -> list[str]:
            return [one for one in world.chats() if one.startswith("waiting")]

        await wait_until(
            lambda: sorted(words()) == ["waiting here", "waiting there"], f"both messages are answered: {words()}"
        )
        await wait_until(world.is_at_rest, "nothing is queued")
        told = [
            (await bridge.state())[1]["redis_notice"],
            await prints(world, tmp_path, "status"),
            await prints(world, tmp_path, "check", code=1),  # without a project
        ]

    assert all("the settings of 1 channel (default agents, apps)" in " ".join(one.split()) for one in told)
    assert all("docs/how-to/back-up-and-restore.md" in one for one in told)
    asked = {body["message"]: body.get("sessionId") for body in world.bodies()}
    assert asked["waiting here"] == session
    assert world.chats().count("first words") == 1


async def test_an_unnoticed_outage_is_caught_up_on_request(world: World, tmp_path: Path) -> None:
    await world.start_bridge(**SETTINGS)
    crowd = Crowd(world)
    await crowd.gather(4, since=2 * HOUR)
    await crowd.talk(HOUR)

    said = await prints(world, tmp_path, "catch-up", "--since", "2h")
    await crowd.settled(crowd.count)

    assert "catching up starts" in said
    assert crowd.faults() == []
    assert "caught up at" in await prints(world, tmp_path, "status")
