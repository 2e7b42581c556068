"""Find the server that has the bridge's keys among several, and follow the keys when they move.

All keys of a bridge share one hash tag, hence one slot and one node of a cluster; under Sentinel one master has them.
So a connection looks up that server whenever it's opened or taken from its pool; the rest of the store doesn't know
about this. redis-py's `RedisCluster` isn't used: its pipelines refuse WAIT, scripts don't reach nodes that join later,
and it retries by itself. Nor is its Sentinel pool, which raises instead of waiting when all connections are in use.

* **Sentinel** (`Sentinels`): each new connection asks for the master's address, as Sentinel's guide for clients says
  (https://redis.io/docs/latest/develop/reference/sentinel-clients/). A demoted master closes its connections or answers
  READONLY, and a master without its replicas answers NOREPLICAS; the next lookup asks for another.
* **Cluster** (`Cluster`): the first command with a key goes to any node, whose MOVED says where the slot is. MOVED
  means that the command didn't run, so it's sent again to the right node (`Client`; scripts by
  `bridge.queue.scripting.Batches`); no other error is retried. Not even ASK: while a slot moves key by key, a script
  would mistake keys that have moved for absent ones, and a known message for a new one. The store counts as down until
  the slot has moved; Slack retries the events it couldn't deliver.

Between a master's death and the next election, commands fail as if there were no server.
"""

from __future__ import annotations

import asyncio
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from redis.asyncio import Connection, ConnectionPool, Redis, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    ClusterDownError,
    ConnectionError as NoConnection,
    MovedError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError as NoAnswer,
)

from bridge.setting_types import RedisServers

log = logging.getLogger(__name__)

HostPort = tuple[str, int]

_ASK_SECONDS = 0.5  # for one Sentinel or node to connect, and again to answer
_LOOKUP_SECONDS = 1.0  # for a whole lookup: a request of Slack's has 2.3 s, in which the master has to answer, too


def following(several: RedisServers, options: Mapping[str, Any]) -> dict[str, Any]:
    """Make the connection options that follow the master of *several* servers, based on those of one server."""
    options = dict(options)
    has_tls = options.get("connection_class") is SSLConnection
    login = {name: options.pop(f"sentinel_{name}", None) for name in ("username", "password")}
    asking = {name: value for name, value in options.items() if name not in {"host", "port", "db"}}
    return options | {
        "connection_class": FollowingTlsConnection if has_tls else FollowingConnection,
        "masters": Sentinels(several.servers, asking | login, name=several.master)
        if several.kind == "sentinel"
        else Cluster(several.servers, asking),
    }


class Masters(ABC):
    """Finds the master for one client: asks the *servers*, with the connection *options*, until one answers."""

    def __init__(self, servers: Sequence[HostPort], options: Mapping[str, Any]) -> None:
        self.current: HostPort | None = None  # as far as is known
        self._servers = list(servers)
        self._options = {
            **options, "retry": Retry(NoBackoff(), 0), "decode_responses": True, "protocol": 2,
            "socket_connect_timeout": _ASK_SECONDS, "socket_timeout": _ASK_SECONDS,
        }  # fmt: skip
        self._logged: HostPort | None = None
        self._found: HostPort | None = None
        self._last_error: RedisError | None = None  # of the last server that failed: a wrong password, perhaps
        self._looking_up = asyncio.Lock()
        self._lookups = 0

    async def find(self) -> HostPort:
        """Find the master. Raises redis-py's ConnectionError if no server knows it.

        Concurrent callers wait for the same lookup.
        """
        lookups = self._lookups
        async with self._looking_up:
            if self._lookups == lookups:
                self._found = await self._look_up()
                self._lookups += 1
        if self._found is None:
            raise NoConnection("no master is known") from self._last_error
        self._is_at(self._found)
        return self._found

    def lost(self, address: HostPort) -> None:
        """Record that the server at *address* is unreachable or no longer the master; next time, ask another one."""
        if self.current == address:
            self.current = None
        self._servers.append(self._servers.pop(0))

    def refused(self, address: HostPort, exc: ResponseError) -> bool:
        """Learn from an error from *address*. Returns whether its connections are unusable from now on."""
        # In Redis 6, a script's error has the word in the middle. NOREPLICAS is the error of a master cut off from its
        # replicas, if min-replicas-to-write is set.
        if isinstance(exc, ReadOnlyError | ClusterDownError) or re.search("READONLY|NOREPLICAS", str(exc)):
            self.lost(address)
            return True
        return False

    def _is_at(self, address: HostPort) -> None:
        self.current = address
        if self._logged != address:
            self._logged = address
            log.info("using this Redis server", extra={"address": f"{address[0]}:{address[1]}"})

    async def _look_up(self) -> HostPort | None:
        """Ask one server after another; those without an answer come last the next time."""
        try:
            async with asyncio.timeout(_LOOKUP_SECONDS):
                for server in tuple(self._servers):
                    master = None
                    try:
                        pool = ConnectionPool(host=server[0], port=server[1], **self._options)
                        async with Redis.from_pool(pool) as redis:
                            master = await self._answer(redis, server)
                    except (NoConnection, NoAnswer, ResponseError) as exc:
                        self._last_error = exc
                    finally:
                        if master is None and server in self._servers:
                            self._servers.remove(server)
                            self._servers.append(server)
                    if master:
                        return master
        except TimeoutError:
            pass
        return None

    @abstractmethod
    async def _answer(self, redis: Redis, server: HostPort) -> HostPort | None:
        """Ask *redis*, a *server*, for the master's address."""


