"""Run the Lua scripts: each is one atomic step, and only they write the inbox and the journal.

A script is sent by its hash, or in full if Redis doesn't have it (after a restart or a failover). Loading it first
would be a separate step, and during a failover, the two steps could reach different servers. Every script may be
repeated if its answer was lost: it detects what it did, and returns the same.

What a script is about comes first, as it is: a turn, a lane, a message, or the fence of a turn (entry, consumer, lane,
turn; see `bridge.queue.journal`). After that come one or two plain facts, and texts that are only stored; whatever has
more facts, or a list, takes them by name, as JSON.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from pydantic_core import PydanticSerializationError, to_json
from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import MovedError, NoScriptError, RedisError, ResponseError

from bridge.common_clock import CommonClock
from bridge.errors import StoreUnavailable
from bridge.metrics import Metrics
from bridge.queue.keys import Keys, helpers, milliseconds
from bridge.queue.permissions import guard
from bridge.queue.records import NEWEST, VERSION
from bridge.queue.redis.connection import ensured
from bridge.queue.redis.refusals import lacks_command

log = logging.getLogger(__name__)

MOST_AT_ONCE = 128
_REPLICA_WAIT_MS = 50

Argument = str | int | Mapping[str, Any] | Sequence[Any]
"""An argument of a script. A mapping or a list gets there as JSON."""


@cache
def source(name: str) -> str:
    """Return the text of ``scripts/<name>.lua``, after what it uses of the prelude, versions, and the keys' functions.

    The script of another package is named with it: ``features.channels.channel`` is ``features/channels/channel.lua``.
    It begins by checking that all its commands are allowed (`bridge.queue.permissions`).
    """
    package, _, file = name.rpartition(".")
    folder = files(f"bridge.{package}") if package else files("bridge.queue") / "scripts"
    script = _code(folder / f"{file}.lua")
    prelude = re.split(r"(?m)^(?=local )", _code(files("bridge.queue") / "scripts" / "prelude.lua"))
    for part in reversed(prelude):  # a part uses only those before it
        names = re.match(r"local (?:function )?([\w, ]+)", part)
        if names and re.search(rf"\b(?:{names[1].strip().replace(', ', '|')})\b", script):
            script = part + script
    checks = guard(script)
    return f"local VERSION, NEWEST = {VERSION}, {NEWEST}\n{helpers(checks + script)}\n{checks}\n{script}"


def _code(file: Traversable) -> str:
    """Return the text of a script without its comments."""
    return "".join(f"{code}\n" for line in file.read_text().splitlines() if (code := line.partition("--")[0].rstrip()))


@cache
def digest(name: str) -> str:
    """Return the hash by which Redis knows the script."""
    return hashlib.sha1(source(name).encode(), usedforsecurity=False).hexdigest()


def epoch_ms(moment: datetime) -> int:
    """Convert a time for scripts."""
    return int(moment.timestamp() * 1000)


async def server_time(redis: Redis) -> float:
    """Return the time by a server's clock, in seconds. Raises `StoreUnavailable`."""
    seconds, microseconds = await redis.time()
    return float(seconds + microseconds / 1_000_000)


def from_epoch_ms(ms: str | bytes | float) -> datetime:
    """Convert a stored time. Raises ValueError."""
    try:
        return datetime.fromtimestamp(int(ms) / 1000, UTC)
    except OverflowError as exc:
        raise ValueError("out of range") from exc


async def pipelined(redis: Redis, commands: Callable[[Any], object]) -> list[Any]:
    """Return Redis's answers to the *commands* that are called on a pipeline, in one round trip.

    Raises `StoreUnavailable`.
    """
    async with redis.pipeline(transaction=False) as pipe:
        commands(pipe)
        answers: list[Any] = await pipe.execute()
    return answers


def as_json(value: Any) -> str:
    """Serialize *value* for scripts; ``""`` for none. Lone surrogates, which Lua can't read, become question marks."""
    if not value:
        return ""
    try:
        return to_json(value).decode()
    except PydanticSerializationError:  # it has one
        return json.dumps(value, ensure_ascii=False).encode(errors="replace").decode()


