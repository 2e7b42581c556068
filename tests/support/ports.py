"""Ports for servers that are started a moment later."""

from __future__ import annotations

import secrets
import socket
from contextlib import ExitStack

_PORTS = range(10_000, 20_000)  # below those that the kernel gives to whoever connects to something meanwhile


def free_port(*, higher: int = 0) -> int:
    """Find a port that nobody has at the moment, nor the one that is so much *higher*."""
    while True:
        port = secrets.choice(_PORTS)
        with ExitStack() as stack:
            try:
                for one in {port, port + higher}:
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", one))
            except OSError:
                continue
        return port
