"""`ops/systemd`: accepted by systemd, locked down, and consistent with the bridge and its page."""

from __future__ import annotations

import asyncio
import getpass
import re
import shutil
import sys
from functools import cache
from pathlib import Path
from subprocess import run

import pytest

from support.docs_site import ROOT, blocks
from support.reference import default_drain
from support.tables import each

UNITS = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "ops/systemd").iterdir())}
ONE, SEVERAL = "bridge.service", "bridge@.service"
NEEDS_SYSTEMD = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze isn't installed")
MOST_EXPOSED = 20  # of 100, which it shows as 10.0


def settings(unit: str) -> dict[str, str]:
    """The last value of each setting in a unit."""
    return dict(line.split("=", 1) for line in UNITS[unit].splitlines() if "=" in line and line[0] != "#")


async def analyzed(*words: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        "systemd-analyze", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await process.communicate()
    return process.returncode, printed.decode()


@NEEDS_SYSTEMD
@each("name", UNITS)
async def test_systemd_accepts_a_unit(name: str, tmp_path: Path) -> None:
    unit = tmp_path / name
    here = {
        "/opt/bridge/bin": str(Path(sys.executable).parent),
        "/opt/bridge": str(tmp_path),
        "User=bridge": f"User={getpass.getuser()}",
    }
    unit.write_text(re.sub("|".join(here), lambda place: here[place[0]], UNITS[name]), encoding="utf-8")

    code, printed = await analyzed("verify", str(unit))

    assert "bridge" not in printed
    assert code == 0


@NEEDS_SYSTEMD
@each("name", UNITS)
async def test_a_unit_is_hardly_exposed(name: str) -> None:
    code, printed = await analyzed(
        "security", "--offline=true", f"--threshold={MOST_EXPOSED}", str(ROOT / "ops/systemd" / name)
    )

    assert code == 0, printed


@cache
def calls_in(group: str) -> frozenset[str]:
    """The system calls in one of systemd's groups, such as ``@process``."""
    command = ["systemd-analyze", "--no-pager", "syscall-filter", group]
    listed = run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 - our own command
    names = {line.strip() for line in listed.splitlines()[1:] if line.startswith("    ")} - {""}
    return frozenset().union(*(calls_in(name) if name[0] == "@" else {name} for name in names if name[0] != "#"))


@NEEDS_SYSTEMD
@each("name", UNITS)
def test_readers_of_documents_may_limit_themselves_and_nobody_may_mount(name: str) -> None:
    """A filtered setrlimit wouldn't fail: a reader continues without limits where it can't set them (Windows)."""
    allowed: frozenset[str] = frozenset()
    for words in re.findall(r"^SystemCallFilter=(.+)$", UNITS[name], re.MULTILINE):
        calls = frozenset().union(*(calls_in(group) for group in words.removeprefix("~").split()))
        allowed = allowed - calls if words[0] == "~" else allowed | calls

    assert {"setrlimit", "prlimit64", "clone", "execve", "fsync", "flock"} <= allowed
    assert not {"mount", "ptrace", "setuid", "chown", "bpf", "reboot"} & allowed


def test_the_units_differ_in_what_belongs_to_an_instance_only() -> None:
    lines, template = (UNITS[name].splitlines()[1:] for name in (ONE, SEVERAL))
    other = {old: new for old, new in zip(lines, template, strict=True) if old != new}

    assert {name.partition("=")[0] for name in other} == {
        "Description",
        "EnvironmentFile",
        "Environment",
        "StateDirectory",
    }
    assert all("%i" in new for new in other.values())


@each("name", UNITS)
def test_systemd_gives_running_work_time_to_finish(name: str) -> None:
    assert int(settings(name)["TimeoutStopSec"]) > default_drain()
    assert settings(name)["KillMode"] == "mixed", "the embedded Redis must run until the bridge has finished"


@each("name", UNITS)
def test_the_page_installs_what_a_unit_reads(name: str) -> None:
    page = (ROOT / "docs/how-to/systemd.md").read_text(encoding="utf-8")
    read = settings(name)["EnvironmentFile"].replace("%i", "acme")

    assert f"\ninstall -m 644 ops/systemd/{name} /etc/systemd/system/\n" in page
    assert f"\ninstall -m 600 .env {read}\n" in page
    assert settings(name)["Environment"] == f"BRIDGE_DATA_DIR=/var/lib/{settings(name)['StateDirectory']}"


@each(("name", "instance"), [(ONE, ""), (SEVERAL, "acme"), (SEVERAL, "3001")])
def test_a_shell_alias_uses_the_units_settings_and_user(name: str, instance: str) -> None:
    aliases = [line for block in blocks("sh") for line in block.code.splitlines() if "systemd-run" in line]
    has = {key: value.replace("%i", instance) for key, value in settings(name).items()}

    [alias] = [line for line in aliases if f"--property=EnvironmentFile={has['EnvironmentFile']} " in line]

    assert f"--uid={has['User']} " in alias
    assert f"--setenv={has['Environment']} " in alias
    assert f"{has['ExecStart'].split()[0]}'" in alias
