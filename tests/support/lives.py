"""Worlds whose bridges are killed one after the other, each at its own point.

A dead bridge's lease is expired in Redis at once; waiting for it would cost fifteen seconds in each of hundreds of
lives.
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

from support.conversations import EVERYTHING, Story, Town, is_refused_by_redis, meets_a_busy_service, waits_long
from support.mortals import Mortal, a_mortal
from support.side_conversations import BESIDE
from support.waiting import wait_until
from support.world import World, a_world

RETRIES = (0.2, 0.4, 0.8, 1.6, 3.2, 6.4)  # so that Slack doesn't give up during a slow start
PATIENCE = 40.0
IDLE_MS = 60_000
FREQUENT = 6  # steps this frequent are also done by a successor

Accident = Callable[[World, Mortal], Awaitable[None]]


@dataclass
class Life:
    """Some *stories*, and the *fates* of successive bridges.

    The last bridge lives. *accident* happens to the first one.
    """

    fates: tuple[str, ...] = ()
    stories: tuple[Story, ...] = EVERYTHING
    accident: Accident | None = None
    faults: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    diaries: list[list[str]] = field(default_factory=list)
    seconds: float = 0.0
    asked: int = 0
    unknown: int = 0

    @property
    def name(self) -> str:
        """A unique name."""
        return ", then ".join(self.fates) or "in peace"

    def points(self) -> Counter[str]:
        """How often each point was passed."""
        return Counter(point.rpartition(" ")[0] for diary in self.diaries for point in diary)


async def lived(life: Life, url: str, diaries: Path) -> Life:
    """Run it, and record the faults found at the end."""
    began = time.monotonic()
    try:
        async with a_world(url, f"life-{secrets.token_hex(4)}", retry_delays=RETRIES) as world, known_to_redis(world):
            await _in_world(life, world, diaries)
    except (
        AssertionError,
        TimeoutError,
    ) as exc:  # the world's own checks: an error in a log, a bridge that is never ready
        life.faults.append(f"{type(exc).__name__}: {str(exc)[-1500:]}")
    life.seconds = time.monotonic() - began
    return life


@asynccontextmanager
async def known_to_redis(world: World) -> AsyncIterator[None]:
    """Give the bridges of *world* their own Redis user, named like their namespace and with all permissions."""
    await world.redis.execute_command("ACL", "SETUSER", world.namespace, "on", "nopass", "~*", "&*", "+@all")  # type: ignore[no-untyped-call]
    world.redis_url = world.redis_url.replace("://", f"://{world.namespace}@")
    try:
        yield
    finally:
        await world.redis.execute_command("ACL", "DELUSER", world.namespace)  # type: ignore[no-untyped-call]


async def _in_world(life: Life, world: World, diaries: Path) -> None:
    town, succession = Town(world), Succession(world, diaries, life)
    async with succession.going_on():
        try:
            await town.live(*life.stories)
            await wait_until(world.is_at_rest, "nothing is queued in Redis", PATIENCE)
        except* AssertionError as group:
            life.faults += [f"waits for ever: {exc}" for exc in group.exceptions]
        life.faults += list(town.faults())
    life.asked = sum(len(thread.asked()) for thread in town.threads)
    life.unknown = sum(len(thread.unknown()) for thread in town.threads)


class Succession:
    """Replaces each bridge that dies."""

    def __init__(self, world: World, diaries: Path, life: Life) -> None:
        self._world = world
        self._diaries = diaries
        self._life = life
        self._is_served = asyncio.Event()

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        """Keep a bridge running during the block."""
        task = asyncio.create_task(self._reign())
        try:
            async with asyncio.timeout(PATIENCE):
                await self._is_served.wait()
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            for bridge in self._world.bridges:
                if isinstance(bridge, Mortal):
                    self._life.diaries.append(bridge.diary())
                    if bridge.fate and bridge.fate not in bridge.diary():
                        self._life.missed.append(bridge.fate)

    async def _reign(self) -> None:
        accident = self._life.accident
        for fate in chain(self._life.fates, repeat("")):
            bridge = a_mortal(self._world, self._diaries, fate, BRIDGE_DEFAULT_AGENT="")
            await bridge.start()
            if await _is_ready(bridge):
                self._world.slack.events_url = f"{bridge.url}/slack/events"
                self._is_served.set()
                if accident is not None:
                    await accident(self._world, bridge)
                    accident = None
            await bridge.wait()
            await end_leases(self._world)


async def _is_ready(bridge: Mortal) -> bool:
    """Wait until it is ready; False if it died first."""

    async def is_ready_or_dead() -> bool:
        return bridge.has_ended or (await bridge.state())[0] == 200

    await wait_until(is_ready_or_dead, "the bridge is ready", PATIENCE)
    return not bridge.has_ended


async def end_leases(world: World) -> None:
    """Expire all leases, whose owners are dead."""
    ready = f"{{{world.namespace}}}:ready"
    if not await world.redis.exists(ready):
        return
    for one in await world.redis.xpending_range(ready, "workers", "-", "+", 1000):
        entry, consumer = one["message_id"], one["consumer"]
        await world.redis.execute_command("XCLAIM", ready, "workers", consumer, 0, entry, "IDLE", IDLE_MS, "JUSTID")  # type: ignore[no-untyped-call]


async def all_lived(
    lives: Iterable[Life], url: str, diaries: Path, *, at_once: int, seconds: float = math.inf
) -> list[Life]:
    """Run lives concurrently, each in its own namespace; start none after *seconds*.

    Return those that ran.
    """
    places, until = asyncio.Semaphore(at_once), time.monotonic() + seconds

    async def one(life: Life) -> list[Life]:
        async with places:
            return [await lived(life, url, diaries)] if time.monotonic() < until else []

    return [life for some in await asyncio.gather(*map(one, lives)) for life in some]


async def told_to_end(world: World, bridge: Mortal) -> None:
    """SIGTERM while a message waits for a busy service."""
    asked = "/api/sdk/agents/4/chat"

    def is_time() -> bool:
        return len(world.project.calls_to(asked)) >= 3 or bridge.has_ended

    await wait_until(is_time, "the service is busy", PATIENCE)
    bridge.send_signal(signal.SIGTERM)


SCENES: tuple[tuple[tuple[Story, ...], Accident | None], ...] = (
    (EVERYTHING, None),
    (BESIDE, None),
    ((waits_long,), None),  # longer than a quarter of a lease, so it is renewed
    ((is_refused_by_redis,), None),  # alone: it affects the whole world
    ((meets_a_busy_service,), told_to_end),  # a clean shutdown: a lane is given back
)
"""Stories that together pass every point there is, and what befalls their bridge."""


async def in_peace(url: str, diaries: Path) -> list[Life]:
    """Run each scene without kills."""
    return await all_lived([Life((), *scene) for scene in SCENES], url, diaries, at_once=len(SCENES))


def quick_lives(peace: Sequence[Life]) -> list[Life]:
    """Lives in which a bridge dies after each kind of step seen in *peace*.

    It dies after a rare step, in the middle of everything; for a frequent step its successor dies, with some of them
    still to do. A kill before a step equals one after the step before it.
    """
    lives: list[Life] = []
    known: set[str] = set()
    for life in peace:
        steps = {point: times for point, times in life.points().items() if point.startswith("after ")}
        points = sorted(steps.keys() - known, key=lambda point: (steps[point], point))
        while points:
            point = points.pop(0)
            fates = [f"{point} {(steps[point] + 1) // 2}"]
            if points and steps[points[-1]] >= FREQUENT:
                fates.append(f"{points.pop()} 1")
            lives.append(Life(tuple(fates), life.stories, life.accident))
        known |= steps.keys()
    return [*lives, Life(("after take 10", "after XAUTOCLAIM 1"))]


def lives_after_a_miss(killed: Sequence[Life], peace: Sequence[Life], scenes: int) -> list[Life]:
    """New lives for fates that weren't met: timing decides whether some steps occur.

    Each is met at the first passage, in as many *scenes* as have passed it, most frequent first.
    """
    points = {fate.rpartition(" ")[0] for life in killed for fate in life.missed}
    points -= {fate.rpartition(" ")[0] for life in killed for fate in life.fates if fate not in life.missed}
    return [
        Life((f"{point} 1",), life.stories, life.accident)
        for point in sorted(points)
        for life in sorted(peace, key=lambda life: -life.points()[point])[:scenes]
        if life.points()[point]
    ]


def all_lives(peace: Sequence[Life], chance: random.Random) -> list[Life]:
    """One life for each passage of each point in *peace*, before and after, and as many with two deaths."""
    lives: list[Life] = []
    for life in peace:
        for point, times in sorted(life.points().items()):
            for fate in (f"{point} {number}" for number in range(1, times + 1)):
                second = f"after {chance.choice(_SECOND)} {chance.randint(1, 3)}"
                lives += [Life((fate,), life.stories, life.accident), Life((fate, second), life.stories, life.accident)]
    return lives


_SECOND = ("XAUTOCLAIM", "take", "sent", "outcome", "finish", "slack chat.postMessage", "project chat", "put")


def shown(lives: Sequence[Life]) -> str:
    """List the faults with the life of each."""
    return "\n".join(f"killed {life.name}: {fault}" for life in lives for fault in life.faults)
