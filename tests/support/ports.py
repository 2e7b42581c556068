"""Ports for servers about to start, and what their clients need."""

from __future__ import annotations

import secrets
import socket
import ssl
from contextlib import ExitStack

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients of servers on this machine; the default context reads all authorities, 30 ms per client."""

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
