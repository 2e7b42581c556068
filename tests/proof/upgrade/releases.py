"""The two releases, each with an environment of its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.system import System

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[2]
_MADE = Path(
    ".venv/installed-to-run"
)  # the stamp of an environment for `make run`, which has its interpreter beside it


@dataclass(frozen=True)
class Release:
    """A release, called *name*, with the *python* of its installation (None: this one's)."""

    name: str
    python: Path | None = None

    async def prints(self, system: System, *words: str) -> Any:
        """Return the JSON that its command prints about the store of *system*."""
        return json.loads(await self._says(system, *words, "--json"))

    async def set_up(self, system: System) -> list[tuple[str, Any]]:
        """Return what people have set up, each with its kind, as its command prints it."""
        if self.python is not None:  # 1.0 has no `bridge export`
            listed = await self.prints(system, "reports")
            kinds = {
                "reports": "schedule",
                "schedules": "schedule",
                "alerts": "alert",
                "channels": "channel with settings",
            }
            return [(noun, one) for kind, noun in kinds.items() for one in listed[kind]]
        _heading, *lines = map(json.loads, (await self._says(system, "export")).splitlines())
        return [(line["kind"], line["spec"]) for line in lines]

    async def _says(self, system: System, *words: str) -> str:
        asked = await asyncio.create_subprocess_exec(
            *(str(self.python or sys.executable), "-I", "-m", "bridge", *words),
            env=_environment(system.bridges[-1].environ),
            stdout=asyncio.subprocess.PIPE,
        )
        printed, _ = await asked.communicate()
        assert asked.returncode == 0, f"{self.name}: bridge {' '.join(words)} failed"
        return printed.decode()


NOW = Release("this release")


@contextmanager
def release_before() -> Iterator[Release]:
    """Lay out the commit in ``before.txt``, and make its environment as its own ``make run`` does."""
    commit = (_HERE / "before.txt").read_text(encoding="utf-8").strip()
    with TemporaryDirectory(prefix="before-") as folder:
        tree = Path(folder, "tree")
        _run("git", "-C", str(_ROOT), "worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            _run("make", "-C", str(tree), str(_MADE))
            python = tree / _MADE.with_name("bin") / "python"
            where = _run(str(python), "-I", "-c", "import bridge; print(bridge.__file__)")
            assert Path(where.strip()).is_relative_to(tree.resolve()), where
            yield Release("the release before", python)
        finally:
            _run("git", "-C", str(_ROOT), "worktree", "remove", "--force", str(tree))


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=_environment({})).stdout  # noqa: S603


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with *more*, but without what a ``make`` above passes to those below."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "GIT_"))} | {
        **more
    }
