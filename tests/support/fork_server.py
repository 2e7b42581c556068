"""``python -m support.fork_server PATH FD``: fork bridges, because importing all modules is most of a start's cost.

It imports them once for all processes of a test run, its clients, which connect to the socket FD, bound to PATH. A
client sends JSON and the bridge's files (one for all output, a second for stderr, or a terminal) and gets back a
process id; or it asks for a process's exit code. A forked playground is a client, too: its bridge and its commands are
forked. When a client exits, all its running processes are killed.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
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
from select import select
from typing import Any

import bridge.cli  # noqa: F401 - so that no fork has to import it
from bridge.__main__ import main as bridge_main
from bridge.names.folding import emoji_of
from bridge.playground import bridge_process
from bridge.project.transport import _trusted
from bridge.settings import environment, well_formed
from support import forks, instrumented_bridge
from support.kill_points import names_of_scripts

LAZY = {"serve": ("bridge.app",), "playground": ("bridge.playground",)}
"""The packages that each command imports only when it runs. Other commands need parts of both."""

_IN_USE = (
    "certifi", "encodings.idna", "slack_bolt.listener_matcher.async_builtins", "typer._adapters",
    "uvicorn.lifespan.off", "uvicorn.lifespan.on", "uvicorn.loops.auto",
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
    emoji_of(":fox_face:")
    _trusted(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")))
    well_formed(environment(os.environ, Path(os.devnull), slips=[]))
    with suppress(SystemExit), redirect_stdout(StringIO()):
        bridge_main(["--version"])


def fork(request: dict[str, Any], files: list[int], clients: selectors.BaseSelector) -> int:
    """Fork a bridge; return its process id."""
    is_playground = request["words"][0] == "playground"
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) if is_playground else (None, None)
    for package in LAZY.get(request["words"][0], ("bridge.app", "bridge.cli")):  # once here rather than in each fork
        import_all_of(package)
    gc.freeze()  # a collection in the child would copy the memory of all modules
    pid = os.fork()
    if pid == 0:
        for client in [*clients.get_map().values()]:
            client.fileobj.close()  # type: ignore[union-attr] # or it would look as if the server were alive
        clients.close()
        code = 1
        try:
            if ours and its:
                ours.close()
                forks.share(its)
                bridge_process.create_subprocess_exec = forks.create_subprocess_exec  # type: ignore[assignment]
            code = become(request, files)
        except BaseException:  # noqa: BLE001 - as the interpreter would
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    for file in files:
        os.close(file)
    if ours and its:
        its.close()
        clients.register(ours, selectors.EVENT_READ, set[int]())
    return pid


def serve(door: socket.socket, path: str) -> None:
    """Serve all clients, until there are none."""
    with selectors.DefaultSelector() as clients:
        clients.register(door, selectors.EVENT_READ)
        while True:
            for client, _ in clients.select():
                assert isinstance(client.fileobj, socket.socket)
                if client.fileobj is door:
                    clients.register(door.accept()[0], selectors.EVENT_READ, set[int]())
                elif not answered(client.fileobj, client.data, clients):
                    clients.unregister(client.fileobj)
                    client.fileobj.close()
                    kill(client.data)
            if len(clients.get_map()) == 1:
                with forks.alone():
                    if not select([door], [], [], 0)[0]:
                        Path(path).unlink()
                        return


def answered(client: socket.socket, alive: set[int], clients: selectors.BaseSelector) -> bool:
    """Answer a client's request; return False if the client has exited."""
    try:
        said, files, _, _ = socket.recv_fds(client, _MOST, 2)
    except ConnectionResetError:
        return False
    if not said:
        return False
    request = json.loads(said)
    if "ended" in request:
        alive.discard(request["ended"])
        answer = os.waitstatus_to_exitcode(os.waitpid(request["ended"], 0)[1])
    else:
        alive.add(answer := fork(request, files, clients))
    with suppress(BrokenPipeError):  # it was killed meanwhile
        client.sendall(b"%d\n" % answer)
    return True


def kill(alive: set[int]) -> None:
    """Kill the processes of a client that has exited."""
    for pid in alive:
        os.kill(pid, signal.SIGKILL)  # none has been waited for
        os.waitpid(pid, 0)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    names_of_scripts()
    prepare()
    serve(socket.socket(fileno=int(sys.argv[2])), sys.argv[1])
