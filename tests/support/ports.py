"""Ports for servers about to start."""

from __future__ import annotations

import secrets
import socket
from contextlib import ExitStack

_PORTS = range(10_000, 20_000)  # below the kernel's ephemeral ports


def free_port(*, higher: int = 0) -> int:
    """Find a free port, with the port *higher* above it free too."""
    while True:
        port = secrets.choice(_PORTS)
        with ExitStack() as stack:
            try:
                for one in {port, port + higher}:
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", one))
            except OSError:
                continue
        return port
