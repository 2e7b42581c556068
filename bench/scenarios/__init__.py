"""The scenarios by name, in the order of the table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from bench.figures import Figure
from bench.scenarios.acks import acks
from bench.scenarios.beside_itself import projects, traces
from bench.scenarios.burst import burst
from bench.scenarios.caught_up import caught_up
from bench.scenarios.counts import counts
from bench.scenarios.growth import growth, processes
from bench.scenarios.latency import idle
from bench.scenarios.start import start
from bench.scenarios.turns import turns
from bench.stage import Stage

Scenario = Callable[[Stage], Awaitable[list[Figure]]]

SCENARIOS: Mapping[str, Scenario] = {
    "acks": acks,
    "turns": turns,
    "projects": projects,
    "traces": traces,
    "burst": burst,
    "idle": idle,
    "counts": counts,
    "start": start,
    "growth": growth,
    "processes": processes,
    "caught_up": caught_up,
}
