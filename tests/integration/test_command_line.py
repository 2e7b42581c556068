"""The command line where it ends before the bridge begins."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import bridge

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
    assert [line for line in said.stdout.splitlines() if line in {"Start:", "Watch:", "Fix:"}] == [
        "Start:",
        "Watch:",
        "Fix:",
    ]
    assert "<" not in said.stdout
    assert "--embedded-redis" in bridge_says("serve", "--help", folder=tmp_path).stdout


def test_missing_settings_are_one_line_each_and_exit_2(tmp_path: Path) -> None:
    said = bridge_says("serve", folder=tmp_path)

    assert said.returncode == 2
    assert said.stdout == ""
    *problems, hint = said.stderr.splitlines()
    assert [line.split()[0] for line in problems] == [
        "SLACK_BOT_TOKEN",
        "SLACK_SIGNING_SECRET",
        "PROJECT_BASE_URL",
        "PROJECT_API_KEY",
        "REDIS_URL",
    ]
    assert "bridge setup" in hint
    assert "bridge playground" in hint


def test_the_flag_takes_the_place_of_redis(tmp_path: Path) -> None:
    assert "REDIS_URL" not in bridge_says("serve", "--embedded-redis", folder=tmp_path).stderr


def test_the_env_files_misspellings_are_named(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SLACK_BOT_TOKEN=xoxp-hidden\nBRIDGE_PROT=1\n")

    said = bridge_says("serve", folder=tmp_path)

    assert said.returncode == 2
    lines = said.stderr.splitlines()
    assert lines[0] == "warning: BRIDGE_PROT isn't a setting: did you mean BRIDGE_PORT?"
    assert lines[1] == "SLACK_BOT_TOKEN starts with xoxp-…: use the bot token (xoxb-…)"
    assert "hidden" not in said.stderr


def test_a_mistyped_command_line_exits_2(tmp_path: Path) -> None:
    assert bridge_says("serve", "--embeded-redis", folder=tmp_path).returncode == 2
