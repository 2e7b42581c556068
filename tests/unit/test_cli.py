"""The command line, as a process where it ends before the bridge begins."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import bridge
from bridge.cli.running import run, trouble_lines
from bridge.errors import BridgeError, ConfigurationError, NamespaceTaken, SlackRefused, StoreUnavailable

CODE = Path(bridge.__file__).parent.parent


def bridge_says(
    *words: str, folder: Path, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "bridge", *words],
        cwd=folder,
        env={"PYTHONPATH": str(CODE), "NO_COLOR": "1", "TERM": "dumb", **(environ or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_version_is_shown(tmp_path: Path) -> None:
    said = bridge_says("--version", folder=tmp_path)

    assert (said.returncode, said.stdout, said.stderr) == (0, f"bridge {bridge.__version__}\n", "")


def test_help_lists_the_commands_that_exist(tmp_path: Path) -> None:
    said = bridge_says("--help", folder=tmp_path)

    assert said.returncode == 0
    assert "serve" in said.stdout
    assert "--embedded-redis" in bridge_says("serve", "--help", folder=tmp_path).stdout


def test_missing_settings_are_one_line_each_and_exit_2(tmp_path: Path) -> None:
    said = bridge_says("serve", folder=tmp_path)

    assert said.returncode == 2
    assert said.stdout == ""
    assert [line.split()[0] for line in said.stderr.splitlines()] == [
        "SLACK_BOT_TOKEN",
        "SLACK_SIGNING_SECRET",
        "PROJECT_BASE_URL",
        "PROJECT_API_KEY",
        "REDIS_URL",
    ]


def test_the_flag_takes_the_place_of_redis(tmp_path: Path) -> None:
    assert "REDIS_URL" not in bridge_says("serve", "--embedded-redis", folder=tmp_path).stderr


def test_the_file_of_the_folder_is_read_and_its_misspellings_are_named(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SLACK_BOT_TOKEN=xoxp-hidden\nBRIDGE_PROT=1\n")

    said = bridge_says("serve", folder=tmp_path)

    assert said.returncode == 2
    lines = said.stderr.splitlines()
    assert lines[0] == "warning: BRIDGE_PROT is not a setting: did you mean BRIDGE_PORT?"
    assert lines[1] == "SLACK_BOT_TOKEN begins with xoxp-…: use the bot token xoxb-…"
    assert "hidden" not in said.stderr


def test_a_mistyped_command_line_exits_2(tmp_path: Path) -> None:
    assert bridge_says("serve", "--embeded-redis", folder=tmp_path).returncode == 2


def test_what_ran_gives_its_exit_code() -> None:
    async def stopped() -> int:
        return 3

    assert run(stopped) == 3


@pytest.mark.parametrize(
    ("trouble", "code", "line"),
    [
        (
            StoreUnavailable("loading"),
            1,
            "bridge cannot run: Redis is of no use (loading); look at it, and at REDIS_URL",
        ),
        (ConfigurationError(["BRIDGE_PORT 3000 is taken"]), 2, "BRIDGE_PORT 3000 is taken"),
    ],
)
def test_trouble_is_a_line_and_a_code_also_out_of_a_task_group(
    trouble: BridgeError, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def broken() -> int:
        raise trouble

    async def broken_in_a_task() -> int:
        async with asyncio.TaskGroup() as group:
            group.create_task(broken())
        return 0

    assert run(broken) == code
    assert run(broken_in_a_task) == code
    assert capsys.readouterr().err == f"{line}\n{line}\n"


def test_what_is_not_on_purpose_is_not_hidden() -> None:
    async def broken() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(broken)


@pytest.mark.parametrize(
    ("trouble", "word"),
    [
        (NamespaceTaken("acme", "T1/U1"), "BRIDGE_NAMESPACE"),
        (SlackRefused("auth.test", "invalid_auth"), "SLACK_BOT_TOKEN"),
        (BridgeError("something"), "BridgeError: something"),
    ],
)
def test_every_trouble_has_a_line_that_says_where_to_look(trouble: BridgeError, word: str) -> None:
    (line,) = trouble_lines(trouble)

    assert word in line
