"""Acknowledgements per second, while the maximum number of turns wait for a slow agent."""

from __future__ import annotations

import asyncio
import time
from statistics import median

from bench.figures import TIMES, Figure, at_least, ratio_of_pairs, without_target
from bench.stage import Stage, Target
from bench.traffic import ChatMessage, mention
from support.waiting import wait_until

_AT_ONCE = 64
_BATCH = 50  # small, since bursts are measured elsewhere
_IN_FLIGHT = 1000  # a process's default limit
_SLOW = 600.0


async def acks(stage: Stage) -> list[Figure]:
    """Send messages that each start a thread; every acknowledged one must be in Redis."""
    stage.project.seconds = _SLOW
    bare_rates, rates = [], []
    used = 0.0
    async with stage.server("bare") as bare, stage.server("bridge") as bridge:
        accepted = await _fill(stage, bridge)
        for _ in range(stage.length.times(4, 2)):
            bare_rates.append(await _rate(stage, bare) / stage.length.of(4, 1))
            before = bridge.process.cpu_seconds()
            count = await _rate(stage, bridge)
            used += bridge.process.cpu_seconds() - before
            accepted += count
            rates.append(count / stage.length.of(4, 1))
        await _check_that_all_are_stored(stage, accepted)
    cpu = used / (accepted - _IN_FLIGHT) * 1e3
    each = f"{cpu:.2f} ms of the bridge's processor time each"
    return [
        at_least("acks/s ÷ bare", ratio_of_pairs(rates, bare_rates), 0.5, TIMES),
        without_target("acks/s, durable", median(rates), "/s", beside=each),
        without_target("acks/s, bare", median(bare_rates), "/s"),
    ]


async def _fill(stage: Stage, target: Target) -> int:
    """Fill the bridge with turns that wait for the agent."""
    for _ in range(0, _IN_FLIGHT, _BATCH):
        await asyncio.gather(*(target.send(mention(ChatMessage(stage.clock.next(), 0))) for _ in range(_BATCH)))
    await wait_until(lambda: stage.ledger.in_flight == _IN_FLIGHT, "all turns wait for the agent", 20)
    return _IN_FLIGHT


async def _rate(stage: Stage, target: Target) -> int:
    """Send as fast as messages are accepted. Returns their number."""
    await target.lines.open(_AT_ONCE)
    end = time.perf_counter() + stage.length.of(4, 1)
    return sum(await asyncio.gather(*(_send_until(stage, target, end) for _ in range(_AT_ONCE))))


async def _send_until(stage: Stage, target: Target, end: float) -> int:
    count = 0
    while time.perf_counter() < end:
        await target.send(mention(ChatMessage(stage.clock.next(), 0)))
        count += 1
    return count


async def _check_that_all_are_stored(stage: Stage, expected: int) -> None:
    found = 0
    async for _ in stage.redis.scan_iter("{bench}:turn:*", count=5000):
        found += 1
    if found != expected:
        raise AssertionError(f"{expected} messages were acknowledged but {found} are in Redis")
