"""Messages from a long outage are found in Slack's history and answered once, in order."""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bridge.playground.emulator.faults import Http
from bridge.playground.emulator.sample import ALICE, BOB, GENERAL, RANDOM
from support import forks
from support.crowd import MENTION, THREADS, Crowd, was_away, was_down
from support.forks import run
from support.kill_runs import end_leases
from support.outage import Line, outage, talk
from support.real_redis import RealRedis
from support.system import System, open_system
from support.waiting import wait_until

HOUR, DAY = 3600.0, 86_400.0
SETTINGS = {"BRIDGE_DEFAULT_AGENT": "1", "BRIDGE_MAX_AGE": "30d", "BRIDGE_THREAD_TURNS_PER_MINUTE": "0"}


async def wait_for_heartbeat(system: System) -> None:
    """Wait for a bridge's next heartbeat in the namespace."""
    owner = f"{{{system.namespace}}}:owner"
    before = await system.redis.hget(owner, "alive")

    async def beats() -> bool:
        return before != await system.redis.hget(owner, "alive")

    await wait_until(beats, "the next heartbeat")


@pytest.mark.parametrize("seconds", [HOUR / 2, 7 * DAY])
async def test_messages_sent_in_an_outage_are_answered_once_in_order(system: System, seconds: float) -> None:
    bridge = await system.start_bridge(**SETTINGS)
    crowd = Crowd(system)
    await crowd.gather(since=seconds + HOUR)
    await bridge.kill()
    await crowd.talk(seconds)
    await was_down(system, seconds)

    await system.start_bridge(**SETTINGS)
    await crowd.settled(crowd.count)

    assert crowd.faults() == []
    assert len(crowd.threads) == THREADS


async def test_another_process_continues_after_a_kill(system: System) -> None:
    bridge = await system.start_bridge(**SETTINGS)
    crowd = Crowd(system, size=12)  # so many that the reader is killed before its end
    await crowd.gather(20, since=2 * HOUR)
    await bridge.kill()
    await crowd.talk(HOUR, rounds=3)
    await was_down(system, HOUR)
    await system.start_bridge(**SETTINGS)
    await system.start_bridge(**SETTINGS)
    prefix = f"{{{system.namespace}}}:"

    async def has_begun() -> bool:
        return int(await system.redis.hget(f"{prefix}catch_up", "read") or 0) > 2

    await wait_until(has_begun, "catching up begins")
    reader = str(await system.redis.get(f"{prefix}catching_up"))
    os.kill(int(reader.split(":")[1]), signal.SIGKILL)
    await system.redis.delete(f"{prefix}catching_up")  # rather than wait for its claim to expire
    await end_leases(system)
    left = await system.redis.zcard(f"{prefix}unread")
    await crowd.settled(crowd.count)

    assert left > 0
    assert crowd.faults() == []


async def test_over_a_socket_an_outage_is_noticed_on_reconnection(system: System) -> None:
    await system.start_bridge_on_a_socket(**SETTINGS)
    crowd = Crowd(system)
    await crowd.gather(4, since=2 * HOUR)

    with outage(system.slack):
        await wait_until(lambda: not system.slack.sockets, "no socket is open")
        await crowd.talk(HOUR)
        await was_away(system, HOUR)
        await wait_for_heartbeat(system)
        assert not await system.redis.exists(f"{{{system.namespace}}}:catch_up"), "the socket is still closed"
    await crowd.settled(crowd.count)

    assert crowd.faults() == []


async def test_messages_of_an_outage_of_redis_are_caught_up(private_redis: Callable[[], RealRedis]) -> None:
    server = private_redis()
    async with open_system(server.url, "test") as system:
        bridge = await system.start_bridge(**SETTINGS)
        crowd = Crowd(system)
        await crowd.gather(4, since=2 * HOUR)
        bridge.send_signal(signal.SIGSTOP)  # the next heartbeat would say that it is listening
        await was_away(system, HOUR)
        server.kill()
        bridge.send_signal(signal.SIGCONT)
        await wait_until(lambda: b"Redis is unavailable" in bridge.log, "the bridge notices")
        await crowd.talk(HOUR)

        server.start()
        await crowd.settled(crowd.count)

    assert crowd.faults() == []


@pytest.mark.parametrize("off", [-3600, 3600])
async def test_a_clock_that_is_an_hour_off_loses_nothing(redis_server: RealRedis, off: int) -> None:
    name = f"test-{secrets.token_hex(4)}"
    async with open_system(redis_server.url, name, clock=lambda: time.time() + off) as system:
        bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
        root = await system.mention(ALICE, GENERAL, "hello there")
        await system.answered(GENERAL, root)
        status, state = await bridge.state()

    assert (status, state["slack"]) == (200, "up")
    assert "this machine's clock is " in state["clock_trouble"]
    assert b"this machine's clock is wrong: synchronize it" in bridge.log


