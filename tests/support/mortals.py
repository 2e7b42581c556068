"""Bridges that are forked and die at a given point: what a test has of `support.mortal`."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from support.world import BridgeProcess, World

_ROOT = Path(__file__).parents[2]
_NOT_YET = "COVERAGE"  # a process that is killed writes no figures, and measuring slows it down


@dataclass
class Forked:
    """A process as `BridgeProcess` needs it: that of somebody else's child."""

    pid: int
    returncode: int | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, if there is still somebody to hear it."""
        if self.returncode is None:
            with suppress(ProcessLookupError):  # it has ended, and the news of it is under way
                os.kill(self.pid, number)

    def end(self, code: int) -> None:
        """Take note of its end."""
        if self.returncode is None:
            self.returncode = code
        self.ended.set()

    async def wait(self) -> int:
        """Wait for its end."""
        await self.ended.wait()
        return self.returncode or 0


class Mortals:
    """Forks bridges by way of one *parent* process; their logs and diaries are kept in *folder*."""

    def __init__(self, parent: asyncio.subprocess.Process, folder: Path) -> None:
        self._parent = parent
        self._folder = folder
        self._born: asyncio.Queue[int] = asyncio.Queue()
        self._all: dict[int, Forked] = {}
        self._one_at_a_time = asyncio.Lock()
        self._count = 0

    async def listen(self) -> None:
        """Hear of who begins and ends."""
        while self._parent.stdout is not None and (line := await self._parent.stdout.readline()):
            match json.loads(line):
                case {"pid": int() as pid}:
                    self._all[pid] = Forked(pid)
                    self._born.put_nowait(pid)
                case {"ended": int() as pid, "code": int() as code}:
                    self._all[pid].end(code)
        for forked in self._all.values():  # nobody is left to tell of them
            forked.end(-signal.SIGKILL)

    async def fork(self, environ: Mapping[str, str], fate: str) -> tuple[Forked, Path, Path]:
        """Begin a bridge; gives it with the files of its log and its diary."""
        async with self._one_at_a_time:
            self._count += 1
            log, diary = self._folder / f"{self._count}.log", self._folder / f"{self._count}.diary"
            wish = {"environ": dict(environ), "fate": fate, "log": str(log), "diary": str(diary)}
            if self._parent.stdin is None:
                raise AssertionError("the parent has no ear")
            self._parent.stdin.write(f"{json.dumps(wish)}\n".encode())
            return self._all[await self._born.get()], log, diary


@dataclass
class Mortal(BridgeProcess):
    """A bridge that dies at its *fate* (``""``: lives on)."""

    mortals: Mortals | None = None
    fate: str = ""
    files: tuple[Path, Path] | None = None

    async def start(self) -> Self:
        """Fork it."""
        if self.mortals is None:
            raise AssertionError("nobody is there to fork it")
        self.process, *files = await self.mortals.fork(self.environ, self.fate)  # type: ignore[assignment]
        self.files = (files[0], files[1])
        return self

    @property
    def forked(self) -> Forked:
        """Its process."""
        if not isinstance(self.process, Forked):
            raise AssertionError("it was never started")  # noqa: TRY004
        return self.process

    def diary(self) -> list[str]:
        """The points that it has passed."""
        return self.files[1].read_text().splitlines() if self.files and self.files[1].exists() else []

    async def wait(self) -> int:
        """Wait for its end, and read what it has written."""
        code = await self.forked.wait()
        if self.files and self.files[0].exists():
            self.log[:] = self.files[0].read_bytes()
        return code


def a_mortal(world: World, mortals: Mortals, fate: str = "", **environ: str) -> Mortal:
    """Prepare a bridge for *world*."""
    plain = world.bridge(**environ)
    world.bridges.remove(plain)
    mortal = Mortal(plain.environ, mortals=mortals, fate=fate)
    world.bridges.append(mortal)
    return mortal


@asynccontextmanager
async def the_mortals(folder: Path) -> AsyncIterator[Mortals]:
    """Have a parent process that forks bridges."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_YET)}
    environ["PYTHONPATH"] = os.pathsep.join([str(_ROOT), str(_ROOT / "tests")])
    parent = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "support.mortal",
        env=environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    mortals = Mortals(parent, folder)
    listening = asyncio.create_task(mortals.listen())
    try:
        yield mortals
    finally:
        if parent.stdin is not None:
            parent.stdin.close()
        await parent.wait()
        await listening
