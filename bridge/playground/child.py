"""Runs ``bridge …`` in this process, and ends with its parent.

::

    python -m bridge.playground.child serve

The parent holds the other end of standard input and never writes. When it dies, even by SIGKILL, the kernel closes
that end, so no bridge outlives the Slack it was started for.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time
from typing import Final

LONGEST_FAREWELL: Final = 60.0  # seconds; a bridge may be killed at any moment


def _end_with_the_parent(standard_input: int) -> None:
    while os.read(standard_input, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(LONGEST_FAREWELL)
    os._exit(1)


def main() -> None:
    # A daemon thread, so that it can't keep the bridge from ending by itself.
    threading.Thread(target=_end_with_the_parent, args=(sys.stdin.fileno(),), daemon=True).start()
    runpy.run_module("bridge", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
