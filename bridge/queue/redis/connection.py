"""The connection to Redis: pool size, timeouts, and the meaning of errors.

- redis-py retries nothing (`Retry` with 0 retries). It would resend a command after a broken connection, and a script
  that had already run would report its second run: "already seen" for an event it had just queued. The caller knows
  whether a step may be repeated. Stale idle connections are detected before use, so this rarely costs anything.
- Callers wait for a free connection (redis-py's own pool raises at the hundredth). Blocking reads have their own
  connections; otherwise 64 waiting readers would use up the pool.
- RESP2: the answers used here are the same in both protocols, except that in RESP3 the shape of a stream's entries
  depends on the server's version.
- Options in the URL's query are honored (``?ssl_ca_certs=…``), except those the code relies on.
- With Sentinel or a cluster, the same pool's connections follow the server that has the bridge's keys (`masters`). The
  Sentinels' own login goes into the query (``?sentinel_password=…``); ``rediss+sentinel`` uses TLS for Sentinels, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from hiredis import pack_command
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from bridge.errors import ConfigurationError, StoreUnavailable
from bridge.queue.redis.masters import OneSlot, following
from bridge.queue.redis.refusals import refusal_of
from bridge.setting_types import redis_servers

CONNECTIONS = 64  # a turn needs a connection for milliseconds; 64 are enough for thousands
BLOCKING_CONNECTIONS = 4  # per process: for the ready stream and subscriptions
POOL_WAIT = timedelta(seconds=2)
CONNECT_TIMEOUT = timedelta(seconds=2)
ANSWER_TIMEOUT = timedelta(seconds=2)  # a request of Slack's must be answered within 3 s
BLOCK = timedelta(seconds=5)
HEALTH_CHECK_SECONDS = 30  # a connection idle for longer is checked before use


def connect(url: str) -> Redis:
    """Create a client for commands that don't block; the first command connects it."""
    return _client(url, CONNECTIONS, ANSWER_TIMEOUT)


def blocking_connection(url: str, block: timedelta = BLOCK) -> Redis:
    """Create a client for reads that block up to *block* at the server: pass COUNT and BLOCK with each.

    It waits a little longer than *block*, to detect a network that drops packets.
    """
    return _client(url, BLOCKING_CONNECTIONS, block + ANSWER_TIMEOUT)


def _client(url: str, connections: int, answer_timeout: timedelta) -> Redis:
    """Create the client for *url*. Raises `ConfigurationError`."""
    ours: dict[str, Any] = {
        "decode_responses": True,
        "driver_info": None,  # otherwise each connection looks up redis-py's version on disk, for 2 ms
        "health_check_interval": HEALTH_CHECK_SECONDS,
        "max_connections": connections,
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "retry_on_error": [],
        "retry_on_timeout": False,
        "socket_connect_timeout": CONNECT_TIMEOUT.total_seconds(),
        "socket_timeout": answer_timeout.total_seconds(),
        "timeout": POOL_WAIT.total_seconds(),  # of the pool: how long a caller waits for a free connection
    }
    try:
        several = redis_servers(url)
    except ValueError as exc:  # the bridge's own message, which doesn't have the URL
        raise ConfigurationError([f"REDIS_URL {exc}"]) from None
    try:
        theirs = parse_url(several.plain if several else url)
    except ValueError:  # its message may contain the URL with its password
        raise ConfigurationError(
            ["REDIS_URL isn't a Redis address: use one such as redis://localhost:6379/0"]
        ) from None
    options: dict[str, Any] = {name: value for name, value in theirs.items() if name not in ours}
    if several:
        options = following(several, options)
    client = OneSlot if several and several.kind == "cluster" else Redis
    pool = BlockingConnectionPool(**options, **ours)
    pool.connection_class = type("Connection", (_PackedInC, pool.connection_class), {})
    try:
        pool.connection_class(**pool.connection_kwargs)
    except (TypeError, RedisError):  # its message may contain a value
        raise ConfigurationError(
            ["REDIS_URL has an option after ? that can't be used: use one such as ?ssl_cert_reqs=required, or none"]
        ) from None
    return client.from_pool(pool)


class _PackedInC(AbstractConnection):
    """A connection that packs commands as redis-py's synchronous ones do.

    The asynchronous ones do it in Python: 1,000 of a turn's 4,400 calls of functions.
    """

    def pack_command(self, *args: Any) -> list[bytes]:
        return [pack_command((*args[0].split(), *args[1:]))]


def stop_if_cancelled() -> None:
    """Raise CancelledError in a cancelled task, even if redis-py raised its own error instead, or returned.

    redis-py's connections sometimes do that, and a loop that continues after every error would never stop.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def translation(exc: RedisError | RuntimeError) -> Exception:
    """Turn redis-py's error into `StoreUnavailable` with a reason.

    Bugs (a key of another type) stay as they are, and so do NOGROUP and NOSCRIPT, which the caller can fix.
    """
    stop_if_cancelled()
    if isinstance(exc, RuntimeError):
        # A connection that closes just when it's used raises OSError with asyncio's own loop, which redis-py handles,
        # and RuntimeError with uvloop, which it doesn't.
        return StoreUnavailable() if "handler is closed" in str(exc) else exc
    return refusal_of(exc) or exc


@contextmanager
def translated() -> Iterator[None]:
    """Translate redis-py's errors in the block, and call `stop_if_cancelled` afterwards."""
    try:
        yield
    except (RedisError, RuntimeError) as exc:
        if (found := translation(exc)) is exc:
            raise
        raise found from exc
    stop_if_cancelled()
