"""The whole system under test: real bridge processes and a real Redis between the emulated Slack and project."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import aiohttp
import pytest_asyncio
from redis.asyncio import Redis
from redis.exceptions import RedisError

from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import BRIDGE
from bridge.playground.emulator.server import ApiCall
from bridge.playground.sample_project.server import SampleProject
from support import forks
from support.forks import Fork
from support.lifetimes import keys_without_lifetime
from support.ports import free_port
from support.real_redis import RealRedis
from support.secrecy import API_KEY, APP_TOKEN, BOT_TOKEN, SIGNING_SECRET, secrets_in
from support.waiting import wait_until

_SHUTDOWN_SECONDS = 3.0
TAKEOVER_SECONDS = 20  # promised by the bridge


@dataclass
class BridgeProcess:
    """``bridge serve`` as a process; *log* is its output so far.

    *pages* are the public pages it served just before it shut down. *timing* has seconds for arguments of
    `bridge.app.Bridge`, such as ``lease``, and for how far its machine's clock is ``ahead``. With a *point_log* it
    writes the points of `support.kill_points` that it passes to that file, and kills itself at *kill_at* (``""``:
    never). *python* is the interpreter of another installation, which has neither.
    """

    environ: Mapping[str, str]
    arguments: tuple[str, ...] = ()
    log: bytearray = field(default_factory=bytearray)
    pages: str = ""
    process: asyncio.subprocess.Process | Fork | None = None
    is_forked: bool = True  # otherwise it compiles all its code again
    timing: Mapping[str, float] = field(default_factory=dict)
    kill_at: str = ""
    point_log: Path | None = None
    python: Path | None = None
    _reader: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The URL where it listens."""
        return f"http://127.0.0.1:{self.environ['BRIDGE_PORT']}"

    async def start(self) -> Self:
        """Start it, without waiting until it is ready."""
        is_forked = self.timing or self.point_log or (self.is_forked and forks.are_possible())
        if is_forked and self.python is None:
            how: dict[str, Any] = {"kill_at": self.kill_at, "point_log": str(self.point_log or "")}
            self.began(await forks.fork(self.environ, self.arguments, timing=self.timing, **how))
            return self
        command = [sys.executable, "-m"] if self.python is None else [str(self.python), "-I", "-m"]
        process = await asyncio.create_subprocess_exec(
            *(*command, "bridge", "serve", *self.arguments),
            env={**os.environ, **self.environ},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        self.began(process)
        return self

    def began(self, process: asyncio.subprocess.Process | Fork) -> None:
        """Read the output of the *process* just started."""
        self.process = process
        self._reader = asyncio.create_task(self._read())

    def points(self) -> list[str]:
        """The points it has passed, in order."""
        return self.point_log.read_text().splitlines() if self.point_log and self.point_log.exists() else []

    @property
    def has_ended(self) -> bool:
        """Whether it was started and has ended."""
        return self.process is not None and self.process.returncode is not None

    async def _read(self) -> None:
        if self.process is not None and self.process.stdout is not None:
            while chunk := await self.process.stdout.read(65536):
                self.log += chunk

    async def ready(self, timeout: float = 30.0) -> Self:  # noqa: ASYNC109
        """Wait until ``/readyz`` is OK."""

        async def answers() -> bool:
            if self.has_ended:
                raise AssertionError(f"the bridge ended: {self.log.decode()}")
            return (await self.state())[0] == HTTPStatus.OK

        await wait_until(answers, "the bridge is ready", timeout)
        return self

    async def reaches(self, part: str) -> None:
        """Wait until *part* is reported as up, which is checked periodically."""

        async def is_up() -> bool:
            return (await self.state())[1].get(part) == "up"

        await wait_until(is_up, f"{part} is up")

    async def state(self) -> tuple[int, dict[str, Any]]:
        """The status and JSON of ``/readyz``; (0, {}) if nothing, or something else, listens."""
        limit = aiohttp.ClientTimeout(total=5)
        try:  # aiohttp's clients cost a tenth of httpx's, and this is asked until it's ready
            async with aiohttp.ClientSession(timeout=limit) as client, client.get(f"{self.url}/readyz") as answer:
                return answer.status, await answer.json()
        except (aiohttp.ClientError, TimeoutError, ValueError):
            return 0, {}

    def send_signal(self, number: signal.Signals) -> None:
        """Send SIGTERM, SIGKILL, SIGSTOP …."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)

    async def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)
        await self.wait()

    async def end(self) -> None:
        """Shut down cleanly, so that coverage is written; don't wait for a hung process."""
        if self.process is None:
            return
        self.send_signal(signal.SIGCONT)
        await self._read_pages()
        self.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_SHUTDOWN_SECONDS):
                await self.wait()
        except TimeoutError:
            await self.kill()

    async def _read_pages(self) -> None:
        if self.process is None or self.process.returncode is not None:
            return
        async with aiohttp.ClientSession(self.url, timeout=aiohttp.ClientTimeout(total=2)) as client:
            for path in ("/metrics", "/readyz", "/healthz", "/slack/events"):
                try:
                    async with client.get(path) as answer:
                        self.pages += await answer.text()
                except (aiohttp.ClientError, TimeoutError):
                    return

    async def wait(self) -> int:
        """Wait for its end; return the exit code."""
        if self.process is None or self._reader is None:
            raise AssertionError("it was never started")
        code = await self.process.wait()
        await self._reader
        return code


