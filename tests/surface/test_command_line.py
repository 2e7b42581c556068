"""Commands that end before a bridge starts."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

import bridge
from bridge.cli import COMMANDS
from support.forks import run
from support.playground import bare_environment

PLAIN = {"NO_COLOR": "1", "TERM": "dumb"}


async def test_the_version_is_shown(tmp_path: Path) -> None:
    assert await run(["--version"], tmp_path, PLAIN) == (0, f"bridge {bridge.__version__}\n", "")


async def test_help_lists_the_commands_that_exist(tmp_path: Path) -> None:
    code, output, _ = await run(["--help"], tmp_path, PLAIN)

    assert code == 0
    assert [name for name in COMMANDS if f"\n  {name} " not in output] == []
    assert "--embedded-redis" in (await run(["serve", "--help"], tmp_path, PLAIN))[1]


async def test_help_imports_no_command(tmp_path: Path) -> None:
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-X", "importtime", "-m", "bridge", "--help"),
        cwd=tmp_path, env=bare_environment(), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    imported = (await running.communicate())[1].decode()

    assert "bridge.cli.printing" in imported
    assert [name for name in ("pydantic", "redis", "slack_sdk", "bridge.settings") if name in imported] == []


async def test_a_start_imports_no_other_command_line(tmp_path: Path) -> None:
    code = "with importing(): import bridge.app\nprint('rich' in sys.modules, 'httpx' in sys.modules)"
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", f"import sys\nfrom bridge.cli.importing import importing\n{code}"),
        cwd=tmp_path, env=bare_environment(), stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip

    assert (await running.communicate())[0] == b"False True\n"


async def test_missing_settings_are_one_line_each_and_exit_2(tmp_path: Path) -> None:
    code, output, stderr = await run(["serve"], tmp_path, PLAIN)

    assert (code, output) == (2, "")
    *problems, hint = stderr.splitlines()
    assert [line.split()[0] for line in problems] == [
        "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "PROJECT_BASE_URL", "PROJECT_API_KEY", "REDIS_URL",
    ]  # fmt: skip
    assert "bridge setup" in hint
    assert "bridge playground" in hint


async def test_the_flag_replaces_redis(tmp_path: Path) -> None:
    assert "REDIS_URL" not in (await run(["serve", "--embedded-redis"], tmp_path, PLAIN))[2]


async def test_malformed_and_misspelled_settings_are_named_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SLACK_BOT_TOKEN=xoxp-hidden\nBRIDGE_FOO=1\nBRIDGE_PORT=many\n")

    code, _, stderr = await run(["serve"], tmp_path, PLAIN)

    assert code == 2
    lines = stderr.splitlines()
    assert lines[0] == "warning: BRIDGE_FOO isn't a setting"
    assert lines[1] == "SLACK_BOT_TOKEN starts with xoxp-…: use the bot token (xoxb-…)"
    assert [line for line in lines if line.startswith("BRIDGE_PORT ")]
    assert "hidden" not in stderr


@pytest.mark.parametrize(
    "line",
    ["BRIDGE_ALLOWED_USERS: U0HIDDEN", "BRIDGE_ALLOWED-USERS=U0HIDDEN", "BRIDGE_ALLOWED_USERS=", 'A="U0HIDDEN'],
)
async def test_a_slip_in_an_access_setting_stops_the_start_and_fails_the_check(tmp_path: Path, line: str) -> None:
    (tmp_path / ".env").write_text(f"{COMPLETE}{line}\n")

    code, _, stderr = await run(["serve"], tmp_path, PLAIN)
    checked, output, _ = await run(["check", "--access", "U0SUE", "C0OPEN", "--json"], tmp_path, PLAIN)

    assert (code, checked) == (2, 1)
    (problem,) = stderr.splitlines()
    assert problem.startswith((".env line 6 ", "BRIDGE_ALLOWED_USERS lists no ID: "))
    assert [row["state"] for row in json.loads(output)["rows"]] == ["failure"]
    assert "U0HIDDEN" not in stderr + output


COMPLETE = (
    "SLACK_BOT_TOKEN=xoxb-1\nSLACK_APP_TOKEN=xapp-1\nPROJECT_BASE_URL=http://localhost:1\nPROJECT_API_KEY=k\n"
    "REDIS_URL=redis://localhost:1\n"
)
WITHOUT_EXTRA = """\
import runpy, sys
sys.modules["websockets"] = None
runpy.run_module(sys.argv.pop(1), run_name="__main__")
"""


@pytest.mark.parametrize("arguments", [["bridge", "playground", "--port", "0"], ["bridge.playground.emulator"]])
async def test_a_missing_extra_is_named_with_its_command(arguments: list[str], tmp_path: Path) -> None:
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WITHOUT_EXTRA, *arguments,
        cwd=tmp_path, env=bare_environment(BRIDGE_DATA_DIR=str(tmp_path)), stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, printed = await running.communicate()

    assert running.returncode
    assert "pip install 'slack-project-bridge[playground]'" in printed.decode().splitlines()[-1]
