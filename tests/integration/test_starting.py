"""Startup, and the one-line error if it fails."""

from __future__ import annotations

import json
import socket

from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL, RUNNERS
from support.waiting import wait_until
from support.world import BridgeProcess, World


async def ended(bridge: BridgeProcess) -> tuple[int, list[str]]:
    """The exit code, and what the operator was told outside the log."""
    code = await bridge.wait()
    return code, [line for line in bridge.log.decode().splitlines() if not line.startswith("{")]


async def test_a_bridge_becomes_ready_once_slack_is_reached(world: World) -> None:
    world.forks = False  # and nothing was read before
    await world.slack.stop()
    bridge = await world.bridge(BRIDGE_DEFAULT_AGENT="1").start()

    async def says_why() -> bool:
        return await bridge.state() == (
            503,
            {
                "ready": False,
                "slack": "not yet",
                "redis": "not yet",
                "project": "up",
                "draining": False,
            },
        )

    await wait_until(says_why, "readiness fails")
    world.slack.events_url = f"{bridge.url}/slack/events"
    await world.slack.start()
    root = await world.mention(ALICE, GENERAL, "too early, so Slack repeats it")
    assert world.slack.deliveries[-1].status == 503
    await bridge.ready()
    await world.answered(GENERAL, root)

    assert world.chats() == ["too early, so Slack repeats it"]


async def test_a_start_without_redis_logs_what_it_waits_for(world: World) -> None:
    bridge = await world.bridge(REDIS_URL="redis://127.0.0.1:9/0").start()

    await wait_until(lambda: b"can't reach Redis yet" in bridge.log, "the bridge says so")

    (said,) = [json.loads(line) for line in bridge.log.decode().splitlines() if "Redis" in line]
    assert (said["level"], said["reason"]) == ("warning", "away")


async def test_a_start_logs_missing_permissions_and_what_they_disable(world: World) -> None:
    world.slack.scopes.difference_update({"usergroups:read", "reactions:read", "files:write"})

    bridge = await world.start_bridge(BRIDGE_RUNNERS=RUNNERS)

    said = [json.loads(line) for line in bridge.log.decode().splitlines() if "scope is missing" in line]
    assert {(line["level"], line["scope"]) for line in said} == {
        ("warning", "files:write"),
        ("warning", "reactions:read"),
        ("error", "usergroups:read"),  # as set in the settings
    }
    assert "stop an agent" in next(line["cannot"] for line in said if line["scope"] == "reactions:read")
    assert len(said) == 3


async def test_a_refused_token_ends_the_start_with_a_fix(world: World) -> None:
    world.slack.faults.on("auth.test", Error("token_revoked"), times=None)

    code, said = await ended(await world.bridge().start())

    assert code == 1
    assert len(said) == 1
    assert "SLACK_BOT_TOKEN" in said[0]
    assert "token_revoked" in said[0]


async def test_a_second_bot_does_not_get_into_the_namespace_of_the_first(world: World) -> None:
    first = await world.start_bridge()
    world.slack.workspace.people[BRIDGE].id = "U0ANOTHER"

    code, said = await ended(await world.bridge().start())

    world.slack.workspace.people[BRIDGE].id = BRIDGE
    assert code == 1
    assert len(said) == 1
    assert "BRIDGE_NAMESPACE" in said[0]
    assert (await first.state())[0] == 200


async def test_a_port_in_use_is_one_line(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, said = await ended(await world.bridge(BRIDGE_PORT=str(taken.getsockname()[1])).start())

    assert code == 2
    assert len(said) == 1
    assert "BRIDGE_PORT" in said[0]