class Batches:
    """Runs scripts on *redis*, several per round trip: scripts requested during one batch form the next.

    Without batches, each step of each lane would cost its own write and read: a busy process would do 25 to 30 % fewer
    turns per second. A script requested while nothing is running is sent at once. Scripts of a batch are independent:
    each has its own answer or error.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._connection: AbstractConnection | None = None
        self._waiting: list[tuple[tuple[str | int, ...], asyncio.Future[Any], bool]] = []
        self._sender: asyncio.Task[None] | None = None

    async def run(self, *command: str | int) -> Any:
        """Run one script, given as a complete EVAL or EVALSHA command. Raises redis-py's errors."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((command, answer, False))
        if self._sender is None:
            self._sender = asyncio.create_task(self._send_all())
        return await answer

    async def _send_all(self) -> None:
        batch = self._waiting
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
                try:
                    answers = await self._ask([command for command, _waiting, _was_moved in batch])
                except (RedisError, RuntimeError) as exc:
                    answers = [exc] * len(batch)
                moved = []
                for (command, waiting, was_moved), answer in zip(batch, answers, strict=True):
                    if waiting.done():
                        pass  # the caller was cancelled
                    elif isinstance(answer, MovedError) and not was_moved:
                        moved.append((command, waiting, True))  # by now the connections follow the slot
                    elif isinstance(answer, BaseException):
                        waiting.set_exception(answer)
                    else:
                        waiting.set_result(answer)
                self._waiting = moved + self._waiting
        finally:
            self._sender = None
            for _command, waiting, _was_moved in (*batch, *self._waiting):
                waiting.cancel()  # only if this task itself is cancelled: no caller may wait forever
            self._waiting = []

    async def _ask(self, commands: list[tuple[str | int, ...]]) -> list[Any]:
        """Run *commands* in one round trip; returns each one's answer or Redis's error.

        All batches use the same connection, since one runs at a time. In an idle process, a script takes 0.5 ms this
        way, and 0.7 ms with redis-py's pipeline, which uses the pool.
        """
        connection, pool = self._connection, self._redis.connection_pool
        if connection is None:
            connection = self._connection = await pool.get_connection()  # type: ignore[no-untyped-call]
        else:  # as the pool does when a connection is returned and when it's taken
            if connection.should_reconnect():  # type: ignore[no-untyped-call]
                await connection.disconnect()
            await pool.ensure_connection(connection)
        answers: list[Any] = []
        try:
            async with asyncio.timeout(connection.socket_timeout):  # one for all: each takes 2% of a turn's time
                await connection.send_packed_command(connection.pack_commands(commands))
                while len(answers) < len(commands):
                    try:
                        answers.append(await connection.read_response(timeout=math.inf))
                    except ResponseError as exc:
                        answers.append(exc)
        except BaseException as exc:  # unread data would be mistaken for the next answer
            await connection.disconnect(nowait=True)
            if isinstance(exc, TimeoutError):
                raise exceptions.TimeoutError from exc
            raise
        return answers


class Scripts:
    """The scripts of one namespace on one *redis*.

    With replicas (`has_replicas`, updated by the heartbeat), a step with ``confirmed=True`` waits briefly for one to
    confirm it, because a failover could otherwise undo it; missing confirmations are counted. If the confirmation is
    missing and no replica is left, the replica may just have become the master without the step, so a *repeatable* step
    fails, to be repeated.
    """

    def __init__(self, redis: Redis, namespace: str, metrics: Metrics, clock: CommonClock | None = None) -> None:
        self.redis = redis
        self.keys = Keys(namespace)
        self.has_replicas = False
        self._denied = ""  # the command for replicas that an ACL forbids
        self.clock = clock or CommonClock()
        self._metrics = metrics
        self._batches = Batches(redis)

    async def run(self, name: str, *args: Argument, confirmed: bool = False, repeatable: bool = False) -> Any:
        """Run script *name*. Raises `bridge.errors.StoreUnavailable`."""
        words = [arg if isinstance(arg, str | int) else as_json(arg) for arg in args]

        async def run() -> Any:
            waits = confirmed and self.has_replicas
            send = self._send_and_wait if waits else self._batches.run
            try:
                answer = await send("EVALSHA", digest(name), 1, self.keys.prefix, *words)
            except NoScriptError:  # the script hasn't run
                answer = await send("EVAL", source(name), 1, self.keys.prefix, *words)
            if not waits:
                return answer
            answer, replicas = answer
            if not replicas:
                self._metrics.wait_missing.inc()
                if repeatable:
                    await self.look_for_replicas()
                    if not self.has_replicas:
                        raise StoreUnavailable("away")
            return answer

        return await ensured(run)

    async def _send_and_wait(self, *command: str | int) -> Any:
        """Run a script outside of batches, since WAIT is about its own connection.

        Returns its answer, and how many replicas have its writes.
        """
        async with self.redis.pipeline(transaction=False) as pipe:
            pipe.execute_command(*command)
            pipe.wait(1, _REPLICA_WAIT_MS)
            return await pipe.execute()

    async def look_for_replicas(self) -> None:
        """Update `has_replicas`; without the permission to look for replicas or to wait for them, there are none."""
        has_replicas, denied = False, ""
        try:
            replication = await self.redis.info("replication")
            if int(replication.get("connected_slaves", 0)) > 0:
                await self.redis.wait(0, 0)
                has_replicas = True
        except StoreUnavailable as exc:
            if not lacks_command(exc):
                raise
            denied = exc.denied or "INFO"
        if denied and denied != self._denied:
            log.warning("the Redis user can't wait for replicas: allow the command", extra={"command": denied})
        self.has_replicas, self._denied = has_replicas, denied

    async def claim(self, key: str, process: str, lasts: timedelta) -> bool:
        """Claim *key* for *process*, or renew its claim. Returns whether it holds it. Raises `StoreUnavailable`."""
        if await self.redis.set(key, process, nx=True, px=milliseconds(lasts)):
            return True
        return await self.redis.get(key) == process and bool(await self.redis.pexpire(key, milliseconds(lasts)))

    async def ask_clock(self) -> None:
        """Ask this server for its time, unless it was heard lately. Raises `StoreUnavailable`."""
        if self.clock.is_fresh:
            return
        asked = self.clock.elapsed()
        self.clock.hear_redis(datetime.fromtimestamp(await server_time(self.redis), UTC), asked)

    def redis_time(self, later: timedelta) -> int:
        """Return the time *later* than now by this server's clock, in ms."""
        return epoch_ms(self.clock.by_redis() + later)
