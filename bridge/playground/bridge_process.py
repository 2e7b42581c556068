"""The real bridge as a child process: restarted whenever it ends, probed for readiness, and killed on demand.

Its environment is its only configuration, as with the real Slack.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process, create_subprocess_exec
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import aiohttp

log = logging.getLogger(__name__)

_LOOK_EVERY: Final = 0.5  # seconds between two probes
_PAUSES: Final = (0.0, 0.5, 2.0, 5.0)  # seconds before a restart, longer each time it wasn't ready
_FAREWELL: Final = 8.0  # seconds after the drain before it is killed
_LONGEST_QUESTION: Final = 20.0  # seconds for a command


class BridgeProcess:
    """``bridge serve`` with the settings *environ*, listening at *url*.

    It has *drain* seconds to finish running work when it is stopped. Its output is appended to *log_file*.
    """

    def __init__(self, environ: Mapping[str, str], *, url: str, drain: float, log_file: Path) -> None:
        self.environ = dict(environ)
        self.url = url
        self.is_ready = False
        self.reach: dict[str, Any] = {}  # the body of /readyz
        self._drain = drain
        self._log_file = log_file
        self._process: Process | None = None
        self._was_ever_ready = False
        self._failures = 0
        self._one_question = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """Its process ID; None while it isn't running."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def run(self) -> int:
        """Keep one running until cancelled, then stop it. Returns the exit code of one that never got ready."""
        while True:
            code = await self._run_once()
            if code > 0 and not self._was_ever_ready:
                return code  # its log says why
            log.warning("the bridge ended and is restarted", extra={"code": code})
            await asyncio.sleep(_PAUSES[min(self._failures, len(_PAUSES) - 1)])

    async def _run_once(self) -> int:
        with self._log_file.open("ab") as log_file:
            self._process = process = await create_subprocess_exec(
                *(sys.executable, "-m", "bridge.playground.child", "serve"),
                env=self.environ,
                stdin=PIPE,  # see bridge/playground/child.py
                stdout=log_file,
                stderr=log_file,
                start_new_session=True,  # Ctrl-C in a terminal reaches this process, which then stops it
            )
        try:
            return await process.wait()
        finally:
            await self._end(process)
            self._failures = 0 if self.is_ready else self._failures + 1
            self.is_ready, self.reach = False, {}

    async def _end(self, process: Process) -> None:
        """Stop it gracefully, or by force if that takes too long."""
        if process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(self._drain + _FAREWELL):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    def kill(self) -> None:
        if self.pid is not None and self._process is not None:
            self._process.send_signal(signal.SIGKILL)

    async def watch(self) -> None:
        """Probe it forever, for `is_ready` and `reach`."""
        timeout = aiohttp.ClientTimeout(total=2 * _LOOK_EVERY)
        async with aiohttp.ClientSession(timeout=timeout) as http:
            while True:
                await self._look(http)
                await asyncio.sleep(_LOOK_EVERY if self.is_ready else _LOOK_EVERY / 5)

    async def _look(self, http: aiohttp.ClientSession) -> None:
        try:
            async with http.get(f"{self.url}/readyz") as answer:
                self.reach = await answer.json()
                self.is_ready = bool(self.reach.get("ready"))
                self._was_ever_ready |= self.is_ready
        except (aiohttp.ClientError, TimeoutError, ValueError):
            self.is_ready, self.reach = False, {}

    async def asked(self, *words: str) -> str:
        """Run ``bridge`` with *words* in the same environment. Returns its output, or nothing if it fails."""
        async with self._one_question:  # each is a process, and a page may ask for many
            process = await create_subprocess_exec(
                *(sys.executable, "-m", "bridge", *words), env=self.environ, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
            )
            try:
                async with asyncio.timeout(_LONGEST_QUESTION):
                    printed, _ = await process.communicate()
            except TimeoutError:
                return ""
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        return printed.decode() if process.returncode == 0 else ""
