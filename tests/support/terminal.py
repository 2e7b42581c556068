"""``bridge`` in a terminal of its own."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from support import forks
from support.forks import Fork
from support.waiting import wait_until


def _log_in(terminal: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs, such as these tests, ignore Ctrl-C
    os.login_tty(terminal)


class Terminal:
    """Run ``bridge`` with *words* in *folder*, forked or (*is_alone*) in a new interpreter.

    *screen* is its output so far, without colors. *pastes* is typed after each output.
    """

    def __init__(self, *words: str, folder: Path, environ: Mapping[str, str], is_alone: bool = False) -> None:
        self._words, self._folder, self._environ = words, folder, environ
        self._is_alone = is_alone or not forks.are_possible()
        self.screen = self.pastes = ""
        self._seen = 0

    async def __aenter__(self) -> Self:
        self._master, slave = os.openpty()
        self._process = await self._start(slave)
        os.close(slave)
        asyncio.get_running_loop().add_reader(self._master, self._read)
        return self

    async def __aexit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._master)
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        os.close(self._master)

    async def _start(self, slave: int) -> Fork | asyncio.subprocess.Process:
        if not self._is_alone:
            return forks.start_in_terminal(self._words, self._folder, self._environ, slave)
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bridge", *self._words),
            cwd=self._folder, env=dict(self._environ), stdin=slave, stdout=slave, stderr=slave,
            preexec_fn=lambda: _log_in(slave),  # passwords are read from the controlling terminal
        )  # fmt: skip

    def _read(self) -> None:
        try:
            data = os.read(self._master, 65536)
        except OSError:  # it has ended
            asyncio.get_running_loop().remove_reader(self._master)
            return
        self.screen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data.decode(errors="replace"))
        if self.pastes:
            self.types(self.pastes)

    async def sees(self, words: str) -> None:
        """Wait for *words* after those seen before."""
        await wait_until(lambda: words in self.screen[self._seen :], f"{words!r} after {self.screen[self._seen :]!r}")
        self._seen = self.screen.index(words, self._seen) + len(words)

    async def answers(self, question: str, answer: str) -> None:
        """Wait for *question*, then type *answer* and Enter."""
        await self.sees(question)
        self.types(answer)

    def types(self, line: str) -> None:
        """Type *line* and Enter, whether asked or not."""
        os.write(self._master, f"{line}\n".encode())

    async def ends(self) -> int:
        """Wait for its end; return the exit code."""
        async with asyncio.timeout(30):
            code = await self._process.wait()
        self._read_rest()
        return code

    def _read_rest(self) -> None:
        os.set_blocking(self._master, False)
        while True:
            before = len(self.screen)
            self._read()
            if len(self.screen) == before:
                return
