"""From nothing to the first event that is taken, and what the process weighs then."""

from __future__ import annotations

import asyncio
import time
from statistics import median

from bench.figures import TIMES, Figure, at_most, ratio_of_pairs, told
from bench.processes import Kind
from bench.stage import Stage


async def start(stage: Stage) -> list[Figure]:
    """Bridge and naive in turns, after each has been started once, so that all files are in memory."""
    kinds: tuple[Kind, ...] = ("naive", "bridge")
    for kind in kinds:
        await _started(stage, kind)
    seen = {kind: [await _started(stage, kind)] for kind in kinds}
    for _ in range(stage.length.times(4, 0)):
        for kind in kinds:
            seen[kind].append(await _started(stage, kind))
    seconds, memory = ({kind: [one[place] for one in seen[kind]] for kind in kinds} for place in (0, 1))
    return [
        at_most("cold start ÷ naive", ratio_of_pairs(seconds["bridge"], seconds["naive"]), 1.3, TIMES),
        at_most("idle memory ÷ naive", ratio_of_pairs(memory["bridge"], memory["naive"]), 1.3, TIMES),
        told("cold start to ready", median(seconds["bridge"]), "s", beside=f"naive {median(seconds['naive']):.2f}"),
        told("idle memory", median(memory["bridge"]), "MB", beside=f"naive {median(memory['naive']):.0f}"),
    ]


async def _started(stage: Stage, kind: Kind) -> tuple[float, float]:
    """Seconds to the first event taken, and megabytes a moment later."""
    async with stage.server(kind) as door:
        seconds = time.perf_counter() - door.process.began
        await asyncio.sleep(0.5)
        return seconds, door.process.resident()
