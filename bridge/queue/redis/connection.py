"""How this project talks to Redis: the size of the pool, the time-outs, and what a failure means.

- redis-py repeats nothing (`Retry` with 0 retries). By itself it would send a command again after a connection
  broke in the middle, and a script that has already run would then be answered by its second run: "seen
  already" for an event that was just queued. Whoever calls knows whether its step may be repeated, and does so.
  A connection that went stale while idle is noticed before it is used, so this costs nothing in peace.
- Callers wait for a free connection instead of failing at the hundredth (redis-py's own pool raises), and a
  read that blocks has connections of its own, or 64 waiting readers would be the whole pool.
- RESP2: the answers that are used here look the same in both protocols, except that RESP3 gives a stream's
  entries another shape in servers of different age.
- Options in the URL's query are honoured (``?ssl_ca_certs=…``), except those that the code itself relies on.
- Behind Sentinel and in a cluster it is the same pool of the same connections, which follow the one server that has
  our keys (`masters`). Nothing above knows the difference. The Sentinels' own user and password go into
  the query (``?sentinel_password=…``); with ``rediss+sentinel`` they are spoken to over TLS, too.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    ConnectionError as NoConnection,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError as NoAnswer,
    TryAgainError,
)

from bridge.errors import ConfigurationError, StoreUnavailable
from bridge.queue.redis.masters import Cluster, FollowingConnection, FollowingTlsConnection, OneSlot, Sentinels
from bridge.queue.redis.redis_py import MENDED, TlsConnection
from bridge.setting_types import RedisServers, redis_servers

CONNECTIONS = 64  # a turn needs a connection for a millisecond at a time; 64 carry thousands of turns
BLOCKING_CONNECTIONS = 4  # the readers of a process: the ready stream, and room for subscriptions
POOL_WAIT = timedelta(seconds=2)
CONNECT_TIMEOUT = timedelta(seconds=2)
ANSWER_TIMEOUT = timedelta(seconds=2)  # the door has 3 s in all, and says so before Slack gives up
BLOCK = timedelta(seconds=5)
HEALTH_CHECK_SECONDS = 30  # a connection that was idle for longer is asked before it is trusted


def connect(url: str) -> Redis:
    """Prepare a client for everything that answers at once; it connects with the first command."""
    return _client(url, CONNECTIONS, ANSWER_TIMEOUT)


def blocking_connection(url: str, block: timedelta = BLOCK) -> Redis:
    """Prepare a client for reads that wait up to *block* at the server: give COUNT and BLOCK with each.

    It waits a little longer than *block* for the answer, so that a network that swallows packets is noticed.
    """
    return _client(url, BLOCKING_CONNECTIONS, block + ANSWER_TIMEOUT)


def _client(url: str, connections: int, answer_timeout: timedelta) -> Redis:
    client, options = _way_to(url)
    # The timeout of the pool is how long a caller waits for a free connection.
    pool = BlockingConnectionPool(
        max_connections=connections,
        timeout=POOL_WAIT.total_seconds(),
        **options,
        client_name="bridge",
        decode_responses=True,
        health_check_interval=HEALTH_CHECK_SECONDS,
        protocol=2,
        retry=Retry(NoBackoff(), 0),
        socket_connect_timeout=CONNECT_TIMEOUT.total_seconds(),
        socket_timeout=answer_timeout.total_seconds(),
    )
    return client.from_pool(pool)


def _way_to(url: str) -> tuple[type[Redis], dict[str, Any]]:
    """Which client, and which options of its connections, *url* asks for. Raises `ConfigurationError`."""
    try:
        several = redis_servers(url)
    except ValueError as exc:  # these words are our own, and show nothing of the URL
        raise ConfigurationError([f"REDIS_URL {exc}"]) from None
    if several is None:
        return Redis, _options_of(url)
    return OneSlot if several.kind == "cluster" else Redis, _following(several)


def _following(several: RedisServers) -> dict[str, Any]:
    options = _options_of(several.plain)
    has_tls = options["connection_class"] is TlsConnection
    login = {name: options.pop(f"sentinel_{name}", None) for name in ("username", "password")}
    asking = {name: value for name, value in options.items() if name not in {"host", "port", "db"}}
    return options | {
        "connection_class": FollowingTlsConnection if has_tls else FollowingConnection,
        "masters": Sentinels(several.servers, asking | login, name=several.master)
        if several.kind == "sentinel"
        else Cluster(several.servers, asking),
    }


_OURS = frozenset(
    {
        "client_name",
        "decode_responses",
        "health_check_interval",
        "max_connections",
        "protocol",
        "retry",
        "retry_on_error",
        "retry_on_timeout",
        "socket_connect_timeout",
        "socket_timeout",
        "timeout",
    }
)


def _options_of(url: str) -> dict[str, Any]:
    try:
        options = parse_url(url)
    except ValueError:  # its words may hold the URL, and the URL may hold a password
        raise ConfigurationError(["REDIS_URL cannot be read: use redis://host:6379/0"]) from None
    connection = MENDED[options.get("connection_class")]
    return {name: value for name, value in options.items() if name not in _OURS} | {"connection_class": connection}


def stop_if_cancelled() -> None:
    """End a task that was told to end, although redis-py answered with an error of its own, or with nothing.

    Its connections do that now and then; a loop that goes on after every error would never hear of it.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


