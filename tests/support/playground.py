"""``bridge playground`` as a separate process, as started from a shell."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import httpx

from bridge.playground.emulator.sample import ALICE
from support import forks
from support.forks import Fork
from support.ports import NO_TLS
from support.waiting import wait_until

_NOT_OURS = ("SLACK_", "PROJECT_", "REDIS_", "BRIDGE_")


def bare_environment(**more: str) -> dict[str, str]:
    """This process's environment, without bridge settings except *more*."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_NOT_OURS)} | more


@dataclass
class Playground:
    """A playground with its data in *folder*; *printed* is its output so far.

    *python* is the interpreter of another installation.
    """

    folder: Path
    words: tuple[str, ...] = ()
    port: tuple[str, ...] = ("--port", "0")
    environ: dict[str, str] = field(default_factory=dict)
    printed: bytearray = field(default_factory=bytearray)
    url: str = ""
    is_forked: bool = True  # otherwise it compiles all its code again
    python: Path | None = None
    process: asyncio.subprocess.Process | Fork | None = None
    _reader: asyncio.Task[None] | None = None

    @property
    def text(self) -> str:
        """`printed`, as text."""
        return self.printed.decode(errors="replace")

    async def start(self) -> Self:
        """Start it; return once *url* is known and the page is up."""
        environ = bare_environment(BRIDGE_DATA_DIR=str(self.folder), **self.environ)
        command = ("playground", *self.port, *self.words)
        if self.python is not None:
            self.process = await forks.start_alone(command, self.folder, environ, python=self.python)
        else:
            environ["PYTHONPATH"] = str(Path(__file__).parent.parent.parent)
            start = forks.start if self.is_forked else forks.start_alone
            self.process = await start(command, self.folder, environ)
        self._reader = asyncio.create_task(self._read())
        await wait_until(lambda: self._first_url() or self._is_over(), "the page's address is printed", 40)
        self.url = self._first_url()
        assert self.url, self.text
        return self

    async def _read(self) -> None:
        if self.process is not None and self.process.stdout is not None:
            while chunk := await self.process.stdout.read(65536):
                self.printed += chunk

    def _first_url(self) -> str:
        found = re.search(r"http://\S+(?=\s)", self.text)
        return found[0] if found else ""

    def _is_over(self) -> bool:
        return self.process is not None and self.process.returncode is not None

    async def state(self, user: str, channel: str = "") -> dict[str, Any]:
        """The page's state for *user*."""
        async with httpx.AsyncClient(base_url=self.url, timeout=10, verify=NO_TLS) as http:
            answer = await http.get("/page/state", params={"as": user} | ({"channel": channel} if channel else {}))
        found: dict[str, Any] = answer.raise_for_status().json()
        return found

    async def do(self, action: str, user: str, **body: Any) -> dict[str, Any]:
        """Do an action on the page as *user*."""
        async with httpx.AsyncClient(base_url=self.url, timeout=20, verify=NO_TLS) as http:
            answer = await http.post(f"/page/do/{action}", params={"as": user}, json=body)
        done: dict[str, Any] = answer.raise_for_status().json()
        assert done["ok"], done
        return done

    async def words_in(self, channel: str, thread: str) -> str:
        """All messages in a thread, as Alice sees it."""
        async with httpx.AsyncClient(base_url=self.url, verify=NO_TLS) as http:
            answer = await http.get("/page/state", params={"as": ALICE, "channel": channel, "thread": thread})
        return re.sub("<[^>]+>", "", str(answer.raise_for_status().json()["thread"]))

    async def answered(self, channel: str, thread: str, words: str) -> None:
        """Wait until *words* are in a thread."""

        async def is_there() -> bool:
            return words in await self.words_in(channel, thread)

        await wait_until(is_there, f"“{words}” is in the thread", 30)

    async def part(self, user: str, name: str) -> dict[str, Any]:
        """The status of a part."""
        return next(part for part in (await self.state(user))["parts"] if part["name"] == name)

    async def ready(self, user: str) -> Self:
        """Wait until the bridge is running."""

        async def is_up() -> bool:
            return bool((await self.part(user, "Bridge"))["is_up"])

        await wait_until(is_up, f"the bridge is ready: {self.text}", 30)
        return self

    async def kill(self) -> None:
        """Send SIGKILL."""
        await self._signalled(signal.SIGKILL)

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Shut down; return the exit code."""
        return await self._signalled(number)

    async def _signalled(self, number: signal.Signals) -> int:
        if self.process is None or self._reader is None:
            raise AssertionError("it was never started")
        if self.process.returncode is None:
            self.process.send_signal(number)
        code = await self.process.wait()
        await self._reader
        return code
