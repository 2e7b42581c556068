"""What the package contains: every file that isn't ignored is packed."""

from __future__ import annotations

import subprocess
from pathlib import Path, PurePath

ROOT = Path(__file__).parents[2]
PACKED = {".py", ".lua", ".js", ".css", ".html", ".svg", ".typed"}


def test_nothing_but_the_bridge_is_packed() -> None:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "bridge"]

    files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()  # noqa: S603 - our own command

    assert len(files) > 300
    assert [file for file in files if PurePath(file).suffix not in PACKED] == []
