"""The documentation, built as `make docs` does."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


async def build(folder: Path) -> Path:
    """Build the site below *folder*, and give where it is. Raises AssertionError with what it warns of."""
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    building = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "zensical", "build", "--strict",
        cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    printed, _ = await building.communicate()
    assert building.returncode == 0, printed.decode()
    return folder / "build" / "docs"
