"""The mixed load, and what came of it as a table."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from soak.fleet import Fleet
from soak.people import PLACES, Person, run_things
from soak.trouble import Trouble
from support.conversations import Town
from support.ledger import AGENTS
from support.lifetimes import keys_without_lifetime
from support.real_redis import RealRedis
from support.waiting import wait_until
from support.world import World, a_world

RETRIES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_SETTLE = 120.0
_WARM_UP = 3.0


@dataclass
class Result:
    """What was counted; *faults* are broken promises, in words."""

    rows: list[tuple[str, object]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


async def soaked(seconds: float, seed: int, folder: Path) -> Result:
    """Let it happen for so long."""
    data, diaries = folder / "redis", folder / "diaries"
    data.mkdir()
    diaries.mkdir()
    with RealRedis(data) as redis:
        async with a_world(redis.url, f"soak-{secrets.token_hex(3)}", retry_delays=RETRIES) as world:
            chance = random.Random(seed)  # noqa: S311 - the same seed makes the same choices
            town, fleet = Town(world), Fleet(world, diaries, chance)
            sailing = asyncio.create_task(fleet.sail())
            try:
                return await _load(town, fleet, Trouble(world, fleet, redis, chance), seconds)
            finally:
                sailing.cancel()
                with suppress(asyncio.CancelledError):
                    await sailing


async def _load(town: Town, fleet: Fleet, trouble: Trouble, seconds: float) -> Result:
    world, is_over = town.world, asyncio.Event()
    world.project.operations.agents = list(AGENTS)
    world.project.operations.workflows[0].seconds = 0.3
    await asyncio.sleep(_WARM_UP)
    before = fleet.resident(), await _used(world)
    await _talk(town, fleet, trouble, seconds, is_over)
    result = Result()
    try:
        await wait_until(lambda: _is_settled(town), "all is answered", _SETTLE)
        await wait_until(lambda: _is_at_rest(world), "nobody waits in Redis", _SETTLE)
    except AssertionError as exc:
        result.faults.append(f"waits for ever: {exc}")
    _count(result, town, fleet, trouble.made)
    result.rows += [
        ("memory of a bridge, MB, at the start", _numbers(before[0])),
        ("memory of a bridge, MB, at the end", _numbers(fleet.resident())),
        ("memory of Redis, MB, at the start and the end", f"{before[1]:.1f}, {await _used(world):.1f}"),
    ]
    left = await keys_without_lifetime(world.redis)
    result.faults += [f"key that stays for ever: {key}" for key in left]
    return result


async def _talk(town: Town, fleet: Fleet, trouble: Trouble, seconds: float, is_over: asyncio.Event) -> None:
    """Let people talk and trouble be made for so long; then all goes well again."""
    async with asyncio.TaskGroup() as group:
        for user, channel in PLACES:
            group.create_task(Person(town, user, channel, trouble.another_chance()).talk(is_over))
        group.create_task(run_things(town, trouble.another_chance(), is_over))
        making = group.create_task(trouble.go_on(is_over))
        await asyncio.sleep(seconds)
        is_over.set()
        await making
        town.world.slack.faults.clear()
        town.world.project.clear()
        fleet.continue_all()


def _count(result: Result, town: Town, fleet: Fleet, made: Counter[str]) -> None:
    faults = list(town.faults())
    result.faults += faults
    written = [(thread, one) for thread in town.threads for one in thread.written]
    accepted = [(thread, one) for thread, one in written if thread.was_accepted(one)]
    kinds = Counter(fault.partition(":")[0] for fault in faults)
    acks = [one.ms for one in town.world.slack.deliveries if one.is_acked]
    result.rows += [
        ("messages sent", len(written)),
        ("given up by Slack, which was told so each time", len(written) - len(accepted)),
        ("answered", sum(len(thread.answered()) for thread in town.threads)),
        ("unknown, said so with a button", sum(len(thread.unknown()) for thread in town.threads)),
        ("runs", sum(bool(run.cards()) for run in town.runs)),
        ("lost", kinds["lost"]),
        ("doubled", kinds["doubled"]),
        ("out of order", kinds["out of order"]),
        ("acknowledged in, ms (median, p99)", _spread(acks, 0)),
        ("answered after, s (median, p99)", _spread(_waits(town), 1)),
        ("bridges begun", fleet.born),
        *sorted(made.items()),
    ]


def _waits(town: Town) -> list[float]:
    """How many seconds each answered message waited."""
    return [
        float(message.ts) - float(by_words[words].ts)
        for thread in town.threads
        for by_words in [{one.words: one for one in thread.written}]
        for words, message in thread.answers()
        if words in by_words
    ]


def _is_settled(town: Town) -> bool:
    return all(thread.were_given_up() or thread.is_settled() for thread in town.threads) and all(
        run.is_settled() for run in town.runs
    )


async def _is_at_rest(world: World) -> bool:
    return not await world.redis.xlen(f"{{{world.namespace}}}:ready")


async def _used(world: World) -> float:
    return float((await world.redis.info("memory"))["used_memory"]) / 1024 / 1024


def _spread(found: Sequence[float], digits: int) -> str:
    if not found:
        return "-"
    ordered = sorted(found)
    return f"{ordered[len(ordered) // 2]:.{digits}f}, {ordered[int(len(ordered) * 0.99)]:.{digits}f}"


def _numbers(found: Sequence[float]) -> str:
    return ", ".join(f"{one:.0f}" for one in found)


def elapsed(began: float) -> str:
    """Say how long ago *began* is."""
    return f"{time.monotonic() - began:.0f} s"