@dataclass
class System:
    """Slack, the project and Redis, and the bridges that a test starts."""

    slack: EmulatedSlack
    project: SampleProject
    redis: Redis
    redis_url: str
    namespace: str
    forks: bool = True  # whether to fork its bridges where possible
    bridges: list[BridgeProcess] = field(default_factory=list)
    other: SampleProject | None = None  # a second project (`support.feature_stories`)
    environ: dict[str, str] = field(default_factory=dict)  # of all its bridges
    asked_before: int = 0
    called_before: int = 0
    ephemerals_before: int = 0
    posts_since: float = 0.0

    async def end(self) -> None:
        """Shut down all bridges cleanly, without the 1.5 s in which an idle one waits for work."""
        ending = {asyncio.ensure_future(bridge.end()) for bridge in self.bridges}
        while ending:
            with suppress(RedisError, TimeoutError):
                async with asyncio.timeout(1):
                    await unblock(self.redis)
            ended, ending = await asyncio.wait(ending, timeout=0.05)
            for each in ended:
                await each

    def start_test(self) -> None:
        """Start a test in a shared system: clear faults and ignore earlier records."""
        self.slack.faults.clear()
        self.slack.rates.page_limit = 1000
        self.slack.events.twins = ("app_mention", "message")
        self.project.clear()
        self.asked_before = len(self.project.calls)
        self.called_before = len(self.slack.calls)
        self.ephemerals_before = len(self.slack.workspace.messages.private)
        self.posts_since = time.time()

    async def start_bridge(
        self, *arguments: str, timing: Mapping[str, float] | None = None, **environ: str
    ) -> BridgeProcess:
        """Start a bridge, wait until it is ready, and send Slack's requests to it."""
        bridge = self.bridge(*arguments, **environ)
        bridge.timing = timing or {}
        await bridge.start()
        await bridge.ready()
        self.slack.events_url = f"{bridge.url}/slack/events"
        return bridge

    async def start_bridge_on_a_socket(
        self, *, timing: Mapping[str, float] | None = None, **environ: str
    ) -> BridgeProcess:
        """Start a bridge in Socket Mode, without a signing secret, and wait until it is ready."""
        self.slack.use_sockets = True
        bridge = self.bridge(SLACK_APP_TOKEN=APP_TOKEN, SLACK_SIGNING_SECRET="", **environ)
        bridge.timing = timing or {}
        await bridge.start()
        return await bridge.ready()

    def bridge(self, *arguments: str, **environ: str) -> BridgeProcess:
        """Prepare a bridge with this system's settings, changed by *environ*."""
        settings = {
            "SLACK_BOT_TOKEN": BOT_TOKEN,
            "SLACK_SIGNING_SECRET": SIGNING_SECRET,
            "SLACK_API_URL": self.slack.api_url,
            "PROJECT_BASE_URL": self.project.base_url,
            "PROJECT_API_KEY": API_KEY,
            "REDIS_URL": self.redis_url,
            "BRIDGE_NAMESPACE": self.namespace,
            "BRIDGE_HOST": "127.0.0.1",
            "BRIDGE_PORT": str(free_port()),
            "BRIDGE_LOG_FORMAT": "json",
            "BRIDGE_LOG_LEVEL": "DEBUG",
            "BRIDGE_DRAIN_SECONDS": "1",
            **self.environ,
            **environ,
        }
        bridge = BridgeProcess(settings, arguments, is_forked=self.forks)
        self.bridges.append(bridge)
        return bridge

    def killable_bridge(self, point_logs: Path, kill_at: str = "", **environ: str) -> BridgeProcess:
        """Prepare a bridge that writes its points to a file in the folder *point_logs*, and kills itself at one."""
        bridge = self.bridge(**environ)
        bridge.kill_at, bridge.point_log = kill_at, point_logs / f"{secrets.token_hex(8)}.log"
        return bridge

    async def mention(self, user: str, channel: str, text: str, thread_ts: str | None = None) -> str:
        """Have *user* mention the bot; return the message's ts."""
        return await self.slack.people.say(user, channel, f"<@{BRIDGE}> {text}", thread_ts=thread_ts)

    def answers(self, channel: str, thread_ts: str) -> list[Message]:
        """The bot's posts in a thread."""
        return [message for message in self.slack.messages(channel, thread_ts) if message.user == BRIDGE]

    def said(self, channel: str, thread_ts: str) -> list[str]:
        """The texts of `answers`, unescaped."""
        return [text_of(message) for message in self.answers(channel, thread_ts)]

    async def answered(self, channel: str, thread_ts: str, count: int = 1, timeout: float = 25.0) -> list[str]:  # noqa: ASYNC109
        """Wait for *count* messages of the bot in a thread; return their texts."""
        await wait_until(
            lambda: len(self.answers(channel, thread_ts)) >= count,
            f"{count} answers in the thread; there are {self.said(channel, thread_ts)}",
            timeout,
        )
        return self.said(channel, thread_ts)

    async def replied(self, user: str, channel: str, root: str, text: str) -> list[str]:
        """Have *user* reply in a thread, and wait for one more answer; return all texts."""
        before = len(self.answers(channel, root))
        await self.slack.people.say(user, channel, text, thread_ts=root)
        return await self.answered(channel, root, before + 1)

    def chats(self) -> list[str]:
        """The messages that reached any agent, in order."""
        return [body["message"] for body in self.bodies()]

    def bodies(self) -> list[dict[str, Any]]:
        """The complete requests to any agent, in order."""
        return [call.body for call in self.project.calls[self.asked_before :] if call.path.endswith("/chat")]

    def runs(self) -> list[Any]:
        """The inputs of all workflow runs, in order."""
        return [call.body["input"] for call in self.project.calls[self.asked_before :] if call.path.endswith("/run")]

    def posted(self, channel: str) -> list[Message]:
        """The bot's top-level posts in a channel."""
        shown = self.slack.messages(channel)
        return [one for one in shown if one.user == BRIDGE and float(one.ts) > self.posts_since]

    def called(self, method: str) -> list[ApiCall]:
        """The calls of one Web API method."""
        return [call for call in self.slack.calls[self.called_before :] if call.method == method]

    def ephemerals(self, user: str) -> list[Message]:
        """The messages only *user* sees."""
        shown = self.slack.workspace.messages.private[self.ephemerals_before :]
        return [message for message in shown if message.to == user]

    async def ephemeral_text(self, user: str, count: int = 1, timeout: float = 25.0) -> str:  # noqa: ASYNC109
        """Wait for *count* private messages to *user*; return the text of the last."""
        await wait_until(lambda: len(self.ephemerals(user)) >= count, f"{user} is notified in private", timeout)
        return text_of(self.ephemerals(user)[-1])

    @property
    def projects(self) -> list[SampleProject]:
        """The project services."""
        return [self.project, *([self.other] if self.other else [])]

    async def is_at_rest(self) -> bool:
        """Whether nothing is queued in Redis: no lane has work or is parked."""
        prefix = f"{{{self.namespace}}}:"
        boxes = [key for key in await self.keys() if key.startswith(f"{prefix}box:")]
        return not boxes and not await self.redis.xlen(f"{prefix}ready")

    async def keys(self) -> list[str]:
        """Every key of this system's namespace."""
        return sorted([key async for key in self.redis.scan_iter(f"{{{self.namespace}}}*")])


