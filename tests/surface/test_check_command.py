"""`bridge check` and `bridge manifest` as processes, with real servers at the other end."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as NoConnection
from ruamel.yaml import YAML

import bridge
from bridge.cli.check import probe
from bridge.cli.check.redis import redis_rows
from bridge.cli.rows import FAILURE, OK, WARNING
from bridge.settings import well_formed
from bridge.slack.api import Identity
from support.forks import run
from support.playground import bare_environment
from support.real_redis import RealRedis, server_program
from support.system import API_KEY, BOT_TOKEN, System
from support.terminal import Terminal
from support.waiting import wait_until

CODE = Path(bridge.__file__).parent.parent
SECRET = "0123456789abcdef0123456789abcdef"
SECRETS = (SECRET, BOT_TOKEN, API_KEY)


async def bridge_says(folder: Path, *words: str, **environ: str) -> tuple[int, str]:
    """Run the command line with only *environ*; return its exit code and output."""
    code, output, stderr = await run(
        words, folder, {"PATH": os.environ["PATH"], "NO_COLOR": "1", "TERM": "dumb", **environ}
    )
    text = output + stderr
    assert [secret for secret in SECRETS if secret in text] == []
    return code, text


def settings(system: System, **changed: str) -> dict[str, str]:
    wanted = (
        "SLACK_BOT_TOKEN",
        "SLACK_API_URL",
        "PROJECT_BASE_URL",
        "PROJECT_API_KEY",
        "REDIS_URL",
        "BRIDGE_NAMESPACE",
    )
    environ = system.bridge().environ
    return {**{name: environ[name] for name in wanted}, "SLACK_SIGNING_SECRET": SECRET, **changed}


async def check_rows(system: System, folder: Path, **changed: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Run the check with JSON output; return its rows by area and name."""
    code, output = await bridge_says(folder, "check", "--json", **settings(system, **changed))
    report = json.loads(output)
    assert code == (0 if report["ok"] else 1)
    return {(row["area"], row["what"]): row for row in report["rows"]}


async def test_a_check_without_problems_exits_0(
    system: System, private_redis: Callable[[], RealRedis], tmp_path: Path
) -> None:
    code, output = await bridge_says(tmp_path, "check", **settings(system, REDIS_URL=private_redis().url))

    assert code == 0, output
    assert re.findall(r"^\w.*", output, re.MULTILINE) == [
        "Settings",
        "Slack",
        "Redis",
        "Bridge",
        "Project service",
        "1 warning.",
    ]
    assert re.findall(r"^  !.*", output, re.MULTILINE) == ["  ! process           no bridge is running"]
    assert await system.keys() == []


async def test_a_check_without_settings_names_each_and_exits_1(tmp_path: Path) -> None:
    code, output = await bridge_says(tmp_path, "check")

    assert code == 1
    assert re.findall(r"^  ✗ (\w+) +(.*)", output, re.MULTILINE) == [
        (name, "is missing")
        for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "PROJECT_BASE_URL", "PROJECT_API_KEY", "REDIS_URL")
    ]
    assert "There's no .env in this folder. Run bridge setup to fill these in, or bridge playground" in output


async def test_with_some_settings_wrong_the_others_are_probed(system: System, tmp_path: Path) -> None:
    rows = await check_rows(system, tmp_path, SLACK_BOT_TOKEN="xoxp-1", BRIDGE_MAX_AGE="soon", BRIDGE_PROT="1")

    assert rows["Settings", "SLACK_BOT_TOKEN"]["cure"] == "use the bot token (xoxb-…)"
    assert rows["Settings", "BRIDGE_MAX_AGE"]["state"] == "failure"
    assert rows["Settings", "BRIDGE_PROT"]["cure"] == "did you mean BRIDGE_PORT?"
    assert ("Slack", "bot token") not in rows
    assert rows["Redis", "namespace"]["state"] == "ok"
    assert rows["Project service", "get_stats"]["state"] == "ok"


async def test_the_hosts_environment_is_checked(system: System, tmp_path: Path) -> None:
    rows = await check_rows(
        system, tmp_path, ALL_PROXY="socks5://u:hunter2@proxy", NO_PROXY="fd00::/8,[", SSL_CERT_FILE="/nowhere.pem"
    )

    assert rows["Settings", "ALL_PROXY"]["state"] == "warning"
    assert rows["Settings", "NO_PROXY"]["state"] == "warning"
    assert rows["Slack", "bot token"]["state"] == "ok"
    assert rows["Project service", "settings"]["detail"].startswith("SSL_CERT_FILE can't be read")
    assert "hunter2" not in str(rows)


