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
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, TypeVar, cast

from hiredis import pack_command
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.client import Pipeline, PubSub
from redis.asyncio.connection import AbstractConnection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import MovedError, RedisError

from bridge.errors import ConfigurationError, StoreUnavailable
from bridge.queue.redis.masters import following
from bridge.queue.redis.refusals import refusal_of
from bridge.setting_types import redis_servers

T = TypeVar("T")

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
    pool = BlockingConnectionPool(**options, **ours)
    pool.connection_class = type("Connection", (_PackedInC, pool.connection_class), {})
    try:
        pool.connection_class(**pool.connection_kwargs)
    except (TypeError, RedisError):  # its message may contain a value
        raise ConfigurationError(
            ["REDIS_URL has an option after ? that can't be used: use one such as ?ssl_cert_reqs=required, or none"]
        ) from None
    client = cast("Client", Client.from_pool(pool))
    client.is_cluster = bool(several and several.kind == "cluster")
    return client


class Client(Redis):
    """A client that raises `StoreUnavailable`, or waits for Redis where that's allowed (`waiting`).

    Of a cluster, it's for the keys of one slot: its connections follow the slot.
    """

    is_cluster = False

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Run a command."""

        async def run() -> Any:
            try:
                return await super(Client, self).execute_command(*args, **options)  # type: ignore[no-untyped-call]
            except MovedError:
                if not self.is_cluster:
                    raise
                return await super(Client, self).execute_command(*args, **options)  # type: ignore[no-untyped-call]

        return await ensured(run)

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:  # noqa: FBT001, FBT002 - redis-py's
        """Return a pipeline, of which the same is true."""
        return _Pipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)

    def pubsub(self, **options: Any) -> PubSub:
        """Return a subscription, of which the same is true."""
        return _PubSub(self.connection_pool, **options)


class _Pipeline(Pipeline):
    async def execute(self, raise_on_error: bool = True) -> list[Any]:  # noqa: FBT001, FBT002 - redis-py's
        stack = self.command_stack

        async def run() -> list[Any]:
            self.command_stack = stack  # a failure has emptied it
            return await super(_Pipeline, self).execute(raise_on_error)

        return await ensured(run)


class _PubSub(PubSub):
    async def execute_command(self, *args: Any) -> None:
        with translated():
            await super().execute_command(*args)

    async def parse_response(self, block: bool = True, timeout: float = 0) -> Any:  # noqa: ASYNC109, FBT001, FBT002 - redis-py's
        with translated():
            return await super().parse_response(block, timeout)


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


_wait: ContextVar[Callable[[], Awaitable[None]] | None] = ContextVar("wait", default=None)


@contextmanager
def waiting(wait: Callable[[], Awaitable[None]] | None) -> Iterator[None]:
    """Have commands and scripts in the block, and in tasks that it starts, *wait* for Redis, and repeat them.

    So they must be safe to repeat. Elsewhere, and with None, they raise `StoreUnavailable`.
    """
    before = _wait.set(wait)
    try:
        yield
    finally:
        _wait.reset(before)


async def ensured(step: Callable[[], Awaitable[T]]) -> T:
    """Run *step*, a call of Redis. Raises `StoreUnavailable`, or waits and repeats it (`waiting`)."""
    while True:
        try:
            with translated():
                return await step()
        except StoreUnavailable:
            if (wait := _wait.get()) is None:
                raise
            await wait()


@contextmanager
def translated() -> Iterator[None]:
    """Turn redis-py's errors in the block into `StoreUnavailable` with a reason, and call `stop_if_cancelled`.

    Bugs (a key of another type) stay as they are, and so do NOGROUP and NOSCRIPT, which the caller can fix.
    """
    try:
        yield
    except RuntimeError as exc:
        stop_if_cancelled()
        # A connection that closes just when it's used raises OSError with asyncio's own loop, which redis-py handles,
        # and RuntimeError with uvloop, which it doesn't.
        if "handler is closed" not in str(exc):
            raise
        raise StoreUnavailable from exc
    except RedisError as exc:
        stop_if_cancelled()
        if (refused := refusal_of(exc)) is None:
            raise
        raise refused from exc
    stop_if_cancelled()