class Sentinels(Masters):
    """Finds the master that Sentinels call *name*."""

    def __init__(self, servers: Sequence[HostPort], options: Mapping[str, Any], *, name: str) -> None:
        super().__init__(servers, options)
        self._name = name
        self._has_warned = False

    async def _answer(self, redis: Redis, server: HostPort) -> HostPort | None:
        address: Any = await redis.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._name)  # type: ignore[no-untyped-call] # so is much of redis-py
        if address:
            return str(address[0]), int(address[1])
        if not self._has_warned:  # once is enough: the name stays wrong
            self._has_warned = True
            log.warning("a Sentinel doesn't know this master", extra={"master": self._name, "sentinel": server[0]})
        return None


class Cluster(Masters):
    """Finds the node of a cluster that owns the slot of the bridge's keys, as the first MOVED says."""

    def __init__(self, servers: Sequence[HostPort], options: Mapping[str, Any]) -> None:
        super().__init__(servers, options)
        self._given = tuple(servers)
        self._slot: int | None = None

    async def find(self) -> HostPort:
        """Return the known node, if any: if it has lost the slot, it answers MOVED."""
        return self.current or await super().find()

    def refused(self, address: HostPort, exc: ResponseError) -> bool:
        """Learn from an error from *address*. Returns whether its connections are unusable from now on."""
        if isinstance(exc, MovedError):
            self._slot = exc.slot_id
            self._is_at((exc.host or address[0], exc.port))  # no host: that of the server that answered
            return False
        return super().refused(address, exc)

    async def _answer(self, redis: Redis, server: HostPort) -> HostPort | None:
        ranges: Any = await redis.execute_command("CLUSTER", "SLOTS")  # type: ignore[no-untyped-call]
        nodes = [_node(node, server) for _first, _last, *nodes in ranges for node in nodes]
        # The configured nodes may be gone by now, and the current ones may be gone later.
        self._servers = list(dict.fromkeys([server, *nodes, *self._given]))
        owners = [_node(nodes[0], server) for first, last, *nodes in ranges if first <= (self._slot or 0) <= last]
        return server if self._slot is None or not owners else owners[0]


def _node(entry: Sequence[Any], answered_by: HostPort) -> HostPort:
    host, port = entry[0], int(entry[1])
    return (answered_by[0] if host in {None, "", "?"} else str(host)), port  # no host: that of the server that answered


class FollowingConnection(Connection):
    """A connection to the server that *masters* finds."""

    def __init__(self, *, masters: Masters, **options: Any) -> None:
        super().__init__(**options)
        self._masters = masters

    async def connect_check_health(self, *args: Any, **how: Any) -> None:
        """Connect, unless the connection is to the right server.

        redis-py calls this when it takes a connection from the pool, and when the connection is broken.
        """
        if self.is_connected:
            # None means that the last lookup found nothing, which doesn't make this server the wrong one.
            if self._masters.current in {None, (self.host, self.port)}:
                return
            await self.disconnect(nowait=True)
        self.host, self.port = await self._masters.find()
        try:
            await super().connect_check_health(*args, **how)
        except (NoConnection, NoAnswer):
            self._masters.lost((self.host, self.port))
            raise

    async def read_response(self, *args: Any, **how: Any) -> Any:
        """Read an answer; an error may show that the master is elsewhere."""
        try:
            return await super().read_response(*args, **how)
        except ResponseError as exc:
            if self._masters.refused((self.host, self.port), exc):
                self.mark_for_reconnect()  # type: ignore[no-untyped-call] # by the pool: more answers may follow
            raise


class FollowingTlsConnection(FollowingConnection, SSLConnection):
    """A `FollowingConnection` over TLS."""