async def test_each_part_that_is_down_has_a_row(system: System, tmp_path: Path) -> None:
    away = "127.0.0.1:9"  # a port that no test server uses

    rows = await check_rows(
        system,
        tmp_path,
        SLACK_API_URL=f"http://{away}/api/",
        PROJECT_BASE_URL=f"http://{away}",
        REDIS_URL=f"redis://user:pass-word@{away}",
    )

    failed = {key: row["detail"] for key, row in rows.items() if row["state"] == "failure"}
    assert failed == {
        ("Slack", "bot token"): "can't connect (connection refused or host unreachable)",
        ("Redis", "reachable"): "can't connect",
        ("Project service", "get_project"): "can't connect (connection refused or host unreachable)",
    }
    assert "pass-word" not in str(rows)


async def test_common_mistakes_have_their_fixes(system: System, tmp_path: Path) -> None:
    system.slack.scopes.discard("usergroups:read")

    wrong = {"PROJECT_API_KEY": "wrong", "SLACK_SIGNING_SECRET": "secret"}

    rows = await check_rows(system, tmp_path, **wrong, BRIDGE_RUNNERS="S0123456789")

    assert rows["Slack", "scopes"]["state"] == "failure"
    assert "usergroups:read is missing" in rows["Slack", "scopes"]["detail"]
    assert "rejected (401" in rows["Project service", "get_project"]["detail"]
    assert rows["Slack", "signing secret"]["state"] == "warning"


async def test_socket_mode_probes_the_app_token_not_the_secret(system: System, tmp_path: Path) -> None:
    rows = await check_rows(system, tmp_path, SLACK_APP_TOKEN="xapp-wrong", SLACK_SIGNING_SECRET="")

    assert rows["Settings", "settings"]["state"] == "ok"
    assert rows["Slack", "app token"]["state"] == "failure"
    assert "connections:write" in rows["Slack", "app token"]["cure"]
    assert ("Slack", "signing secret") not in rows


async def test_a_namespace_is_free_ours_or_anothers(system: System, tmp_path: Path) -> None:
    assert (await check_rows(system, tmp_path))["Redis", "namespace"]["detail"].endswith("is free")
    running = await system.start_bridge()
    found = await check_rows(system, tmp_path)
    assert "belongs to this bot" in found["Redis", "namespace"]["detail"]
    assert (found["Bridge", "process"]["state"], found["Bridge", "process"]["detail"]) == ("ok", "1 running")
    await running.end()

    rows = await redis_rows(system.redis_url, system.namespace, Identity("T1", "", "USOMEONE", "B1"))

    namespace, process = rows[-2:]
    assert (namespace.state, namespace.cure) == (FAILURE, "set BRIDGE_NAMESPACE to another name")
    assert (process.state, process.detail) == (WARNING, "no bridge is running")


async def test_a_redis_that_may_lose_data_is_a_warning(private_redis: Callable[[], RealRedis]) -> None:
    server = private_redis()
    with Redis.from_url(server.url) as redis:
        redis.config_set("maxmemory", "100mb")
        redis.config_set("maxmemory-policy", "allkeys-lru")
        redis.config_set("appendonly", "no")

    rows = {row.what: row for row in await redis_rows(server.url, "bridge", None)}

    assert rows["maxmemory-policy"].state == FAILURE
    assert rows["persistence"].state == WARNING
    assert rows["version"].state == OK


async def test_a_missing_password_or_permission_is_shown(private_redis: Callable[[], RealRedis]) -> None:
    server = private_redis()
    with Redis.from_url(server.url) as redis:
        redis.execute_command("ACL", "SETUSER", "careful", "on", ">pw", "~*", "+@all", "-config")
        redis.config_set("requirepass", "a-password")

    refused = await redis_rows(server.url, "bridge", None)
    careful = {row.what: row for row in await redis_rows(f"{server.url}?username=careful&password=pw", "bridge", None)}

    assert [(row.what, row.state) for row in refused] == [("reachable", FAILURE)]
    assert "the user or password is wrong" in refused[0].detail
    assert careful["persistence"].detail == "append-only file; sync interval unknown"


async def test_a_denied_command_is_named_and_the_rest_checked(private_redis: Callable[[], RealRedis]) -> None:
    server = private_redis()
    user = f"{server.url}?username=careful&password=pw"
    with Redis.from_url(server.url) as redis:
        redis.execute_command("ACL", "SETUSER", "careful", "on", ">pw", "~*", "&*", "+@all", "-info", "-client")
        without_info = {row.what: row for row in await redis_rows(user, "bridge", None)}
        redis.execute_command("ACL", "SETUSER", "careful", "-ping")
        (without_ping,) = await redis_rows(user, "bridge", None)
        redis.execute_command("ACL", "SETUSER", "careful", "+ping", "resetkeys", "~other:*")
        (without_keys,) = await redis_rows(user, "bridge", None)

    assert without_info["permissions"].detail == "the user may not run INFO, so its settings and replicas are unknown"
    assert without_info["permissions"].cure == "allow it: ACL SETUSER careful +info"
    assert list(without_info) == ["reachable", "permissions", "namespace", "process"]
    assert (without_ping.detail, without_ping.state) == ("the user may not run PING", FAILURE)
    assert without_keys.cure == "allow it: ACL SETUSER careful ~{bridge}:*"


