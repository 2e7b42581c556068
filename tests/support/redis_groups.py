"""Groups of real servers on loopback: a master with Sentinels, and a cluster.

They are started and queried outside the event loop, so waiting here blocks it: briefly, and only before or after the
tested part.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.exceptions import ConnectionError as NoConnection, RedisError, ResponseError
from redis.retry import Retry

from support.ports import free_port
from support.real_redis import server_program

PATIENCE = 50.0  # a busy machine makes a Sentinel do nothing for 30 s
MASTER_NAME = "main"
SLOTS = 16384
BUS = 10_000  # offset of a node's cluster bus port


def wait_for(what: Callable[[], object], description: str) -> None:
    """Return once *what* is true; an error counts as false."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if what():
                return
        except RedisError:
            pass
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE:g} s: {description}")
        time.sleep(0.02)


class Server:
    """One server on its own port, with its data in *folder*; *options* extend its configuration."""

    def __init__(self, folder: Path, options: Mapping[str, object], *, is_sentinel: bool = False) -> None:
        self.port = free_port(higher=BUS)
        self._folder = folder
        self._is_sentinel = is_sentinel
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir()
        self.configure({"port": self.port, "bind": "127.0.0.1", "dir": folder, "logfile": folder / "log", **options})

    def configure(self, options: Mapping[str, object]) -> None:
        """Add *options* to its configuration, before it starts."""
        with (self._folder / "conf").open("a") as file:
            file.writelines(f"{name} {value}\n" for name, value in options.items())

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The URL of this server alone."""
        return f"redis://{self.address}"

    def start(self) -> None:
        """Start it on existing data and wait until it answers."""
        words = [server_program(), str(self._folder / "conf"), *(["--sentinel"] if self._is_sentinel else [])]
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # noqa: S603
        wait_for(lambda: self.ask("PING"), f"{self.address} answers")

    def ask(self, *words: str | int) -> Any:
        """Run a command."""
        how: dict[str, Any] = {"decode_responses": True, "protocol": 2, "socket_timeout": 2}
        with Redis(port=self.port, retry=Retry(NoBackoff(), 0), **how) as client:
            return client.execute_command(*words)

    def kill(self) -> None:
        """Send SIGKILL: nothing more is written."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    @property
    def follows(self) -> bool:
        """Whether it is a replica in sync with its master; a Sentinel cuts connections when it makes it one."""
        try:
            return bool(self.ask("INFO", "replication").get("master_link_status") == "up")
        except NoConnection:
            return False


_DATA = {"appendonly": "yes", "appendfsync": "always", "save": '""', "repl-diskless-sync-delay": 0}


class Watched:
    """A master and a replica, watched by three Sentinels that fail over after a second of silence.

    With *needs_replica* the master writes only while its replica is in sync.
    """

    def __init__(self, folder: Path, *, needs_replica: bool = False) -> None:
        data = {**_DATA, "min-replicas-to-write": int(needs_replica)}
        self.first = Server(folder / "first", data)
        self.second = Server(folder / "second", {**data, "replicaof": f"127.0.0.1 {self.first.port}"})
        options = {
            f"sentinel monitor {MASTER_NAME}": f"127.0.0.1 {self.first.port} 2",
            f"sentinel down-after-milliseconds {MASTER_NAME}": 1000,
            f"sentinel failover-timeout {MASTER_NAME}": 5000,
            f"sentinel known-replica {MASTER_NAME}": f"127.0.0.1 {self.second.port}",
        }
        self.sentinels = [Server(folder / f"sentinel{number}", {}, is_sentinel=True) for number in range(3)]
        ids = [f"{number}" * 40 for number in range(1, 4)]  # they know one another without waiting for messages
        for sentinel, id_ in zip(self.sentinels, ids, strict=True):
            known = {
                f"sentinel known-sentinel {MASTER_NAME} 127.0.0.1 {other.port}": others_id
                for other, others_id in zip(self.sentinels, ids, strict=True)
                if other is not sentinel
            }
            sentinel.configure({"sentinel myid": id_, **options, **known})

    @property
    def servers(self) -> list[Server]:
        """All servers."""
        return [self.first, self.second, *self.sentinels]

    @property
    def url(self) -> str:
        """The value of REDIS_URL."""
        return f"redis+sentinel://{','.join(one.address for one in self.sentinels)}/{MASTER_NAME}/0"

    def start(self) -> None:
        """Start all, and wait until each Sentinel could lead a failover."""
        self.first.start()
        self.second.start()
        wait_for(lambda: self.second.follows, "the replica is in sync")
        for sentinel in self.sentinels:
            sentinel.start()
        self._look_every(milliseconds=500)
        wait_for(lambda: all(map(self._is_prepared, self.sentinels)), "the Sentinels know one another and the replica")
        self._look_every(milliseconds=10_000)  # a former master learns of the change only after this long

    def _look_every(self, *, milliseconds: int) -> None:
        for sentinel in self.sentinels:
            with suppress(ResponseError):  # Redis before 7 is slow here
                sentinel.ask("SENTINEL", "DEBUG", "INFO-PERIOD", milliseconds)

    @staticmethod
    def _is_prepared(sentinel: Server) -> bool:
        found = sentinel.ask("SENTINEL", "MASTER", MASTER_NAME)
        facts = dict(zip(found[::2], found[1::2], strict=True))
        (replica,) = sentinel.ask("SENTINEL", "REPLICAS", MASTER_NAME)
        linked = dict(zip(replica[::2], replica[1::2], strict=True))["master-link-status"]
        return (facts["num-other-sentinels"], facts["num-slaves"], linked) == ("2", "1", "ok")

    def knows_as_master(self, server: Server) -> bool:
        """Whether all Sentinels consider *server* the master."""
        masters = [sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER_NAME)[1] for sentinel in self.sentinels]
        return all(int(port) == server.port for port in masters)

    def switch(self) -> None:
        """Request a failover to the replica, as before a planned restart."""
        self.sentinels[0].ask("SENTINEL", "FAILOVER", MASTER_NAME)


