"""Turns per second: threads in which the next message follows each answer at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.figures import TIMES, Figure, at_least, ratio_of_pairs, without_target
from bench.processes import Kind
from bench.stage import Stage, Target
from bench.traffic import ChatMessage


@dataclass(slots=True)
class Talks:
    """Conversations that continue from round to round."""

    stage: Stage
    doors: list[Target]
    threads: list[str]
    messages: list[ChatMessage] = field(default_factory=list)
    _next: dict[str, int] = field(default_factory=dict)

    async def continue_for(self, seconds: float) -> float:
        """Talk in all threads for *seconds*. Returns the turns per second."""
        before, began = len(self.messages), time.perf_counter()
        end = began + seconds
        places = enumerate(self.threads)
        await asyncio.gather(*(self._one(self.doors[n % len(self.doors)], thread, end) for n, thread in places))
        return (len(self.messages) - before) / (time.perf_counter() - began)

    async def _one(self, target: Target, thread: str, end: float) -> None:
        while time.perf_counter() < end:
            number = self._next[thread] = self._next.get(thread, 0) + 1
            message = ChatMessage(thread, number)
            await self.stage.turn(target, message)
            self.messages.append(message)


async def talks(stage: Stage, target: Target, threads: int, projects: Sequence[str] = ("",)) -> Talks:
    """Start *threads* conversations, with each of *projects* in turn."""
    return Talks(stage, [target], await stage.threads(target, threads, projects))


async def in_turns(ours: Talks, theirs: Talks, seconds: float, times: int) -> tuple[list[float], list[float]]:
    """Continue both in alternation. Returns the turns per second of each, as pairs measured next to each other."""
    rates, their_rates = [], []
    for _ in range(times):
        their_rates.append(await theirs.continue_for(seconds))
        rates.append(await ours.continue_for(seconds))
    return rates, their_rates


async def turns(stage: Stage) -> list[Figure]:
    """Measure 16 and 64 threads; every message is a reply without a mention in a thread with a session."""
    figures = []
    async with stage.server("naive") as naive, stage.server("bridge") as bridge:
        for threads in (16, 64):
            figures += await _compared(stage, {"naive": naive, "bridge": bridge}, threads)
    return figures


async def _compared(stage: Stage, doors: dict[Kind, Target], threads: int) -> list[Figure]:
    seconds = stage.length.of(3, 1)
    theirs, ours = await talks(stage, doors["naive"], threads), await talks(stage, doors["bridge"], threads)
    for warming in (theirs, ours):
        await warming.continue_for(seconds / 4)
    process = doors["bridge"].process
    before, used = len(ours.messages), process.cpu_seconds()
    rates, their_rates = await in_turns(ours, theirs, seconds, stage.length.times(4, 2))
    cpu = (process.cpu_seconds() - used) / (len(ours.messages) - before) * 1e3
    stage.check(theirs.messages + ours.messages)
    name = f"{threads} threads"
    each = f"{cpu:.2f} ms of the bridge's processor time each"
    return [
        at_least(f"turns/s ÷ naive, {name}", ratio_of_pairs(rates, their_rates), 1.8, TIMES, goal=2.5),
        without_target(f"turns/s, {name}", median(rates), "/s", beside=each),
        without_target(f"turns/s, naive, {name}", median(their_rates), "/s"),
    ]