@pytest.fixture
def redis_of_compose() -> Iterator[str]:
    """Start a server with docker-compose.yml's options, on a socket of this test; return its URL."""
    command = YAML(typ="safe").load((CODE / "docker-compose.yml").read_text(encoding="utf-8"))["services"]["redis"]
    words = [word.replace("${REDIS_PASSWORD:?}", "ab12") for word in command["command"]]
    with tempfile.TemporaryDirectory(prefix="br-") as folder:
        socket = f"{folder}/r.sock"
        here = ["--port", "0", "--unixsocket", socket, "--dir", folder, "--logfile", f"{folder}/log"]
        process = subprocess.Popen([server_program(), *words[1:], *here], stdin=subprocess.DEVNULL)  # noqa: S603
        yield f"unix://{socket}?password=ab12"
        process.terminate()
        process.wait(timeout=10)


async def test_the_redis_of_compose_passes_the_check(redis_of_compose: str) -> None:
    def answers() -> bool:
        with Redis.from_url(redis_of_compose) as redis:
            try:
                return bool(redis.ping())
            except NoConnection:
                return False

    await wait_until(answers, "the server answers")

    assert {row.state for row in await redis_rows(redis_of_compose, "bridge", None) if row.area == "Redis"} == {OK}


@pytest.mark.parametrize(("url", "options"), [("embedded", []), ("", ["--embedded-redis"])])
async def test_the_embedded_redis_is_probed(url: str, options: list[str], system: System, tmp_path: Path) -> None:
    environ = settings(system, REDIS_URL=url, BRIDGE_DATA_DIR=str(tmp_path / "data"))

    code, output = await bridge_says(tmp_path, "check", *options, **environ)

    assert code == 0, output
    assert "✓ embedded" in output
    assert "✓ maxmemory-policy  noeviction" in output
    assert not (tmp_path / "data" / "redis.sock").exists(), "the server is stopped afterwards"


@asynccontextmanager
async def a_silent_server() -> AsyncIterator[int]:
    """Accept connections and never send anything; return the port."""

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        server.close()


async def test_a_silent_part_times_out_and_hides_no_other() -> None:
    async with a_silent_server() as port:
        values = well_formed(
            {
                "SLACK_API_URL": f"http://127.0.0.1:{port}/api/",
                "SLACK_BOT_TOKEN": "xoxb-1",
                "SLACK_SIGNING_SECRET": SECRET,
                "REDIS_URL": f"redis://127.0.0.1:{port}",
                "PROJECT_BASE_URL": f"http://127.0.0.1:{port}",
                "PROJECT_API_KEY": "k",
            }
        )

        rows = await probe(values, now=lambda: datetime.now(UTC), patience=timedelta(seconds=0.3))

    assert [(row.area, row.state) for row in rows] == [
        (area, FAILURE) for area in ("Slack", "Redis", "Project service")
    ]
    assert all("within 0.3 s" in row.detail for row in rows)


async def test_the_manifest_needs_nothing_but_takes_the_prefix(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("BRIDGE_COMMAND_PREFIX=acme-\nBRIDGE_MAX_AGE=soon\n", encoding="utf-8")

    code, output = await bridge_says(tmp_path, "manifest", "--url", "https://bridge.example.com")

    assert code == 0
    first = json.loads(output)["features"]["slash_commands"][0]
    assert (first["command"], first["url"]) == ("/acme-workflows", "https://bridge.example.com/slack/events")


async def test_a_bad_prefix_for_the_manifest_exits_2(tmp_path: Path) -> None:
    code, output = await bridge_says(tmp_path, "manifest", BRIDGE_COMMAND_PREFIX="Ä")

    assert code == 2
    assert output.startswith("BRIDGE_COMMAND_PREFIX has unsupported characters or is too long: use")
    assert output.count("\n") == 1


async def test_a_check_fits_the_terminal(tmp_path: Path) -> None:
    async with Terminal("check", folder=tmp_path, environ=bare_environment(COLUMNS="60")) as terminal:
        await terminal.ends()
    _, piped = await bridge_says(tmp_path, "check", COLUMNS="60")

    below = " " * len("  ✗ PROJECT_BASE_URL  ")
    rows = terminal.screen.replace("\r", "").partition("\n\n")[0].splitlines()
    assert max(map(len, rows)) <= 60
    assert {line[: len(below)] for line in rows if line.startswith("   ")} == {below}
    assert "→ set it to the app-level token (xapp-…) for Socket Mode, or set SLACK_SIGNING_SECRET for HTTP\n" in piped