class Nodes:
    """A cluster of three masters; the owner of the slot of *namespace* has a replica."""

    def __init__(self, folder: Path, namespace: str) -> None:
        # losing a node without a replica must not stop the others
        options = {**_DATA, "cluster-enabled": "yes", "cluster-node-timeout": 1000}
        options |= {"cluster-require-full-coverage": "no", "cluster-config-file": "nodes.conf"}
        self.servers = [Server(folder / f"node{number}", options) for number in range(4)]
        self.slot = key_slot(f"{{{namespace}}}".encode())
        self.masters, self.replica = self.servers[:3], self.servers[3]
        self.owner = self.masters[self.slot * len(self.masters) // SLOTS]
        self.others = [one for one in self.masters if one is not self.owner]

    @property
    def url(self) -> str:
        """The value of REDIS_URL, beginning with a node that doesn't own the keys."""
        given = [self.others[0], self.owner, self.others[1]]
        return f"redis+cluster://{','.join(one.address for one in given)}"

    def start(self) -> None:
        """Start all nodes, join them, and wait until each knows every slot's owner."""
        for server in self.servers:
            server.start()
        for number, server in enumerate(self.masters):
            share = [slot for slot in range(SLOTS) if slot * len(self.masters) // SLOTS == number]
            server.ask("CLUSTER", "ADDSLOTS", *share)
            server.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for server in self.servers[1:]:
            server.ask("CLUSTER", "MEET", "127.0.0.1", self.servers[0].port)
        wait_for(lambda: all(map(self._is_whole, self.servers)), "the nodes are one cluster")
        wait_for(lambda: self.replica.ask("CLUSTER", "REPLICATE", self.id_of(self.owner)), "the replica has a master")
        wait_for(lambda: self.replica.follows, "the replica is in sync")
        wait_for(lambda: all(map(self._knows_the_replica, self.servers)), "all nodes know the replica")

    def id_of(self, server: Server) -> str:
        """The cluster's node id of *server*."""
        return str(server.ask("CLUSTER", "MYID"))

    def are_all_there(self) -> bool:
        """Whether no node is missing for another."""
        views = [str(server.ask("CLUSTER", "NODES")) for server in self.servers]
        return not any("fail" in view or "disconnected" in view for view in views)

    def _is_whole(self, server: Server) -> bool:
        facts = str(server.ask("CLUSTER", "INFO"))
        return f"cluster_known_nodes:{len(self.servers)}\r" in facts and "cluster_state:ok" in facts

    def _knows_the_replica(self, server: Server) -> bool:
        ranges = server.ask("CLUSTER", "SLOTS")
        return any(len(nodes) > 1 for _first, _last, *nodes in ranges)


@contextmanager
def started(group: Watched | Nodes) -> Iterator[None]:
    """Run *group* during the block."""
    try:
        group.start()
        yield
    finally:
        for server in group.servers:
            server.kill()
