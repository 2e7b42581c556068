"""Redis round trips and Slack API calls per turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.figures import Figure, at_most, exactly, without_target
from bench.proxy import CountingProxy, counted
from bench.stage import Stage, Target
from bench.traffic import ChatMessage, mention

_IDLE_SECONDS = 5.0  # the interval of the slowest background loop
_QUIET_SECONDS = 0.05  # what a turn leaves to the background is done by then
_TURNS = 200
_SLOW_TURNS = 10  # below the limit of 20 indicators per minute
_SLOW = 0.8
_PARTS = 3


async def counts(stage: Stage) -> list[Figure]:
    """Count turns in sequence, so that none share a round trip, each until it's quiet.

    The median leaves out the windows in which the bridge's clock ticked.
    """
    here = Path(stage.around.folder) / "counted.sock"
    async with (
        counted(Path(stage.around.redis_url.removeprefix("unix://")), here) as proxy,
        stage.server("bridge", redis_url=f"unix://{here}") as target,
    ):
        thread = (await stage.threads(target, 1))[0]
        before, seconds = proxy.round_trips, stage.length.of(_IDLE_SECONDS, 2)
        await asyncio.sleep(seconds)
        idle_rate = (proxy.round_trips - before) / seconds
        turns = stage.length.times(_TURNS, _TURNS // 4)
        of_reply, calls = await _counted(stage, target, proxy, [ChatMessage(thread, at + 1) for at in range(turns)])
        roots = [ChatMessage(stage.clock.next(), 0) for _ in range(turns)]
        of_mention, _ = await _counted(stage, target, proxy, roots)
        roots = [ChatMessage(stage.clock.next(), 0) for _ in range(turns)]
        of_both, _ = await _counted(stage, target, proxy, roots, twin="message")
        slow = await _slow(stage, target)
    return [
        at_most("Redis round trips for a turn", of_reply, 5),
        without_target("… starting a thread", of_mention, beside=f"two events per message: {of_both:g}"),
        without_target("Redis round trips per second, idle", idle_rate),
        exactly("Slack calls for a turn, quick agent", calls, 1),
        exactly("Slack calls for a turn, slow agent", slow, _PARTS),
    ]


async def _counted(
    stage: Stage, target: Target, proxy: CountingProxy, messages: Sequence[ChatMessage], *, twin: str = ""
) -> tuple[float, float]:
    """The median of round trips and of Slack calls per message, which may come with its *twin* event."""
    trips, calls = [], []
    for message in messages:
        before, called = proxy.round_trips, stage.ledger.calls.total()
        with_it = [target.send(mention(message, twin))] if twin else []
        await asyncio.gather(stage.turn(target, message), *with_it)
        await asyncio.sleep(_QUIET_SECONDS)
        trips.append(proxy.round_trips - before)
        calls.append(stage.ledger.calls.total() - called)
    stage.check(messages)
    return median(trips), median(calls)


async def _slow(stage: Stage, target: Target) -> float:
    threads = await stage.threads(target, _SLOW_TURNS)
    stage.project.seconds = _SLOW
    messages, calls = [ChatMessage(thread, 1) for thread in threads], stage.ledger.calls.total()
    await asyncio.gather(*(stage.turn(target, message) for message in messages))
    await asyncio.sleep(0.2)  # the indicator is removed concurrently with the answer
    return (stage.ledger.calls.total() - calls) / len(messages)
