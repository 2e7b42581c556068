"""The servers under test: separate processes on a dedicated core, with their memory and CPU use."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench.traffic import BOT_TOKEN, SIGNING_SECRET

Kind = Literal["bridge", "bare", "naive"]

_MODULES: Mapping[Kind, tuple[str, ...]] = {
    "bridge": ("bridge", "serve"),
    "bare": ("bench.bare",),
    "naive": ("bench.naive",),
}
_STOP_SECONDS = 10.0
_KIB = 1024


@contextmanager
def pinned_to(core: int) -> Iterator[None]:
    """Pin processes started in this block to *core*, where the system supports it."""
    if not hasattr(os, "sched_setaffinity"):  # macOS
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A server's configuration and its *core*."""

    slack_port: int
    project_port: int
    redis_url: str
    core: int
    folder: Path


class ServerProcess:
    """A running server that logs to a file."""

    def __init__(self, kind: Kind, around: Surroundings, port: int, **environ: str) -> None:
        self.kind = kind
        self.port = port
        self.log = around.folder / f"{kind}-{port}-{secrets.token_hex(2)}.log"
        environment = {**os.environ, **_environment(around, port), **environ}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a deployed server has its bytecode cached
        command = [sys.executable, "-m", *_MODULES[kind]]
        self.began = time.perf_counter()
        with pinned_to(around.core), self.log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own modules
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=around.folder
            )

    @property
    def has_ended(self) -> bool:
        """Whether the process has exited."""
        return self._process.poll() is not None

    def resident(self) -> float:
        """Current memory in MB."""
        return self._status("VmRSS")

    def peak(self) -> float:
        """Peak memory in MB."""
        return self._status("VmHWM")

    def cpu_seconds(self) -> float:
        """CPU time used so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """Shut it down cleanly, or kill it after a timeout."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait()

    def _status(self, name: str) -> float:
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) / _KIB
        raise LookupError(name)


def _environment(around: Surroundings, port: int) -> dict[str, str]:
    root = Path(__file__).parents[1]
    return {
        "PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")]),
        "SLACK_BOT_TOKEN": BOT_TOKEN,
        "SLACK_SIGNING_SECRET": SIGNING_SECRET,
        "SLACK_API_URL": f"http://127.0.0.1:{around.slack_port}/api/",
        "PROJECT_BASE_URL": f"http://127.0.0.1:{around.project_port}",
        "PROJECT_API_KEY": "key-of-the-benchmark",
        "REDIS_URL": around.redis_url,
        "BRIDGE_NAMESPACE": "bench",
        "BRIDGE_HOST": "127.0.0.1",
        "BRIDGE_PORT": str(port),
        "BRIDGE_DRAIN_SECONDS": "1",
        "BRIDGE_THREAD_TURNS_PER_MINUTE": "0",  # a benchmark thread exceeds the limit within seconds
    }