async def test_messages_refused_for_their_time_are_caught_up(redis_server: RealRedis) -> None:
    async with open_system(redis_server.url, f"test-{secrets.token_hex(4)}", retry_delays=()) as system:
        bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
        system.slack.clock.move(3600)  # by Slack's clock, this machine's is behind now
        system.slack.faults.on("auth.test", Http(503), times=None)
        root = await system.mention(ALICE, GENERAL, "hello there")
        await wait_until(lambda: system.slack.deliveries[0].status, "the event is refused")
        status, state = await bridge.state()
        await system.answered(GENERAL, root)

    assert system.slack.deliveries[0].status == 401
    assert (status, state["slack"]) == (503, "down")
    assert "requests from Slack are refused" in state["clock_trouble"]
    assert b'"message": "refused requests with 401"' in bridge.log
    assert system.chats() == ["hello there"]


async def test_switched_off_catch_up_reads_nothing(system: System) -> None:
    bridge = await system.start_bridge(**SETTINGS)
    await bridge.kill()
    with outage(system.slack):
        await talk(system.slack, HOUR / 2, [Line(ALICE, GENERAL, f"{MENTION}while away")])
    await was_down(system, HOUR)

    await system.start_bridge(**SETTINGS, BRIDGE_CATCH_UP="off")
    await system.answered(GENERAL, await system.mention(BOB, GENERAL, "live"))

    assert system.chats() == ["live"]
    assert not await system.redis.exists(f"{{{system.namespace}}}:catch_up")


async def command_output(system: System, folder: Path, *words: str, code: int = 0) -> str:
    """A command's output, given only the Redis URL."""
    here = {"REDIS_URL": system.redis_url, "BRIDGE_NAMESPACE": system.namespace}
    ended, printed, _ = await run(words, folder, {**os.environ, **here})
    assert ended == code
    return printed


async def test_a_wiped_redis_loses_neither_sessions_nor_queued_messages(
    private_redis: Callable[[], RealRedis], tmp_path: Path
) -> None:
    server = private_redis()
    async with open_system(server.url, "test") as system:
        prefix = f"{{{system.namespace}}}:"
        bridge = await system.start_bridge(**SETTINGS, timing={"lease": 2.0} if forks.are_possible() else {})
        root = await system.mention(ALICE, GENERAL, "first words")
        await system.answered(GENERAL, root)
        session = max(system.project.operations.talks)
        await system.project.stop()
        await system.slack.people.say(ALICE, GENERAL, "waiting here", thread_ts=root)
        other = await system.mention(BOB, RANDOM, "waiting there")
        await system.answered(RANDOM, other)  # the answer says that the service is down

        settings = '{"agent": 7, "apps": {"A0JIRA": {"agent": 7, "name": "Jira", "owner": "U0BOB"}}, "v": 1}'
        await system.redis.hset(f"{prefix}defaults", "T0HOME:C0ELSEWHERE", settings)
        for listed in ("reports", "alerts", "approvals"):
            await system.redis.zadd(f"{prefix}{listed}", {"x1": 2e12, "x2": 2e12})
        handle = '{"agent": 7, "handle": "x", "owner": "U0BOB", "team": "T"}'
        await system.redis.hset(f"{prefix}handles", "x", handle)
        for _ in range(2):  # what the first one counts may be from before
            await wait_for_heartbeat(system)
        await system.redis.flushall()
        await wait_until(lambda: b"Redis was wiped" in bridge.log, "the bridge notices")
        await system.project.start()

        def words() -> list[str]:
            return [one for one in system.chats() if one.startswith("waiting")]

        await wait_until(
            lambda: sorted(words()) == ["waiting here", "waiting there"], f"both messages are answered: {words()}"
        )
        await wait_until(system.is_at_rest, "nothing is queued")
        notice = [
            (await bridge.state())[1]["redis_notice"],
            await command_output(system, tmp_path, "status"),
            await command_output(system, tmp_path, "check", code=1),  # without a project
        ]

    lost = ("1 channel with settings", "1 app rule", "1 handle", "2 schedules", "2 alerts", "2 requests for")
    assert [one for one in lost for said in notice if one not in " ".join(said.split())] == [], notice
    assert all("docs/how-to/back-up-and-restore.md" in one for one in notice)
    asked = {body["message"]: body.get("sessionId") for body in system.bodies()}
    assert asked["waiting here"] == session
    assert system.chats().count("first words") == 1


async def test_an_unnoticed_outage_is_caught_up_on_request(system: System, tmp_path: Path) -> None:
    await system.start_bridge(**SETTINGS)
    crowd = Crowd(system)
    await crowd.gather(4, since=2 * HOUR)
    await crowd.talk(HOUR)

    output = await command_output(system, tmp_path, "catch-up", "--since", "2h")
    await crowd.settled(crowd.count)

    assert "catching up starts" in output
    assert crowd.faults() == []

    async def is_caught_up() -> bool:  # a place without missed messages may be read after the last answer
        return "caught up at" in await command_output(system, tmp_path, "status")

    await wait_until(is_caught_up, "the status says when it was caught up", 60.0)
