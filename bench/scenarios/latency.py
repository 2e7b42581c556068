"""Latency: acknowledgements under a steady load, slash commands, and the bridge's share of an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from bench.figures import Figure, at_most, percentile, without_target
from bench.processes import Kind
from bench.stage import Stage, Target
from bench.traffic import ChatMessage, command
from support.waiting import wait_until

_THREADS = 50
_IN_A_SECOND = 100
_PAUSE = 0.01


async def even(stage: Stage) -> list[Figure]:
    """Send 100 events per second, one every 10 ms, to an agent that takes 50 ms."""
    async with stage.server("bridge") as target:
        threads = await stage.threads(target, _THREADS)
        stage.project.seconds = 0.05
        await _evenly(stage, target, threads, 1, _IN_A_SECOND)
        count = int(_IN_A_SECOND * stage.length.of(20, 2))
        acks = await _evenly(stage, target, threads, 1 + _IN_A_SECOND // _THREADS, count)
    spread = f"p50 {percentile(acks, 0.5):.1f}, slowest {max(acks):.1f}"
    return [at_most("ack p99 at 100 events/s", percentile(acks, 0.99), 10, "ms", beside=spread)]


async def _evenly(stage: Stage, target: Target, threads: list[str], first: int, count: int) -> list[float]:
    """Send *count* replies, round robin over the *threads*. Returns the milliseconds of their acks."""
    messages = [ChatMessage(threads[n % len(threads)], first + n // len(threads)) for n in range(count)]
    began = time.perf_counter()

    async def one(place: int, message: ChatMessage) -> float:
        await asyncio.sleep(began + place / _IN_A_SECOND - time.perf_counter())
        return (await stage.turn(target, message)).seconds * 1e3

    acks = await asyncio.gather(*(one(place, message) for place, message in enumerate(messages)))
    stage.check(messages)
    return list(acks)


async def commands(stage: Stage) -> list[Figure]:
    """Send ``/workflows list`` repeatedly, each after the answer to the last."""
    url = f"http://127.0.0.1:{stage.slack.port}/response_url"
    acks = []
    async with stage.server("bridge") as target:
        for number in range(stage.length.times(300, 60)):
            acks.append((await target.send(command("list", number, url))).seconds * 1e3)
            await wait_until(_answered(stage, number + 1), "the command is answered")
    return [at_most("slash command ack, p50", percentile(acks, 0.5), 2.5, "ms", beside=_p99(acks))]


def _answered(stage: Stage, count: int) -> Callable[[], bool]:
    return lambda: stage.slack.commands_answered >= count


class Added(NamedTuple):
    """Milliseconds that a server adds to a turn, from the event to the service and from the answer to the post."""

    way_in: list[float]
    way_out: list[float]


async def idle(stage: Stage) -> list[Figure]:
    """Send one message at a time to an idle server, and measure the turn without the agent's own time."""
    ours, naive = await _added(stage, "bridge"), await _added(stage, "naive")
    both = [way_in + way_out for way_in, way_out in zip(*ours, strict=True)]
    return [
        _at_most_3("latency added while idle: event → request to the service, p50", ours.way_in, naive.way_in),
        _at_most_3("latency added while idle: answer → post in Slack, p50", ours.way_out, naive.way_out),
        without_target("latency added while idle: both, p50", percentile(both, 0.5), "ms"),
    ]


async def _added(stage: Stage, kind: Kind) -> Added:
    added = Added([], [])
    async with stage.server(kind) as target:
        thread = (await stage.threads(target, 1))[0]
        stage.project.seconds = 0.02
        for number in range(1, stage.length.times(300, 60)):
            message, began = ChatMessage(thread, number), time.perf_counter()
            await stage.turn(target, message)
            added.way_in.append((stage.ledger.reached[message][0] - began) * 1e3)
            added.way_out.append((stage.ledger.posted[message][0] - stage.ledger.answered[message]) * 1e3)
            await asyncio.sleep(_PAUSE)
        stage.check([ChatMessage(thread, number) for number in range(1, len(added.way_in) + 1)])
    return added


def _at_most_3(name: str, ours: list[float], naive: list[float]) -> Figure:
    return at_most(name, percentile(ours, 0.5), 3, "ms", beside=f"{_p99(ours)}; naive {percentile(naive, 0.5):.1f}")


def _p99(values: list[float]) -> str:
    return f"p99 {percentile(values, 0.99):.1f}"
