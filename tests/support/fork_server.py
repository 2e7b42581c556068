"""``python -m support.fork_server FD``: fork bridges, because importing all modules is most of a start's cost.

It imports them once. The client sends JSON and the bridge's files over socket FD (one for all output, a second for
stderr, or a terminal) and gets back a process id; or it asks for a process's exit code. When the client exits, all
running processes are killed.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import traceback
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import bridge.cli  # noqa: F401 - so that no fork has to import it
from bridge.__main__ import main as bridge_main
from bridge.project.transport import _trusted
from bridge.settings import environment, well_formed
from support import instrumented_bridge
from support.kill_points import names_of_scripts

LAZY = {"serve": ("bridge.app",), "playground": ("bridge.playground",)}
"""The packages that each command imports only when it runs. Other commands need parts of both."""

_IN_USE = (
    "certifi", "encodings.idna", "uvicorn.lifespan.off", "uvicorn.lifespan.on", "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto", "uvicorn.protocols.websockets.auto", "uvloop",
)  # fmt: skip
"""Modules that are only imported in use."""

_MOST = 1 << 18  # maximum size of a request in bytes


def connect(outputs: list[int]) -> None:
    """Send all output there, and read nothing."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(outputs[0], 1)
    os.dup2(outputs[-1], 2)
    for output in outputs:
        os.close(output)


def log_in(terminal: int) -> None:
    """Use a terminal for everything, as from a shell in it."""
    os.login_tty(terminal)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115


def become(request: dict[str, Any], files: list[int]) -> int:
    """Be the bridge that *request* describes; return its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if request.get("in_terminal"):
        log_in(*files)
    else:
        connect(files)
    os.environ.clear()
    os.environ.update(request["environ"])
    os.chdir(request.get("folder", "."))
    sys.argv = ["bridge", *request["words"]]
    if request.get("point_log") or request.get("timing"):
        return instrumented_bridge.run_until_killed(request["kill_at"], request["point_log"], request["timing"])
    try:
        bridge_main()
    except SystemExit as exc:
        return int(exc.code or 0)
    return 0


@cache
def import_all_of(package: str) -> None:
    """Import every module of *package*."""
    for module in walk_packages(import_module(package).__path__, f"{package}."):
        if not module.name.endswith("__main__"):
            import_module(module.name)


def prepare() -> None:
    """Do once what each fork would do at its start."""
    for name in _IN_USE:
        with suppress(ImportError):
            import_module(name)
    _trusted(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")))
    well_formed(environment(os.environ, Path(os.devnull), slips=[]))
    with suppress(SystemExit), redirect_stdout(StringIO()):
        bridge_main(["--version"])


def fork(request: dict[str, Any], files: list[int], channel: socket.socket) -> int:
    """Fork a bridge; return its process id."""
    for package in LAZY.get(request["words"][0], ("bridge.app", "bridge.cli")):  # once here rather than in each fork
        import_all_of(package)
    gc.freeze()  # a collection in the child would copy the memory of all modules
    pid = os.fork()
    if pid == 0:
        channel.close()
        code = 1
        try:
            code = become(request, files)
        except BaseException:  # noqa: BLE001 - as the interpreter would
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    for file in files:
        os.close(file)
    return pid


def serve(channel: socket.socket) -> None:
    """Serve requests until the client exits."""
    alive: set[int] = set()
    try:
        while (said := socket.recv_fds(channel, _MOST, 2))[0]:
            request = json.loads(said[0])
            if "ended" in request:
                alive.discard(request["ended"])
                answer = os.waitstatus_to_exitcode(os.waitpid(request["ended"], 0)[1])
            else:
                alive.add(answer := fork(request, said[1], channel))
            channel.sendall(b"%d\n" % answer)
    finally:
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    names_of_scripts()
    prepare()
    serve(socket.socket(fileno=int(sys.argv[1])))
