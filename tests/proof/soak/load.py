"""The mixed load and its table of results."""

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

from bridge.playground.emulator.sample import TEAM
from proof.soak.failures import Failures
from proof.soak.fleet import Fleet
from proof.soak.people import PLACES, Person, choose_agents, run_things
from support.counted import miscounted
from support.ledger import Thread
from support.lifetimes import keys_without_lifetime
from support.real_redis import RealRedis
from support.stories import Users
from support.system import System, open_system, text_of
from support.waiting import wait_until

RETRIES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_SETTLE = 120.0
_WARM_UP = 3.0


@dataclass
class Result:
    """Rows of the table; *faults* describe broken promises."""

    rows: list[tuple[str, object]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


async def soaked(seconds: float, seed: int, folder: Path) -> Result:
    """Run the load for *seconds*, and count the results."""
    data, point_logs = folder / "redis", folder / "diaries"
    data.mkdir()
    point_logs.mkdir()
    with RealRedis(data) as redis:
        async with open_system(redis.url, f"soak-{secrets.token_hex(3)}", retry_delays=RETRIES) as system:
            chance = random.Random(seed)  # noqa: S311 - the same seed makes the same choices
            users, fleet = Users(system), Fleet(system, point_logs, chance)
            running = asyncio.create_task(fleet.run())
            try:
                return await _load(users, fleet, Failures(system, fleet, redis, chance), seconds)
            finally:
                running.cancel()
                with suppress(asyncio.CancelledError):
                    await running


async def _load(users: Users, fleet: Fleet, failures: Failures, seconds: float) -> Result:
    system, is_over = users.system, asyncio.Event()
    system.project.operations.workflows[0].seconds = 0.3
    await asyncio.sleep(_WARM_UP)
    before = fleet.resident(), await _used(system)
    choosing = asyncio.create_task(choose_agents(users))
    await _talk(users, fleet, failures, seconds, is_over)
    result = Result()
    try:
        await wait_until(lambda: _is_settled(users), "all messages are answered", _SETTLE)
        await wait_until(lambda: _is_at_rest(system), "the queue is empty", _SETTLE)
        result.faults += await miscounted(system)
    except AssertionError as exc:
        result.faults.append(f"stuck: {exc}")
    if choosing.done():
        choosing.result()  # it never ends by itself
    choosing.cancel()
    _count(result, users, fleet, failures.made)
    result.faults += [
        line for thread in users.threads if len(thread.owed()) > thread.told() for line in await _state(thread)
    ]
    result.rows += [
        ("memory of each bridge at the start, MB", _numbers(before[0])),
        ("memory of each bridge at the end, MB", _numbers(fleet.resident())),
        ("memory of Redis at the start and the end, MB", f"{before[1]:.1f}, {await _used(system):.1f}"),
    ]
    left = await keys_without_lifetime(system.redis)
    result.faults += [f"key without a lifetime: {key}" for key in left]
    return result


async def _talk(users: Users, fleet: Fleet, failures: Failures, seconds: float, is_over: asyncio.Event) -> None:
    """Let people talk and things fail for *seconds*, then end all failures."""
    async with asyncio.TaskGroup() as group:
        for user, channel in PLACES:
            group.create_task(Person(users, user, channel, failures.another_chance()).talk(is_over))
        group.create_task(run_things(users, failures.another_chance(), is_over))
        making = group.create_task(failures.run(is_over))
        await asyncio.sleep(seconds)
        is_over.set()
        await making
        users.system.slack.faults.clear()
        users.system.project.clear()
        fleet.continue_all()


def _count(result: Result, users: Users, fleet: Fleet, made: Counter[str]) -> None:
    faults = list(users.faults())
    result.faults += faults
    written = [(thread, one) for thread in users.threads for one in thread.written]
    accepted = [(thread, one) for thread, one in written if thread.was_accepted(one)]
    kinds = Counter(fault.partition(":")[0] for fault in faults)
    acks = [one.ms for one in users.system.slack.deliveries if one.is_acked]
    result.rows += [
        ("messages sent", len(written)),
        (
            "edited, deleted",
            f"{sum(bool(one.changed) for _, one in written)}, {sum(one.withdrawn for _, one in written)}",
        ),
        ("given up by Slack after refusals", len(written) - len(accepted)),
        ("answered", sum(len(thread.answered()) for thread in users.threads)),
        ("unknown outcome, with a Send again button", sum(len(thread.unknown()) for thread in users.threads)),
        ("stopped", sum(len(thread.stopped()) for thread in users.threads)),
        ("runs", sum(bool(run.cards()) for run in users.runs)),
        ("lost", kinds["lost"]),
        ("doubled", kinds["doubled"]),
        ("out of order", kinds["out of order"]),
        ("asked or answered in spite of a change", kinds["in spite of"]),
        ("acknowledgement, ms (median, p99)", _spread(acks, 0)),
        ("answer, s (median, p99)", _spread(_waits(users), 1)),
        ("bridges started", fleet.started),
        *sorted(made.items()),
    ]


async def _state(thread: Thread) -> list[str]:
    """Describe a thread with lost messages: what the bot said there, and what is queued in Redis."""
    redis, prefix = thread.system.redis, f"{{{thread.system.namespace}}}:"
    lane = f"t:{TEAM}:{thread.channel}:{thread.root}"
    lines = [f"said in {lane}: {text_of(one)[:80]!r}" for one in thread.said()]
    lines.append(f"parked {await redis.hget(f'{prefix}parked', lane)}, held {await redis.hget(f'{prefix}held', lane)}")
    for turn in await redis.lrange(f"{prefix}box:{lane}", 0, -1):
        fields = ("step", "at", "ts", "end", "token", "log")
        found = await redis.hmget(f"{prefix}turn:{turn}", fields)
        lines.append(f"queued {turn}: {dict(zip(fields, found, strict=True))}")
    return lines


def _waits(users: Users) -> list[float]:
    """Seconds from each message to its answer."""
    return [
        float(message.ts) - float(by_words[words].ts)
        for thread in users.threads
        for by_words in [{one.words: one for one in thread.written}]
        for words, message in thread.answers()
        if words in by_words
    ]


def _is_settled(users: Users) -> bool:
    return all(thread.were_given_up() or thread.is_settled() for thread in users.threads) and all(
        run.is_settled() for run in users.runs
    )


async def _is_at_rest(system: System) -> bool:
    return not await system.redis.xlen(f"{{{system.namespace}}}:ready")


async def _used(system: System) -> float:
    return float((await system.redis.info("memory"))["used_memory"]) / 1024 / 1024


def _spread(found: Sequence[float], digits: int) -> str:
    if not found:
        return "-"
    ordered = sorted(found)
    return f"{ordered[len(ordered) // 2]:.{digits}f}, {ordered[int(len(ordered) * 0.99)]:.{digits}f}"


def _numbers(found: Sequence[float]) -> str:
    return ", ".join(f"{one:.0f}" for one in found)


def elapsed(began: float) -> str:
    """Format the time since *began*."""
    return f"{time.monotonic() - began:.0f} s"
