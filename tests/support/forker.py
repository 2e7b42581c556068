"""``python -m support.forker FD``: forks bridges, because reading all modules anew is most of what a start costs.

It reads them once. Whoever asks at the other end of the socket FD sends JSON and the file that is to be a bridge's
output, and gets the number of a new process; or asks for the exit code of one that has ended. When nobody is left to
ask, all that live are killed.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import traceback
from contextlib import suppress
from typing import Any

import bridge.app.parts
import bridge.cli  # noqa: F401 - so that no fork has to read them
from bridge.__main__ import main as bridge_main
from support import mortal
from support.points import names_of_scripts

_MOST = 1 << 18  # bytes of a wish


def become(wish: dict[str, Any], output: int) -> int:
    """Be the bridge that *wish* describes; gives its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number in (1, 2):
        os.dup2(output, number)
    os.environ.clear()
    os.environ.update(wish["environ"])
    sys.argv = ["bridge", "serve", *wish["arguments"]]
    if wish["diary"]:
        return mortal.live_here(wish["fate"], wish["diary"])
    try:
        bridge_main()
    except SystemExit as exc:
        return int(exc.code or 0)
    return 0


def fork(wish: dict[str, Any], output: int, ear: socket.socket) -> int:
    """Fork one; gives its number."""
    pid = os.fork()
    if pid == 0:
        ear.close()
        code = 1
        try:
            code = become(wish, output)
        except BaseException:  # noqa: BLE001 - as the interpreter would at its end
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    os.close(output)
    return pid


def serve(ear: socket.socket) -> None:
    """Do what is asked for until nobody is left to ask."""
    alive: set[int] = set()
    try:
        while (said := socket.recv_fds(ear, _MOST, 1))[0]:
            wish = json.loads(said[0])
            if "ended" in wish:
                alive.discard(wish["ended"])
                answer = os.waitstatus_to_exitcode(os.waitpid(wish["ended"], 0)[1])
            else:
                alive.add(answer := fork(wish, said[1][0], ear))
            ear.sendall(b"%d\n" % answer)
    finally:
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    names_of_scripts()  # once for all
    serve(socket.socket(fileno=int(sys.argv[1])))
