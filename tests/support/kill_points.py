"""The points at which a bridge may be killed: before and after each external effect.

Nothing between two points outlives the process, so a kill at every point covers every moment. There is no list: each
effect passes one of three wires (the Redis client, Slack's HTTP session, the project's transport) and is named there,
``before put`` or ``after slack chat.postMessage``. New effects become points automatically.
"""

from __future__ import annotations

import os
import re
import signal
from collections import Counter, deque
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import httpx
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection

from bridge.queue.keys import Keys
from bridge.queue.scripting import digest, source

READS = frozenset(
    {
        "AUTH", "CLIENT", "EXISTS", "GET", "HEXISTS", "HGET", "HGETALL", "HKEYS", "HLEN", "HMGET", "HSCAN", "INFO",
        "LLEN", "LPOS", "LRANGE", "MGET", "MULTI", "PFCOUNT", "PING", "PTTL", "SELECT", "SUBSCRIBE", "XLEN", "XRANGE",
        "ZCARD", "ZRANGE", "ZRANGEBYSCORE", "ZREVRANGE", "ZSCORE",
    }
)  # fmt: skip
"""Commands that change nothing: a kill there equals a kill at the previous point."""

TAKES = frozenset({"XAUTOCLAIM", "XREADGROUP"})
"""Commands that change something only if they return something."""

PROBE = Keys("").probe()[1:]
"""The end of the key on which a bridge tries all commands when it starts, without an effect."""

SEPARATOR = " | "
"""Between points at any of which a process kills itself."""

SLACK_READS = ("auth.test", "conversations.", "users.", "usergroups.", "team.")
_SLACK_METHOD = re.compile(
    r'"((?:agents|apps|assistant|auth|bookmarks|canvases|chat|conversations|files|pins|reactions|users|usergroups|views)'
    r'(?:\.[A-Za-z]+)+)"'
)


def slack_calls() -> set[str]:
    """Every Web API method named in the bridge that changes something."""
    named: set[str] = set()
    for one in (files("bridge") / "slack").iterdir():
        if one.name.endswith(".py"):
            named |= set(_SLACK_METHOD.findall(one.read_text()))
    return {name for name in named if not name.startswith(SLACK_READS)}


_RUNS = re.compile(r'\b(?:_?run|_step)\(\s*"([\w.]+)"')


def script_names() -> list[str]:
    """Every script of the store."""
    bridge = Path(str(files("bridge")))
    paths = [path.relative_to(bridge).with_suffix("").parts for path in bridge.rglob("*.lua") if path.stem != "prelude"]
    return sorted(path[-1] if path[0] == "queue" else ".".join(path) for path in paths)


def scripts_in_use() -> set[str]:
    """The scripts that the code runs."""
    code = "".join(one.read_text() for one in Path(str(files("bridge"))).rglob("*.py"))
    return set(script_names()) & set(_RUNS.findall(code))


@cache
def names_of_scripts() -> dict[str, str]:
    """Each script's name, by its hash and by its source."""
    return {how(name): name for name in script_names() for how in (digest, source)}


class KillPoints:
    """The points passed by one process: *note* records each, and the process kills itself at *kill_at*.

    That is a point and the number of its passage: ``after put 3``. Of several (`SEPARATOR`), it's the first that the
    process *may* claim: other processes have the same ones, and each kind is killed at once.
    """

    def __init__(
        self, kill_at: str, note: Callable[[str], None], may: Callable[[str], bool] = lambda _point: True
    ) -> None:
        self._fates = set(kill_at.split(SEPARATOR))
        self._note = note
        self._may = may
        self._passed: Counter[str] = Counter()
        self._scripts = names_of_scripts()

    def before(self, what: str) -> None:
        """An effect is about to happen."""
        self._pass(f"before {what}")

    def after(self, what: str) -> None:
        """The effect happened and its response arrived."""
        self._pass(f"after {what}")

    def command(self, words: tuple[Any, ...]) -> str:
        """Name a Redis command; a script by its file, "" if it only reads."""
        name = str(words[0]).upper()
        if name in {"EVAL", "EVALSHA"}:
            return self._scripts[words[1]]
        return "" if name in READS else name

    def _pass(self, point: str) -> None:
        self._passed[point] += 1
        passed = f"{point} {self._passed[point]}"
        self._note(passed)
        if passed in self._fates and self._may(point):
            os.kill(os.getpid(), signal.SIGKILL)


class InstrumentedConnection(AbstractConnection):
    """A connection whose commands are points: before writing one, and after reading its response."""

    points: KillPoints

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._asked: deque[str] = deque()

    def pack_commands(self, commands: Any) -> Any:
        commands = list(commands)  # a transaction's is a generator
        if not any(str(word).endswith(PROBE) for words in commands for word in words):
            return super().pack_commands(commands)
        self._asked.extend("" for _ in commands)
        return [chunk for words in commands for chunk in super(InstrumentedConnection, self).pack_command(*words)]

    def pack_command(self, *args: Any) -> Any:
        name = self.points.command(args)
        is_again = args[0] == "EVAL"  # Redis didn't know the hash: nothing has happened since the last point
        if name and name not in TAKES and not is_again:
            self.points.before(name)
        self._asked.append(name)
        return super().pack_command(*args)

    async def read_response(self, *args: Any, **how: Any) -> Any:
        name = self._asked.popleft() if self._asked else ""
        answer = await super().read_response(*args, **how)
        if name and (name not in TAKES or _found(name, answer)):
            self.points.after(name)
        return answer

    async def disconnect(self, *args: Any, **how: Any) -> None:
        self._asked.clear()
        await super().disconnect(*args, **how)


def instrumented(client: Redis, points: KillPoints) -> Redis:
    """Make the commands of *client* points."""
    pool = client.connection_pool
    pool.connection_class = type("Pointed", (InstrumentedConnection, pool.connection_class), {"points": points})
    return client


def _found(name: str, answer: Any) -> bool:
    """Whether a command of `TAKES` returned anything; XAUTOCLAIM's first item is a cursor."""
    return bool(answer[1] if name == "XAUTOCLAIM" else answer)


def watch_slack(session: aiohttp.ClientSession, points: KillPoints) -> None:
    """Make the requests of *session* to Slack points."""

    async def begins(_session: aiohttp.ClientSession, context: SimpleNamespace, call: Any) -> None:
        context.what = _slack_call(str(call.url.path))
        if context.what:
            points.before(context.what)

    async def ended(_session: aiohttp.ClientSession, context: SimpleNamespace, _call: Any) -> None:
        if context.what:
            points.after(context.what)

    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(begins)
    trace.on_request_end.append(ended)
    trace.freeze()
    session.trace_configs.append(trace)


def _slack_call(path: str) -> str:
    kind, _, name = path.strip("/").partition("/")
    what = name if kind == "api" else kind
    return "" if what.startswith(SLACK_READS) else f"slack {what}"


class InstrumentedTransport(httpx.AsyncBaseTransport):
    """The project service's transport; each request that changes something is a point."""

    def __init__(self, inner: httpx.AsyncBaseTransport, points: KillPoints) -> None:
        self._inner = inner
        self._points = points

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return await self._inner.handle_async_request(request)
        what = f"project {request.url.path.rpartition('/')[2]}"
        self._points.before(what)
        answer = await self._inner.handle_async_request(request)
        raw = b"".join([chunk async for chunk in answer.aiter_raw()])
        await answer.aclose()
        self._points.after(what)
        return httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(raw))

    async def aclose(self) -> None:
        await self._inner.aclose()
