"""A scenario's environment: Redis and the servers on one core; load, Slack and project service on the other."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from itertools import cycle
from pathlib import Path

from redis.asyncio import Redis

from bench.fakes import FakeProject, FakeSlack, Ledger, fakes
from bench.processes import Kind, ServerProcess, Surroundings, pinned_to
from bench.traffic import ChatMessage, Clock, chatter, mention, reply
from bench.wire import Answer, Lines
from support.ports import free_port
from support.real_redis import RealRedis
from support.waiting import wait_until

START_SECONDS = 30.0
ANSWER_SECONDS = 30.0
_READY = b"GET /readyz HTTP/1.1\r\nHost: bench\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Length:
    """How long to measure; *is_quick* shortens every scenario."""

    is_quick: bool
    is_full: bool = False

    def of(self, whole: float, glance: float) -> float:
        """Seconds to measure."""
        return glance if self.is_quick else whole

    def times(self, whole: int, glance: int) -> int:
        """Number of repetitions."""
        return glance if self.is_quick else whole


@dataclass(frozen=True, slots=True)
class Cores:
    """The cores of the servers and of the load client."""

    server: int
    load: int

    @classmethod
    def of_this_machine(cls) -> Cores:
        """Choose the first two available cores; both are the same on a single-core machine."""
        ours = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0, 1]
        return cls(server=ours[0], load=ours[1] if len(ours) > 1 else ours[0])


@dataclass(frozen=True, slots=True)
class Target:
    """A running server and the connections to it."""

    process: ServerProcess
    lines: Lines

    async def send(self, request: bytes) -> Answer:
        """Deliver one request as Slack would; any status but 200 fails the run."""
        answer = await self.lines.ask(request)
        if answer.status != HTTPStatus.OK:
            raise AssertionError(f"{self.process.kind} answered {answer.status}: see {self.process.log}")
        return answer


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything a scenario needs."""

    around: Surroundings
    ledger: Ledger
    project: FakeProject
    slack: FakeSlack
    redis: Redis
    clock: Clock
    length: Length
    _order: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    @asynccontextmanager
    async def server(self, kind: Kind, *, redis_url: str = "", **environ: str) -> AsyncIterator[Target]:
        """Start a server, wait until it is ready, and kill it at the end."""
        async with self.starting(kind, redis_url=redis_url, **environ) as target:
            await self.accepting(target)
            await self.ready(target)
            yield target

    @asynccontextmanager
    async def starting(self, kind: Kind, *, redis_url: str = "", **environ: str) -> AsyncIterator[Target]:
        """Start a server without waiting for it, and kill it at the end."""
        around = replace(self.around, redis_url=redis_url or self.around.redis_url)
        process = ServerProcess(kind, around, free_port(), **environ)
        target = Target(process, Lines(process.port))
        try:
            yield target
        finally:
            target.lines.close()
            process.kill()  # unfinished turns are intentional

    async def ready(self, target: Target) -> None:
        """Wait until the bridge is ready; a baseline is ready once it accepts events."""

        async def is_ready() -> bool:
            return (await target.lines.ask(_READY)).status == HTTPStatus.OK

        if target.process.kind == "bridge":
            await wait_until(is_ready, "the bridge is ready", START_SECONDS)

    async def accepting(self, target: Target) -> None:
        """Wait until the server accepts a signed event."""

        async def accepts_events() -> bool:
            if target.process.has_ended:
                raise AssertionError(target.process.log.read_text())
            try:
                return (await target.lines.ask(chatter(self.clock.next()))).status == HTTPStatus.OK
            except ConnectionError:
                return False

        await wait_until(accepts_events, f"{target.process.kind} accepts events", START_SECONDS)

    async def turn(self, target: Target, message: ChatMessage, *, project: str = "") -> Answer:
        """Send a message and wait until it is answered. Returns the acknowledgement. A root may name a *project*."""
        posted = self.ledger.expect(message)
        async with self._order[message.thread]:  # messages are answered in the order of their acceptance
            acknowledgement = await target.send(self.request(message, project=project))
        async with asyncio.timeout(ANSWER_SECONDS):
            await posted
        return acknowledgement

    def request(self, message: ChatMessage, *, project: str = "") -> bytes:
        """Build the event of *message*: a mention starts a thread, and replies have none."""
        return mention(message, project=project) if message.number == 0 else reply(message, self.clock.next())

    async def threads(self, target: Target, count: int, projects: Sequence[str] = ("",)) -> list[str]:
        """Start *count* conversations, with each of *projects* in turn. Returns their threads."""
        found = list(zip((self.clock.next() for _ in range(count)), cycle(projects), strict=False))
        await asyncio.gather(*(self.turn(target, ChatMessage(thread, 0), project=one) for thread, one in found))
        return [thread for thread, _project in found]

    async def settled(self, messages: Sequence[ChatMessage], seconds: float) -> None:
        """Wait until all are answered, up to *seconds*, then a moment for duplicates."""
        waiting = [self.ledger.expect(message) for message in messages if not self.ledger.posted.get(message)]
        if waiting:
            await asyncio.wait(waiting, timeout=seconds)
        await asyncio.sleep(0.3)

    def check(self, messages: Sequence[ChatMessage]) -> None:
        """Fail unless each message was answered exactly once, in order, in its thread and session."""
        verdict = self.ledger.verdict(messages)
        if not verdict.is_clean:
            raise AssertionError(f"{verdict}; {self.ledger.wrong[:3]}")


@asynccontextmanager
async def a_stage(folder: Path, cores: Cores, length: Length) -> AsyncIterator[Stage]:
    """Start Redis and the fakes for one scenario."""
    async with AsyncExitStack() as stack:
        with pinned_to(cores.server):
            server = stack.enter_context(RealRedis(folder))
        ledger, project, slack = await stack.enter_async_context(fakes())
        redis = Redis.from_url(server.url, decode_responses=False)
        stack.push_async_callback(redis.aclose)
        around = Surroundings(slack.port, project.port, server.url, cores.server, folder)
        yield Stage(around, ledger, project, slack, redis, Clock(), length)
