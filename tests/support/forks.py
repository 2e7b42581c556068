"""Processes forked by `support.fork_server`, with asyncio's process interface. All tests share one server."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import IO

_ROOT = Path(__file__).parents[2]
_COVERAGE = "COVERAGE"  # set by coverage: forks aren't measured, and coverage is slow


def are_possible() -> bool:
    """Whether bridges may be forked: on Linux, which reports the exit of another's child, and without coverage."""
    return hasattr(os, "pidfd_open") and not any(name.startswith(_COVERAGE) for name in os.environ)


class Fork:
    """A process, with the part of `asyncio.subprocess.Process` that tests use."""

    def __init__(self, pid: int, stdout: asyncio.StreamReader | None) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._ended = asyncio.Event()
        self._watched = os.pidfd_open(pid)
        asyncio.get_running_loop().add_reader(self._watched, self._end)

    async def communicate(self) -> tuple[bytes, None]:
        """Wait for its end; return its output."""
        printed = await self.stdout.read() if self.stdout else b""
        await self.wait()
        return printed, None

    def send_signal(self, number: int) -> None:
        """Send a signal if the process is still running."""
        if self.returncode is None:
            with suppress(ProcessLookupError):  # it has ended, and the notification is in flight
                signal.pidfd_send_signal(self._watched, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Wait for its end; return the exit code."""
        await self._ended.wait()
        return self.returncode or 0

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._watched)
        os.close(self._watched)
        self.returncode = _ask({"ended": self.pid})
        self._ended.set()


async def fork(
    environ: Mapping[str, str],
    arguments: Sequence[str] = (),
    *,
    kill_at: str = "",
    point_log: str = "",
    timing: Mapping[str, float] | None = None,
) -> Fork:
    """Fork ``bridge serve`` with *environ* added to our own and *arguments*.

    With a *point_log*, `support.instrumented_bridge` writes the points it passes to that file and dies at *kill_at*;
    *timing* has seconds for arguments of `bridge.app.Bridge`.
    """
    request = {
        "environ": {**os.environ, **environ},
        "words": ["serve", *arguments],
        "kill_at": kill_at,
        "point_log": point_log,
        "timing": timing or {},
    }
    process, _ = await _forked(request, 1)
    return process


async def start(
    words: Sequence[str], folder: Path | str, environ: Mapping[str, str]
) -> Fork | asyncio.subprocess.Process:
    """Start ``bridge`` with *words* in *folder*, and only *environ*; *stdout* has all its output."""
    if are_possible():
        return (await _forked({"environ": dict(environ), "words": list(words), "folder": str(folder)}, 1))[0]
    return await start_alone(words, folder, environ)


def start_in_terminal(words: Sequence[str], folder: Path | str, environ: Mapping[str, str], terminal: int) -> Fork:
    """Start ``bridge`` with *words* in *folder*, only *environ*, and *terminal* as its own."""
    request = {"environ": dict(environ), "words": list(words), "folder": str(folder), "in_terminal": True}
    return Fork(_ask(request, terminal), None)


async def start_alone(
    words: Sequence[str],
    folder: Path | str,
    environ: Mapping[str, str],
    stderr: int = asyncio.subprocess.STDOUT,
    python: Path | None = None,
) -> asyncio.subprocess.Process:
    """Start it in a new interpreter, as from a shell; *python* is the one of another installation."""
    return await asyncio.create_subprocess_exec(
        *(str(python or sys.executable), "-m", "bridge", *words),
        cwd=folder,
        env={**({} if python else {"PYTHONPATH": str(_ROOT)}), **environ},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
    )


async def run(words: Sequence[str], folder: Path | str, environ: Mapping[str, str]) -> tuple[int, str, str]:
    """Run ``bridge`` with *words* in *folder*, and only *environ*.

    Return its exit code, stdout and stderr.
    """
    if are_possible():
        request = {"environ": dict(environ), "words": list(words), "folder": str(folder)}
        process, (out, stderr) = await _forked(request, 2)
        said = await asyncio.gather(out.read(), stderr.read())
        return await process.wait(), said[0].decode(), said[1].decode()
    alone = await start_alone(words, folder, environ, asyncio.subprocess.PIPE)
    said = await alone.communicate()
    return await alone.wait(), said[0].decode(), said[1].decode()


_FOR_SHELLS = """#!{python} -SI
import json, os, socket, sys

with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
    channel.connect({path!r})
    request = {{"environ": dict(os.environ), "words": sys.argv[1:], "folder": os.getcwd()}}
    socket.send_fds(channel, [json.dumps(request).encode()], [1, 2])
    sys.exit(int(channel.recv(64)))
"""


@contextmanager
def program_for_shells() -> Iterator[Path]:
    """Make a folder for a shell's PATH whose ``bridge`` is forked, too; it ignores signals and stdin."""
    loop, ends = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    async def tell_end(process: Fork, shell: socket.socket) -> None:
        with shell:
            shell.send(b"%d" % await process.wait())

    def admit() -> None:
        shell, _ = door.accept()
        request, files, _, _ = socket.recv_fds(shell, 1 << 18, 2)
        process = Fork(_ask(json.loads(request), *files), None)
        for file in files:
            os.close(file)
        ends.add(loop.create_task(tell_end(process, shell)))

    # pytest's temporary folder may be too long for a socket path
    with TemporaryDirectory(prefix="br-") as folder, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(path := f"{folder}/socket")
        door.listen()
        loop.add_reader(door, admit)
        program = Path(folder, "bridge")
        program.write_text(_FOR_SHELLS.format(python=sys.executable, path=path), encoding="utf-8")
        program.chmod(0o700)
        yield Path(folder)
        loop.remove_reader(door)


async def create_subprocess_exec(
    *command: str, env: Mapping[str, str], stdout: int | IO[bytes], stderr: int | IO[bytes], **_: object
) -> Fork:
    """Fork ``python -m bridge …``, or a bridge that ends with its playground, as every fork does."""
    _, _, _, *words = command
    request: dict[str, object] = {"environ": dict(env), "words": words, "folder": str(Path.cwd())}
    if stdout == PIPE:
        return (await _forked(request, 2 if stderr == DEVNULL else 1))[0]
    assert not isinstance(stdout, int)
    return Fork(_ask(request, stdout.fileno()), None)


async def _forked(request: Mapping[str, object], pipes: int) -> tuple[Fork, list[asyncio.StreamReader]]:
    """Fork a process with that many output *pipes*."""
    ends = [os.pipe() for _ in range(pipes)]
    try:
        pid = _ask(request, *(its for _, its in ends))
    finally:
        for _, its in ends:
            os.close(its)
    readers = [await _reading(ours) for ours, _ in ends]
    return Fork(pid, readers[0]), readers


async def _reading(pipe: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb")
    )
    return reader


def _ask(request: Mapping[str, object], *files: int) -> int:
    """Send a request to the fork server; return its immediate answer."""
    server = _server()
    socket.send_fds(server, [json.dumps(request).encode()], files)
    return int(server.recv(64))


def share(server: socket.socket) -> None:
    """Use a running fork server from this fork on."""
    _given.append(server)


_given: list[socket.socket] = []


@cache
def _server() -> socket.socket:
    """Connect to the fork server that all processes of a test run share; it exits once none is connected."""
    if _given:
        return _given[0]
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    path = f"{gettempdir()}/br-forks-{run}"
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with alone():
        try:
            client.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):  # there is none, or it was killed
            Path(path).unlink(missing_ok=True)
            _start_server(path)
            client.connect(path)
    atexit.register(client.close)
    return client


@contextmanager
def alone() -> Iterator[None]:
    """Let no other process start or end a fork server."""
    with Path(__file__).open(encoding="utf-8") as lock:
        flock(lock, LOCK_EX)
        yield


def _start_server(path: str) -> None:
    """Start it, detached from this process, which may end before others."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(path)
        door.listen()
        door.set_inheritable(True)
        environ = {name: value for name, value in os.environ.items() if not name.startswith(_COVERAGE)}
        environ["PYTHONPATH"] = os.pathsep.join([str(_ROOT), str(_ROOT / "tests")])
        command = [sys.executable, "-m", "support.fork_server", path, str(door.fileno())]
        os.posix_spawn(sys.executable, command, environ)
