"""Cold start: time to the first accepted event and to readiness, and idle memory."""

from __future__ import annotations

import asyncio
import time
from statistics import median
from typing import NamedTuple

from bench.figures import TIMES, Figure, at_most, ratio_of_pairs, without_target
from bench.processes import Kind
from bench.stage import Stage


class Start(NamedTuple):
    """Seconds until an event was *accepted* and until all was *ready*, and megabytes a moment later."""

    accepted: float
    ready: float
    memory: float


async def start(stage: Stage) -> list[Figure]:
    """Start bridge and naive in alternation, after one start of each to fill the file cache."""
    kinds: tuple[Kind, ...] = ("naive", "bridge")
    for kind in kinds:
        await _started(stage, kind)
    naive, bridge = [await _started(stage, "naive")], [await _started(stage, "bridge")]
    for _ in range(stage.length.times(4, 0)):
        naive.append(await _started(stage, "naive"))
        bridge.append(await _started(stage, "bridge"))
    return [
        at_most("cold start, all ready", _median(bridge, "ready"), 1.5, "s"),
        at_most("idle memory ÷ naive", _ratio(bridge, naive, "memory"), 1.3, TIMES),
        without_target(
            "cold start, first event accepted",
            _median(bridge, "accepted"),
            "s",
            beside=f"naive {_median(naive, 'accepted'):.2f}",
        ),
        without_target("idle memory", _median(bridge, "memory"), "MB", beside=f"naive {_median(naive, 'memory'):.0f}"),
    ]


def _ratio(bridge: list[Start], naive: list[Start], what: str) -> float:
    return ratio_of_pairs([getattr(one, what) for one in bridge], [getattr(one, what) for one in naive])


def _median(starts: list[Start], what: str) -> float:
    return median(getattr(one, what) for one in starts)


async def _started(stage: Stage, kind: Kind) -> Start:
    async with stage.starting(kind) as target:
        await stage.accepting(target)
        accepted = time.perf_counter() - target.process.began
        await stage.ready(target)
        ready = time.perf_counter() - target.process.began
        await asyncio.sleep(0.5)
        return Start(accepted, ready, target.process.resident())
