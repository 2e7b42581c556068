"""The documentation as `make docs` builds it, and its fenced blocks."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))

_BLOCK = re.compile(
    r"(?:<!-- (?:not run: (?P<why>[^>]+)|runs until it says: (?P<words>[^>]+)) -->\n)?"
    r"^```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: *where* it is, and its *code*.

    *why_not* says why it isn't run. A program that runs until stopped is stopped after it prints *words*.
    """

    where: str
    language: str
    code: str
    why_not: str = ""
    words: str = ""


def blocks(*languages: str) -> Iterator[Block]:
    """Find the fenced blocks in any of *languages*."""
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]:
        for number, found in enumerate(_BLOCK.finditer(path.read_text(encoding="utf-8")), 1):
            if found["language"] in languages:
                where = f"{path.relative_to(ROOT)}:{number}"
                yield Block(where, found["language"], found["code"], found["why"] or "", found["words"] or "")


def write_python(folder: Path) -> None:
    """Write each block in Python to a file of its own: one that extends a file of the bridge, with that file."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for block in blocks("python"):
        code = block.code
        if extended := re.search(r"^@(\w+)\.command", code, re.MULTILINE):
            file = ROOT / f"bridge/features/{extended[1]}/commands.py"
            if file.exists():
                imports, _, added = code.partition("\n\n\n")
                head, *rest = re.split(r"(?m)^(?=from bridge)", file.read_text(encoding="utf-8"))
                *known, (last, below) = [*rest[:-1], rest[-1].split("\n", 1)]
                lines = sorted([*map(str.strip, known), last, imports])
                code = head + "\n".join(lines) + f"\n{below.rstrip()}\n\n\n{added}"
        name = re.sub(r"\W+", "_", block.where)
        (folder / f"{name}.py").write_text(code, encoding="utf-8")


async def build(folder: Path) -> Path:
    """Build the site below *folder* and return its path; raise AssertionError with any warnings."""
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    building = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "zensical", "build", "--strict",
        cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    printed, _ = await building.communicate()
    assert building.returncode == 0, printed.decode()
    return folder / "build" / "docs"


if __name__ == "__main__":
    write_python(Path(sys.argv[1]))