@contextmanager
def translated() -> Iterator[None]:
    """Turn what redis-py raises into `StoreUnavailable`, whose reason is one word.

    What says that this program is wrong (an unknown command, a key of another type) passes as it is, and so
    does NOGROUP or NOSCRIPT, which the caller can mend.
    """
    try:
        yield
    except RedisError as exc:
        stop_if_cancelled()
        reason = _reason(exc)
        if reason is None:
            raise
        raise StoreUnavailable(reason) from exc


_REASON_BY_CLASS: tuple[tuple[type[RedisError], str], ...] = (
    (BusyLoadingError, "loading"),  # before its base, NoConnection
    (AuthenticationError, "refused"),
    (AuthorizationError, "refused"),
    (NoPermissionError, "refused"),
    (NoConnection, "away"),
    (ClusterDownError, "away"),
    (AskError, "away"),  # and its kind, MOVED: the slot is on its way to another node of the cluster
    (TryAgainError, "away"),
    (NoAnswer, "away"),
    (OutOfMemoryError, "full"),
    (ReadOnlyError, "read-only"),
)

_REASON_BY_WORD = {
    "OOM": "full",
    "MISCONF": "read-only",  # the disk is full or broken: writes are refused until it is mended
    "READONLY": "read-only",
    "NOREPLICAS": "read-only",
    "UNBLOCKED": "away",  # a master was made a replica while a read waited there
    "WAIT cannot be used with replica": "away",  # or just after a script, whose writes it gives up by that
    "LOADING": "loading",
    "BUSY": "loading",  # another client's script runs for seconds
    "NOAUTH": "refused",
    "WRONGPASS": "refused",
    "NOPERM": "refused",
}
# What a script ran into comes as "ERR Error running script …: @user_script: 12: -OOM …" from Redis 6.
# In a pipeline redis-py puts the command before it, arguments and all, and the answer's words into a tuple.
_IN_A_PIPELINE = "of pipeline caused error: "
_WORD = re.compile(rf"(?:^|[\s-])({'|'.join(_REASON_BY_WORD)})\b")


def _reason(exc: RedisError) -> str | None:
    if isinstance(exc, NoConnection) and isinstance(exc.__cause__, RedisError):
        return _reason(exc.__cause__) or "away"  # refused in the greeting: redis-py wraps that once more
    for kind, reason in _REASON_BY_CLASS:
        if isinstance(exc, kind):
            return reason
    if not isinstance(exc, ResponseError):
        return None
    found = _WORD.search(str(exc).rpartition(_IN_A_PIPELINE)[2].lstrip("(\"'"))
    return _REASON_BY_WORD[found[1]] if found else None
