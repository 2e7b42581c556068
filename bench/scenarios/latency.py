"""Latency: the bridge's share of an answer."""

from __future__ import annotations

import asyncio
import time
from typing import NamedTuple

from bench.figures import Figure, at_most, percentile, without_target
from bench.processes import Kind
from bench.stage import Stage
from bench.traffic import ChatMessage

_PAUSE = 0.01


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
