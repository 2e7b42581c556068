"""Runs whose bridges are killed one after the other, each at its own point.

A dead bridge's lease is expired in Redis at once; waiting for it would cost fifteen seconds in each of hundreds of
runs.
"""

from __future__ import annotations

import asyncio
import math
import random
import secrets
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path

from support.counted import miscounted
from support.feature_stories import FEATURE_STORIES, ONE_DOWN, RULES, TWO_PROJECTS, served
from support.kill_points import SEPARATOR
from support.stories import CORE_STORIES, Story, Users, is_refused_by_redis, meets_a_busy_service, waits_long
from support.system import BridgeProcess, System, open_system
from support.waiting import wait_until

RETRIES = (0.2, 0.4, 0.8, 1.6, *[3.2] * 12)  # so that Slack doesn't give up during slow starts
PATIENCE = 90.0
IDLE_MS = 60_000
KILLS_OF_A_RUN = 5

Disturbance = Callable[[System, BridgeProcess], Awaitable[None]]


@dataclass
class KillRun:
    """Some *stories*, and the points of `support.kill_points` at which successive bridges are to be killed, and were.

    The last bridge isn't killed. *disturbance* happens to the first one. *environ* is added to that of all.
    """

    kills: tuple[str, ...] = ()
    stories: tuple[Story, ...] = CORE_STORIES
    disturbance: Disturbance | None = None
    environ: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    killed: list[str] = field(default_factory=list)
    missed_kills: list[str] = field(default_factory=list)
    point_logs: list[list[str]] = field(default_factory=list)
    seconds: float = 0.0
    asked: int = 0
    unknown: int = 0

    @property
    def name(self) -> str:
        """A unique name."""
        return ", then ".join(self.killed) or "never"

    def points(self) -> Counter[str]:
        """How often each point was passed."""
        return Counter(point.rpartition(" ")[0] for point_log in self.point_logs for point in point_log)


async def execute(run: KillRun, url: str, point_logs: Path) -> KillRun:
    """Carry out *run* in a new system, and record the faults found at the end."""
    began = time.monotonic()
    try:
        async with (
            open_system(url, f"kill-{secrets.token_hex(4)}", retry_delays=RETRIES) as system,
            own_redis_user(system),
            served(system, point_logs, run.stories),
        ):
            await _run_stories(run, system, point_logs)
    except (AssertionError, TimeoutError) as exc:  # the system's own checks, such as an error in a log
        run.faults.append(f"{type(exc).__name__}: {str(exc)[-1500:]}")
    run.seconds = time.monotonic() - began
    return run


@asynccontextmanager
async def own_redis_user(system: System) -> AsyncIterator[None]:
    """Give the bridges of *system* their own Redis user, named like their namespace and with all permissions."""
    await system.redis.execute_command("ACL", "SETUSER", system.namespace, "on", "nopass", "~*", "&*", "+@all")  # type: ignore[no-untyped-call]
    system.redis_url = system.redis_url.replace("://", f"://{system.namespace}@")
    try:
        yield
    finally:
        await system.redis.execute_command("ACL", "DELUSER", system.namespace)  # type: ignore[no-untyped-call]


async def _run_stories(run: KillRun, system: System, point_logs: Path) -> None:
    users, supervisor = Users(system), Supervisor(system, point_logs, run)
    async with supervisor.running():
        try:
            await users.run_stories(*run.stories)
            await wait_until(system.is_at_rest, "nothing is queued in Redis", PATIENCE)
            run.faults += await miscounted(system)
        except* AssertionError as group:
            run.faults += [f"stuck: {exc}" for exc in group.exceptions]
        run.faults += list(users.faults())
    run.asked = sum(len(thread.asked()) for thread in users.threads)
    run.unknown = sum(len(thread.unknown()) for thread in users.threads)


