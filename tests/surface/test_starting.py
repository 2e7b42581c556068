"""Startup, and the one-line error if it fails."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable
from pathlib import Path

import pytest
from redis import Redis

from bridge.cli.check.redis import redis_rows
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL, RUNNERS
from support.forks import run as run_bridge
from support.playground import bare_environment
from support.real_redis import RealRedis
from support.secrecy import BOT_TOKEN, SIGNING_SECRET
from support.system import BridgeProcess, System, open_system, text_of
from support.waiting import wait_until


async def ended(bridge: BridgeProcess) -> tuple[int, list[str]]:
    """The exit code, and what was printed outside the log."""
    code = await bridge.wait()
    return code, [line for line in bridge.log.decode().splitlines() if not line.startswith("{")]


async def test_a_bridge_becomes_ready_once_slack_is_reached(system: System) -> None:
    system.forks = False  # and nothing was read before
    await system.slack.stop()
    bridge = await system.bridge(BRIDGE_DEFAULT_AGENT="1").start()

    async def says_why() -> bool:
        return await bridge.state() == (
            503,
            {
                "ready": False,
                "slack": "not yet",
                "redis": "not yet",
                "project": "unknown",
                "draining": False,
            },
        )

    await wait_until(says_why, "readiness fails")
    system.slack.events_url = f"{bridge.url}/slack/events"
    await system.slack.start()
    root = await system.mention(ALICE, GENERAL, "too early, so Slack repeats it")
    assert system.slack.deliveries[-1].status == 503
    await bridge.ready()
    await system.answered(GENERAL, root)

    assert system.chats() == ["too early, so Slack repeats it"]


async def test_a_start_without_redis_logs_what_it_waits_for(system: System) -> None:
    bridge = await system.bridge(REDIS_URL="redis://127.0.0.1:9/0").start()

    await wait_until(lambda: b"can't reach Redis yet" in bridge.log, "the bridge says so")

    (record,) = [json.loads(line) for line in bridge.log.decode().splitlines() if "Redis" in line]
    assert (record["level"], record["reason"]) == ("warning", "away")


async def test_a_start_without_redis_notifies_of_a_command_and_a_click(system: System) -> None:
    bridge = await system.bridge(REDIS_URL="redis://127.0.0.1:9/0").start()
    await wait_until(lambda: b"can't reach Redis yet" in bridge.log, "the bridge says so")
    system.slack.events_url = f"{bridge.url}/slack/events"
    root = await system.slack.people.say(ALICE, GENERAL, "hello there")

    await system.slack.ui.command(ALICE, GENERAL, "/workflows")
    await system.slack.ui.message_shortcut(ALICE, GENERAL, root, "ask_about")

    assert [one.status for one in system.slack.deliveries[-2:]] == [200, 200]
    assert ["couldn't queue" in text_of(one) for one in system.ephemerals(ALICE)] == [True, True]


@pytest.mark.parametrize(
    ("refuses", "why", "cure"),
    [
        ("the database", "it has no database with this number", "such as /0"),
        ("a command", "it doesn't have EVAL", "rename-command in redis.conf"),
        ("the password", "the user or password is wrong", "fix REDIS_URL"),
        ("all, for an unknown reason", "it refused: something nobody knows", "look for this in Redis' log"),
        ("all, for want of a master", "it's a replica that has lost its master", "name the master in REDIS_URL"),
        ("Redis' protocol", "what answers isn't Redis", "check the host and port in REDIS_URL"),
    ],
)
async def test_what_redis_refuses_is_one_line_with_a_cure(
    system: System, private_redis: Callable[[], RealRedis], tmp_path: Path, *, refuses: str, why: str, cure: str
) -> None:
    said = b"-MASTERDOWN Link with MASTER is down" if "master" in refuses else b"-ERR something nobody knows"

    async def refuse_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while asked := await reader.read(100_000):
            writer.write((said + b"\r\n") * max(1, asked.count(b"\r\n*") + asked.startswith(b"*")))
        writer.close()

    server = private_redis()
    url, refusing = server.url, await asyncio.start_unix_server(refuse_all, f"{tmp_path}/refusing")
    match refuses:
        case "the database":
            url += "?db=99"
        case "a command":
            server.stop()
            server.start("--rename-command", "EVAL", "another-name")
        case "the password":
            url += "?password=another"
            with Redis.from_url(server.url) as redis:
                redis.config_set("requirepass", "a-password")
        case "all, for an unknown reason" | "all, for want of a master":
            url = f"unix://{tmp_path}/refusing"
        case _:
            url = system.project.base_url.replace("http", "redis")

    bridge = await system.bridge(REDIS_URL=url).start()
    await wait_until(lambda: b"can't reach Redis yet" in bridge.log, "the bridge says so")
    (row,) = await redis_rows(url, "bridge", None)
    code, _, printed = await run_bridge(("dead", "list"), tmp_path, {**bare_environment(), "REDIS_URL": url})

    (record,) = [json.loads(line) for line in bridge.log.decode().splitlines() if "Redis yet" in line]
    assert (record["why"], record["cure"]) == (row.detail, row.cure)
    assert (why in row.detail, cure in row.cure) == (True, True), row
    if refuses != "a command":  # which listing doesn't need
        assert (code, printed) == (1, f"Redis: {row.detail}. To fix it: {row.cure}.\n")
    assert not bridge.has_ended, bridge.log.decode()[-1500:]
    assert "Traceback" not in bridge.log.decode()
    refusing.close()


async def test_a_start_logs_missing_permissions_and_disabled_features(system: System) -> None:
    system.slack.scopes.difference_update({"usergroups:read", "reactions:read", "files:write"})

    bridge = await system.start_bridge(BRIDGE_RUNNERS=RUNNERS)

    records = [json.loads(line) for line in bridge.log.decode().splitlines() if "scope is missing" in line]
    assert {(line["level"], line["scope"]) for line in records} == {
        ("warning", "files:write"),
        ("warning", "reactions:read"),
        ("error", "usergroups:read"),  # as set in the settings
    }
    assert "stop an agent" in next(line["to"] for line in records if line["scope"] == "reactions:read")
    assert len(records) == 3


@pytest.mark.parametrize("mode", ["--app-token=xapp-1-test", f"--signing-secret={SIGNING_SECRET}"])
async def test_a_start_on_the_emulators_program_warns_of_nothing(system: System, mode: str) -> None:
    emulator = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bridge.playground.emulator", "--port=0", f"--bot-token={BOT_TOKEN}", mode),
        env=bare_environment(), stdin=PIPE, stdout=PIPE,
    )  # fmt: skip
    try:
        assert emulator.stdout is not None
        address = (await emulator.stdout.readline()).decode().split()[-1]
        app_token = mode.partition("=")[2] if "app" in mode else ""
        bridge = await system.bridge(SLACK_API_URL=address, SLACK_APP_TOKEN=app_token).start()
        await bridge.ready()
        records = [json.loads(line) for line in bridge.log.decode().splitlines()]
    finally:
        emulator.kill()
        await emulator.wait()

    assert records
    assert [record for record in records if record["level"] not in {"debug", "info"}] == []


async def test_a_redis_user_without_info_and_client_is_enough(private_redis: Callable[[], RealRedis]) -> None:
    server = private_redis()
    with Redis.from_url(server.url) as redis:
        redis.execute_command("ACL", "SETUSER", "careful", "on", ">pw", "~*", "&*", "+@all", "-info", "-client")  # type: ignore[no-untyped-call]
    async with open_system(f"{server.url}?username=careful&password=pw", "test") as system:
        bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
        root = await system.mention(ALICE, GENERAL, "hello there")
        await system.answered(GENERAL, root)

    records = [json.loads(line) for line in bridge.log.decode().splitlines()]
    assert [record["command"] for record in records if "Redis user" in record["message"]] == ["INFO"]


async def test_a_redis_user_without_a_permission_is_told_which(private_redis: Callable[[], RealRedis]) -> None:
    server = private_redis()
    with Redis.from_url(server.url) as redis:
        redis.execute_command("ACL", "SETUSER", "careful", "on", ">pw", "~*", "&*", "+@all", "-xgroup", "-xadd")  # type: ignore[no-untyped-call]
        async with open_system(f"{server.url}?username=careful&password=pw", "test") as system:
            bridge = await system.bridge().start()
            await wait_until(lambda: b"can't reach Redis yet" in bridge.log, "the bridge says so")
            (record,) = [json.loads(line) for line in bridge.log.decode().splitlines() if "can't reach" in line]
            redis.execute_command(*record["cure"].split())  # type: ignore[no-untyped-call]
            await bridge.ready()

    assert (record["reason"], record["denied"]) == ("refused", "XADD, XGROUP CREATE, XGROUP DELCONSUMER")
    assert record["cure"] == "ACL SETUSER careful +xadd +xgroup|create +xgroup|delconsumer"


async def test_a_permission_taken_away_for_a_while_loses_nothing(private_redis: Callable[[], RealRedis]) -> None:
    server = private_redis()
    with Redis.from_url(server.url) as redis:
        redis.execute_command("ACL", "SETUSER", "careful", "on", ">pw", "~*", "&*", "+@all")  # type: ignore[no-untyped-call]
        async with open_system(f"{server.url}?username=careful&password=pw", "test") as system:
            bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1")
            for number, command in enumerate(("xadd", "rpush", "set", "xack", "hset", "evalsha")):
                redis.execute_command("ACL", "SETUSER", "careful", f"-{command}")  # type: ignore[no-untyped-call]
                root = await system.mention(ALICE, GENERAL, f"message {number}")
                first = next(one for one in system.slack.deliveries if one.payload["event"].get("ts") == root)
                assert first.status == (200 if command == "xack" else 503)
                redis.execute_command("ACL", "SETUSER", "careful", f"+{command}")  # type: ignore[no-untyped-call]
                await system.answered(GENERAL, root)

    assert system.chats() == [f"message {number}" for number in range(6)]
    assert b'"denied":"XADD"' in bridge.log.replace(b'": ', b'":')


async def test_unusable_proxy_settings_are_logged_and_skipped(system: System) -> None:
    settings = {"ALL_PROXY": "socks5://user:hunter2@127.0.0.1:9", "NO_PROXY": "fd00::/8,[fe80::/10],::1,http://x"}

    bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1", **settings)
    root = await system.mention(ALICE, GENERAL, "hello there")
    await system.answered(GENERAL, root)

    records = [json.loads(line) for line in bridge.log.decode().splitlines()]
    named = [record["problem"] for record in records if record["message"] == "a proxy setting can't be used"]
    assert [line.split()[0] for line in named] == ["ALL_PROXY", "NO_PROXY"]
    assert b"hunter2" not in bridge.log


async def test_unreadable_certificates_are_a_one_line_error(system: System) -> None:
    bridge = await system.bridge(SSL_CERT_FILE="/nowhere.pem").start()

    code, lines = await ended(bridge)

    assert code == 2
    assert lines[0].startswith("SSL_CERT_FILE can't be read (No such file or directory): ")


async def test_a_refused_token_ends_the_start_with_a_fix(system: System) -> None:
    system.slack.faults.on("auth.test", Error("token_revoked"), times=None)

    code, output = await ended(await system.bridge().start())

    assert code == 1
    assert len(output) == 1
    assert "SLACK_BOT_TOKEN" in output[0]
    assert "token_revoked" in output[0]


async def test_a_second_bot_cannot_use_the_first_bots_namespace(system: System) -> None:
    first = await system.start_bridge()
    system.slack.workspace.people[BRIDGE].id = "U0ANOTHER"

    code, output = await ended(await system.bridge().start())

    system.slack.workspace.people[BRIDGE].id = BRIDGE
    assert code == 1
    assert len(output) == 1
    assert "BRIDGE_NAMESPACE" in output[0]
    assert (await first.state())[0] == 200


async def test_a_port_in_use_is_a_one_line_error(system: System) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, output = await ended(await system.bridge(BRIDGE_PORT=str(taken.getsockname()[1])).start())

    assert code == 2
    assert len(output) == 1
    assert "BRIDGE_PORT" in output[0]
