"""``python -m support.forker FD``: fork bridges, because importing all modules is most of a start's cost.

It imports them once. The parent sends JSON and the bridge's output files (one for all, or a second for stderr) over
socket FD and gets back a process id; or it asks for a process's exit code. When the parent is gone, all running
processes are killed.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import traceback
from contextlib import suppress
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import bridge.cli  # noqa: F401 - so that no fork has to read it
from bridge.__main__ import main as bridge_main
from support import mortal
from support.points import names_of_scripts

READ = {"serve": ("bridge.app",), "playground": ("bridge.playground",)}
"""What each command reads only when it is carried out; the others some of all this, and probes of their own."""

_MOST = 1 << 18  # maximum size of a request in bytes


def become(wish: dict[str, Any], outputs: list[int]) -> int:
    """Be the bridge that *wish* describes; return its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(outputs[0], 1)
    os.dup2(outputs[-1], 2)
    for output in outputs:
        os.close(output)
    os.environ.clear()
    os.environ.update(wish["environ"])
    os.chdir(wish.get("folder", "."))
    sys.argv = ["bridge", *wish["words"]]
    if wish.get("diary"):
        return mortal.live_here(wish["fate"], wish["diary"])
    try:
        bridge_main()
    except SystemExit as exc:
        return int(exc.code or 0)
    return 0


@cache
def read_all_of(package: str) -> None:
    """Import every module of *package*."""
    for module in walk_packages(import_module(package).__path__, f"{package}."):
        if not module.name.endswith("__main__"):
            import_module(module.name)


def fork(wish: dict[str, Any], outputs: list[int], ear: socket.socket) -> int:
    """Fork a bridge; return its process id."""
    for package in READ.get(wish["words"][0], ("bridge.app", "bridge.cli")):  # once here rather than in each fork
        read_all_of(package)
    gc.freeze()  # a collection in the child would copy the memory of all modules
    pid = os.fork()
    if pid == 0:
        ear.close()
        code = 1
        try:
            code = become(wish, outputs)
        except BaseException:  # noqa: BLE001 - as the interpreter would at its end
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    for output in outputs:
        os.close(output)
    return pid


def serve(ear: socket.socket) -> None:
    """Serve requests until the parent is gone."""
    alive: set[int] = set()
    try:
        while (said := socket.recv_fds(ear, _MOST, 2))[0]:
            wish = json.loads(said[0])
            if "ended" in wish:
                alive.discard(wish["ended"])
                answer = os.waitstatus_to_exitcode(os.waitpid(wish["ended"], 0)[1])
            else:
                alive.add(answer := fork(wish, said[1], ear))
            ear.sendall(b"%d\n" % answer)
    finally:
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    names_of_scripts()  # once for all forks
    serve(socket.socket(fileno=int(sys.argv[1])))