def text_of(message: Message) -> str:
    """The visible text: of markdown and section blocks, or else the message's text."""
    found: list[str] = []
    for block in message.blocks or []:
        found += _words_in(block)
    return "\n".join(found) or message.text


def _words_in(value: Any) -> list[str]:
    if isinstance(value, list):
        return [words for item in value for words in _words_in(item)]
    if not isinstance(value, dict):
        return []
    text = value.get("text")
    own = [text] if isinstance(text, str) else []
    return own + [words for key, item in value.items() if key != "value" for words in _words_in(item)]


async def unblock(redis: Redis) -> None:
    """End the blocking reads of workers, which shut down then if they're told to."""
    for client in await redis.client_list():
        if client["cmd"] == "xreadgroup":
            await redis.client_unblock(int(client["id"]))


@asynccontextmanager
async def open_system(
    redis_url: str,
    namespace: str,
    *,
    retry_delays: Sequence[float] = (0.2, 1.0, 3.0),
    clock: Callable[[], float] = time.time,
) -> AsyncIterator[System]:
    """Start Slack and the project around a running Redis; kill its remaining bridges at the end.

    *retry_delays* are the seconds before each of Slack's retries; *clock* is Slack's.
    """
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(
            EmulatedSlack(
                signing_secret=SIGNING_SECRET,
                bot_token=BOT_TOKEN,
                app_token=APP_TOKEN,
                retry_delays=retry_delays,
                clock=clock,
            )
        )
        slack.install(import_module("bridge.cli.manifest").app_manifest(None))
        project = await stack.enter_async_context(SampleProject(api_key=API_KEY))
        redis = Redis.from_url(redis_url, decode_responses=True, socket_timeout=30)  # a busy disk takes its time
        stack.push_async_callback(redis.aclose)
        system = System(slack, project, redis, redis_url, namespace)
        try:
            yield system
        finally:
            await system.end()
            check_logs(system)


