"""Runs ``bridge …`` in this very process, and ends it when its parent is gone.

::

    python -m bridge.playground.child serve

The parent holds the other end of standard input and never writes. If it is killed it can tell nobody; but the kernel
closes its end, and that is read here. So no bridge goes on working without the Slack that it was started for.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time
from typing import Final

LONGEST_FAREWELL: Final = 60.0  # seconds; a bridge may be killed at any moment, so there is no harm in doing it


def _end_with_the_parent(standard_input: int) -> None:
    while os.read(standard_input, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(LONGEST_FAREWELL)
    os._exit(1)


def main() -> None:
    """Be the bridge, with the words of the command line."""
    # A daemon thread: whether the parent is there must not keep the bridge from ending by itself.
    threading.Thread(target=_end_with_the_parent, args=(sys.stdin.fileno(),), daemon=True).start()
    runpy.run_module("bridge", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
