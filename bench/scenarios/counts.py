"""Redis round trips and Slack API calls per turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from bench.figures import Figure, at_most, exactly, without_target
from bench.proxy import CountingProxy, counted
from bench.stage import Stage, Target
from bench.traffic import ChatMessage, mention

_IDLE_SECONDS = 5.0  # the interval of the slowest background loop
_TURNS = 200
_SLOW_TURNS = 10  # below the limit of 20 indicators per minute
_SLOW = 0.8
_PARTS = 3


async def counts(stage: Stage) -> list[Figure]:
    """Count turns in sequence, so that none share a round trip; the idle rate is subtracted."""
    here = Path(stage.around.folder) / "counted.sock"
    async with (
        counted(Path(stage.around.redis_url.removeprefix("unix://")), here) as proxy,
        stage.server("bridge", redis_url=f"unix://{here}") as target,
    ):
        thread = (await stage.threads(target, 1))[0]
        idle_rate = await _in_a_second(proxy, stage.length.of(_IDLE_SECONDS, 2))
        replies = [ChatMessage(thread, number) for number in range(1, stage.length.times(_TURNS, _TURNS // 4))]
        of_reply, calls = await _counted(stage, target, proxy, replies, idle_rate)
        of_mention, _ = await _counted(
            stage, target, proxy, [ChatMessage(stage.clock.next(), 0) for _ in replies], idle_rate
        )
        of_both = await _both_events(stage, target, proxy, idle_rate)
        slow = await _slow(stage, target)
    return [
        at_most("Redis round trips for a turn", of_reply, 5),
        without_target("… starting a thread", of_mention, beside=f"two events per message: {of_both:.2f}"),
        without_target("Redis round trips per second, idle", idle_rate),
        exactly("Slack calls for a turn, quick agent", calls, 1),
        exactly("Slack calls for a turn, slow agent", slow, _PARTS),
    ]


async def _in_a_second(proxy: CountingProxy, seconds: float) -> float:
    before = proxy.round_trips
    await asyncio.sleep(seconds)
    return (proxy.round_trips - before) / seconds


async def _counted(
    stage: Stage, target: Target, proxy: CountingProxy, messages: Sequence[ChatMessage], idle_rate: float
) -> tuple[float, float]:
    """The average round trips and Slack calls per message."""
    before, calls, began = proxy.round_trips, stage.ledger.calls.total(), time.perf_counter()
    for message in messages:
        await stage.turn(target, message)
    await asyncio.sleep(0.1)  # the last turn's end
    trips = proxy.round_trips - before - idle_rate * (time.perf_counter() - began)
    stage.check(messages)
    return round(trips / len(messages), 1), (stage.ledger.calls.total() - calls) / len(messages)


async def _both_events(stage: Stage, target: Target, proxy: CountingProxy, idle_rate: float) -> float:
    messages = [ChatMessage(stage.clock.next(), 0) for _ in range(stage.length.times(_TURNS, _TURNS // 4))]
    before, began = proxy.round_trips, time.perf_counter()
    for message in messages:
        await asyncio.gather(stage.turn(target, message), target.send(mention(message, "message")))
    trips = proxy.round_trips - before - idle_rate * (time.perf_counter() - began)
    stage.check(messages)
    return round(trips / len(messages), 1)


async def _slow(stage: Stage, target: Target) -> float:
    threads = await stage.threads(target, _SLOW_TURNS)
    stage.project.seconds = _SLOW
    messages, calls = [ChatMessage(thread, 1) for thread in threads], stage.ledger.calls.total()
    await asyncio.gather(*(stage.turn(target, message) for message in messages))
    await asyncio.sleep(0.2)  # the indicator is removed concurrently with the answer
    return (stage.ledger.calls.total() - calls) / len(messages)