@asynccontextmanager
async def open_shared_system(redis_url: str, **environ: str) -> AsyncIterator[System]:
    """Open a system with one running bridge for the tests of one file; each begins with `System.start_test`."""
    async with open_system(redis_url, f"test-{secrets.token_hex(4)}") as system:
        await system.start_bridge(**environ)
        yield system
        await check_lifetimes(system)


def shared_system(
    begin: Callable[[System], Awaitable[object]] | None = None, *, is_at_rest: bool = False, **environ: str
) -> tuple[Any, Any]:
    """Create the two fixtures of a file whose tests share a system; name them ``opened, system``.

    *begin* prepares it. With *is_at_rest* each test waits until earlier tests' work is done.
    """

    @pytest_asyncio.fixture(scope="module", loop_scope="module")
    async def opened(redis_server: RealRedis) -> AsyncIterator[System]:
        async with open_shared_system(redis_server.url, **environ) as system:
            if begin is not None:
                await begin(system)
            yield system

    @pytest_asyncio.fixture(loop_scope="module")
    async def system(opened: System) -> System:
        if is_at_rest:
            await wait_until(opened.is_at_rest, "the previous test's work is done")
        opened.start_test()
        return opened

    return opened, system


async def check_lifetimes(system: System) -> None:
    """Fail if a key would never expire, or a turn would never run."""
    assert await keys_without_lifetime(system.redis) == [], "keys were left without a lifetime"


_UNEXPECTED = re.compile(r"failed unexpectedly|broke inside|Traceback|was never retrieved")


def check_logs(system: System) -> None:
    """Fail if a bridge logged a secret, message text, or an unexpected exception."""
    for bridge in system.bridges:
        text = bridge.log.decode(errors="replace")
        assert secrets_in(text) == [], "a secret is in the log"
        assert secrets_in(bridge.pages) == [], "a secret is in a public page"
        for words in [message for message in every_message(system) if len(message) > 8]:
            assert words not in text, "message text is in the log"
            assert words not in bridge.pages, "message text is in a public page"
        unexpected = _UNEXPECTED.search(text)
        assert unexpected is None, text[max(0, unexpected.start() - 2000) : unexpected.end() + 4000]


def every_message(system: System) -> list[str]:
    """All messages ever sent to an agent in this system."""
    return [call.body["message"] for call in system.project.calls if call.path.endswith("/chat")]
