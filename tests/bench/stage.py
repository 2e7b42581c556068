"""The stage of a scenario: Redis and the servers on one core; the load, Slack and the project service on the other."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path

from redis.asyncio import Redis

from bench.fakes import FakeProject, FakeSlack, Ledger, fakes
from bench.processes import Kind, ServerProcess, Surroundings, pinned_to
from bench.traffic import Clock, Said, chatter, mention, reply
from bench.wire import Answer, Lines
from support.ports import free_port
from support.real_redis import RealRedis
from support.waiting import wait_until

START_SECONDS = 30.0
ANSWER_SECONDS = 30.0
_READY = b"GET /readyz HTTP/1.1\r\nHost: bench\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Length:
    """How long to measure: everything, or a glance at everything."""

    is_quick: bool
    is_full: bool = False

    def of(self, whole: float, glance: float) -> float:
        """Seconds to measure."""
        return glance if self.is_quick else whole

    def times(self, whole: int, glance: int) -> int:
        """How often to do it."""
        return glance if self.is_quick else whole


@dataclass(frozen=True, slots=True)
class Cores:
    """Which core the servers get, and which the load."""

    server: int
    load: int

    @classmethod
    def of_this_machine(cls) -> Cores:
        """Take the first two that we may use; on a machine with one, both are the same."""
        ours = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0, 1]
        return cls(server=ours[0], load=ours[1] if len(ours) > 1 else ours[0])


@dataclass(frozen=True, slots=True)
class Door:
    """A running server, and the lines to it."""

    process: ServerProcess
    lines: Lines

    async def send(self, request: bytes) -> Answer:
        """Deliver one request as Slack would; anything but 200 is a failure of the run."""
        answer = await self.lines.ask(request)
        if answer.status != HTTPStatus.OK:
            raise AssertionError(f"{self.process.kind} answered {answer.status}: see {self.process.log}")
        return answer


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that a scenario needs."""

    around: Surroundings
    ledger: Ledger
    project: FakeProject
    slack: FakeSlack
    redis: Redis
    clock: Clock
    length: Length
    _order: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    @asynccontextmanager
    async def server(self, kind: Kind, *, redis_url: str = "", **environ: str) -> AsyncIterator[Door]:
        """Start a server, let messages at it once it is ready, and kill it in the end."""
        async with self.starting(kind, redis_url=redis_url, **environ) as door:
            await self.taking(door)
            await self.ready(door)
            yield door

    @asynccontextmanager
    async def starting(self, kind: Kind, *, redis_url: str = "", **environ: str) -> AsyncIterator[Door]:
        """Begin to start a server, and kill it in the end."""
        around = replace(self.around, redis_url=redis_url or self.around.redis_url)
        process = ServerProcess(kind, around, free_port(), **environ)
        door = Door(process, Lines(process.port))
        try:
            yield door
        finally:
            door.lines.close()
            process.kill()  # what is still in flight was left so on purpose

    async def ready(self, door: Door) -> None:
        """Wait until all is ready; a baseline is when it takes events."""

        async def is_ready() -> bool:
            return (await door.lines.ask(_READY)).status == HTTPStatus.OK

        if door.process.kind == "bridge":
            await wait_until(is_ready, "the bridge is ready", START_SECONDS)

    async def taking(self, door: Door) -> None:
        """Wait until a signed event is taken."""

        async def takes_events() -> bool:
            if door.process.has_ended:
                raise AssertionError(door.process.log.read_text())
            try:
                return (await door.lines.ask(chatter(self.clock.next()))).status == HTTPStatus.OK
            except ConnectionError:
                return False

        await wait_until(takes_events, f"{door.process.kind} takes events", START_SECONDS)

    async def turn(self, door: Door, said: Said) -> Answer:
        """Say something, and wait until it is taken and answered; gives the acknowledgement."""
        posted = self.ledger.expect(said)
        async with self._order[said.thread]:  # the order in which messages are taken is that of their answers
            taken = await door.send(self.request(said))
        async with asyncio.timeout(ANSWER_SECONDS):
            await posted
        return taken

    def request(self, said: Said) -> bytes:
        """Make the event of *said*: the root of a thread is a mention, all else are replies without one."""
        return mention(said) if said.number == 0 else reply(said, self.clock.next())

    async def threads(self, door: Door, count: int) -> list[str]:
        """Begin *count* conversations, and give their threads."""
        found = [self.clock.next() for _ in range(count)]
        await asyncio.gather(*(self.turn(door, Said(thread, 0)) for thread in found))
        return found

    async def settled(self, messages: Sequence[Said], seconds: float) -> None:
        """Wait until all are answered, at most *seconds*, and a moment longer for what comes twice."""
        waiting = [self.ledger.expect(said) for said in messages if not self.ledger.posted.get(said)]
        if waiting:
            await asyncio.wait(waiting, timeout=seconds)
        await asyncio.sleep(0.3)

    def check(self, messages: Sequence[Said]) -> None:
        """Fail where a message was not answered exactly once, in order, in its thread and session."""
        verdict = self.ledger.verdict(messages)
        if not verdict.is_clean:
            raise AssertionError(f"{verdict}; {self.ledger.wrong[:3]}")


@asynccontextmanager
async def a_stage(folder: Path, cores: Cores, length: Length) -> AsyncIterator[Stage]:
    """Open Redis and the fakes; each scenario has its own."""
    async with AsyncExitStack() as stack:
        with pinned_to(cores.server):
            server = stack.enter_context(RealRedis(folder))
        ledger, project, slack = await stack.enter_async_context(fakes())
        redis = Redis.from_url(server.url, decode_responses=False)
        stack.push_async_callback(redis.aclose)
        around = Surroundings(slack.port, project.port, server.url, cores.server, folder)
        yield Stage(around, ledger, project, slack, redis, Clock(), length)