class Supervisor:
    """Starts another bridge whenever one dies."""

    def __init__(self, system: System, point_logs: Path, run: KillRun) -> None:
        self._system = system
        self._point_logs = point_logs
        self._run = run
        self._first_ready = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep a bridge running during the block."""
        task = asyncio.create_task(self._supervise())
        try:
            async with asyncio.timeout(PATIENCE):
                await self._first_ready.wait()
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            for bridge in self._system.bridges:
                if bridge.point_log:
                    self._run.point_logs.append(points := bridge.points())
                    if points and points[-1] in bridge.kill_at.split(SEPARATOR):
                        self._run.killed.append(points[-1])
                    elif bridge.kill_at:
                        self._run.missed_kills.append(bridge.kill_at)

    async def _supervise(self) -> None:
        disturbance = self._run.disturbance
        rules = self._point_logs / f"rules-{secrets.token_hex(4)}.toml"  # another run's bridge may be reading its own
        rules.write_text(RULES, encoding="utf-8")
        environ = {"BRIDGE_CONFIG": str(rules)} if self._run.stories is FEATURE_STORIES else self._run.environ
        for kill_at in chain(self._run.kills, repeat("")):
            bridge = self._system.killable_bridge(self._point_logs, kill_at, BRIDGE_DEFAULT_AGENT="", **environ)
            await bridge.start()
            if await _is_ready(bridge):
                self._system.slack.events_url = f"{bridge.url}/slack/events"
                self._first_ready.set()
                if disturbance is not None:
                    await disturbance(self._system, bridge)
                    disturbance = None
            await bridge.wait()
            await end_leases(self._system)


async def _is_ready(bridge: BridgeProcess) -> bool:
    """Wait until it is ready; False if it died first."""

    async def is_ready_or_dead() -> bool:
        return bridge.has_ended or (await bridge.state())[0] == 200

    await wait_until(is_ready_or_dead, "the bridge is ready", PATIENCE)
    return not bridge.has_ended


async def end_leases(system: System) -> None:
    """Expire all leases: their owners are dead."""
    ready = f"{{{system.namespace}}}:ready"
    if not await system.redis.exists(ready):
        return
    for one in await system.redis.xpending_range(ready, "workers", "-", "+", 1000):
        entry, consumer = one["message_id"], one["consumer"]
        await system.redis.execute_command("XCLAIM", ready, "workers", consumer, 0, entry, "IDLE", IDLE_MS, "JUSTID")  # type: ignore[no-untyped-call]


async def execute_all(
    runs: Iterable[KillRun], url: str, point_logs: Path, *, at_once: int, seconds: float = math.inf
) -> list[KillRun]:
    """Carry out *runs* concurrently, each in its own namespace, and start none after *seconds*.

    Returns those that were started.
    """
    places, until = asyncio.Semaphore(at_once), time.monotonic() + seconds

    async def one(run: KillRun) -> list[KillRun]:
        async with places:
            return [await execute(run, url, point_logs)] if time.monotonic() < until else []

    return [run for some in await asyncio.gather(*map(one, runs)) for run in some]


async def sigterm_while_busy(system: System, bridge: BridgeProcess) -> None:
    """SIGTERM while a message waits for a busy service."""
    asked = "/api/sdk/agents/4/chat"

    def is_time() -> bool:
        return len(system.project.calls_to(asked)) >= 3 or bridge.has_ended

    await wait_until(is_time, "the service is busy", PATIENCE)
    bridge.send_signal(signal.SIGTERM)


SCENARIOS: tuple[tuple[tuple[Story, ...], Disturbance | None], ...] = (
    (CORE_STORIES, None),
    (FEATURE_STORIES, None),
    ((waits_long,), None),  # longer than a quarter of a lease, so it is renewed
    ((is_refused_by_redis,), None),  # alone: it affects the whole system
    (TWO_PROJECTS, None),
    (ONE_DOWN, None),
    ((meets_a_busy_service,), sigterm_while_busy),  # a clean shutdown: a lane is released
)
"""Stories that together pass every point, and the disturbance of their first bridge."""


async def runs_without_kills(url: str, point_logs: Path) -> list[KillRun]:
    """Carry out each scenario without kills."""
    return await execute_all(
        [KillRun((), *scenario) for scenario in SCENARIOS], url, point_logs, at_once=len(SCENARIOS)
    )


def quick_runs(baseline: Sequence[KillRun]) -> list[KillRun]:
    """Plan runs in which a bridge is killed after each kind of step seen in *baseline*.

    The first bridge of a run is killed halfway through the passages of any kind after which none has been killed yet;
    its successors at the first passage of one. A kill before a step equals one after the step before it.
    """
    runs: list[KillRun] = []
    known: set[str] = set()
    for run in baseline:
        passed = run.points()
        points = sorted(point for point in passed if point.startswith("after ") and point not in known)
        halfway = SEPARATOR.join(f"{point} {(passed[point] + 1) // 2}" for point in points)
        runs += [_killed_at_any(run, points, halfway) for _ in range(-(-len(points) // KILLS_OF_A_RUN))]
        known |= passed.keys()
        if run.stories in {TWO_PROJECTS, ONE_DOWN}:  # whose steps are known
            runs.append(KillRun(_OF_PROJECTS, run.stories))
    return [*runs, KillRun(("after take 10", "after XAUTOCLAIM 1"))]


def _killed_at_any(run: KillRun, points: Sequence[str], first: str = "") -> KillRun:
    """Plan a run with the stories of *run* whose bridges are killed at any of *points*; the first one at *first*."""
    any_point = SEPARATOR.join(f"{point} 1" for point in points)
    kills = min(KILLS_OF_A_RUN, len(points))
    return KillRun((first or any_point, *[any_point] * (kills - 1)), run.stories, run.disturbance)


def runs_for_missed_kills(killed: Sequence[KillRun], baseline: Sequence[KillRun], scenarios: int) -> list[KillRun]:
    """Plan runs for kinds of steps after which nothing was killed: timing decides whether some steps occur.

    Each is among those of up to *scenarios* scenarios that have passed it, most frequent first. It's killed after the
    first passage: there may be fewer than in *baseline*.
    """
    missing = {point for run in baseline for point in run.points() if point.startswith("after ")}
    missing -= {kill.rpartition(" ")[0] for run in killed for kill in run.killed}
    points: dict[int, list[str]] = {}
    for point in sorted(missing):
        for run in sorted(baseline, key=lambda run: -run.points()[point])[:scenarios]:
            if run.points()[point]:
                points.setdefault(id(run), []).append(point)
    return [_killed_at_any(run, points[id(run)]) for run in baseline if id(run) in points]


def every_run(baseline: Sequence[KillRun], chance: random.Random) -> list[KillRun]:
    """Plan a run for each passage of each point in *baseline*, before and after, and as many with a second kill."""
    runs: list[KillRun] = []
    for run in baseline:
        for point, times in sorted(run.points().items()):
            for kill_at in (f"{point} {number}" for number in range(1, times + 1)):
                second = f"after {chance.choice(_SECOND)} {chance.randint(1, 3)}"
                runs += [
                    KillRun((kill_at,), run.stories, run.disturbance),
                    KillRun((kill_at, second), run.stories, run.disturbance),
                ]
    return runs


_OF_PROJECTS = ("after sent 2", "after project chat 1", "after outcome 1")

_SECOND = ("XAUTOCLAIM", "take", "sent", "outcome", "finish", "slack chat.postMessage", "project chat", "put")


def report(runs: Sequence[KillRun]) -> str:
    """List the faults, each with its run's kills."""
    return "\n".join(f"killed {run.name}: {fault}" for run in runs for fault in run.faults)
