"""The cost of evaluating alerts: milliseconds of the event loop for a thousand of them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from statistics import median

from bench.figures import Figure, at_most
from bench.stage import Stage
from bridge.features.alerts.alert import AlertSpec
from bridge.features.alerts.conditions import read_condition
from bridge.features.alerts.readings import OwnFacts, Readings
from bridge.features.statistics.past import Past
from bridge.features.statistics.snapshots import LargestNames, Snapshot
from bridge.features.statistics.work import EndedTurn

_MANY = 1000
_MOST_MS = 50
_NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
_HOUR = timedelta(hours=1)
_CONDITIONS = (
    "runs < {} in 24h", "runs > {}x usual", "prompts falls in {}h", "tags change", "category c7 > {}%", "stale {}h",
    "service down {}m", "agent 7 p95 > {}s", "failed runs > {} in 1h", "workflow 3 fails", "dead letters > {}",
    "oldest message > {}m",
)  # fmt: skip
_ZONES = ("UTC", "Europe/Berlin", "America/New_York")


async def alerts(stage: Stage) -> list[Figure]:
    """Evaluate alerts of all kinds on nine weeks of numbers, 500 names, and all turns that are stored."""
    specs = [
        AlertSpec(
            condition=read_condition(_CONDITIONS[at % len(_CONDITIONS)].format(at // len(_CONDITIONS) % 20 + 1)).words,
            zone=_ZONES[at % len(_ZONES)],
            target=7,
        )
        for at in range(_MANY)
    ]
    past = [Snapshot(_NOW - hour * _HOUR, {"runs": 10 * (2000 - hour), "prompts": 42}, {}) for hour in range(1, 1512)]
    groups = {
        "tags": LargestNames({f"t{number}": number for number in range(500)}),
        "categories": LargestNames({f"c{number}": number for number in range(50)}),
    }
    current = Snapshot(_NOW, {"runs": 20_000, "prompts": 42}, groups, _NOW - _HOUR)
    ended = [EndedTurn(_NOW - timedelta(seconds=at), "agent 7", at % 100) for at in range(5000)]
    ended += [EndedTurn(_NOW - timedelta(seconds=at), "workflow 7", at % 100, "failed") for at in range(5000)]
    taken = []
    for _ in range(stage.length.times(15, 5)):
        readings = Readings(_NOW, current, Past(past), past[-1].at, own=OwnFacts(ended=ended))
        began = time.perf_counter()
        for spec in specs:
            readings.evaluate(spec.parsed, zone=spec.clock, target=spec.target)
        taken.append((time.perf_counter() - began) * 1e3)
    return [at_most("evaluating 1,000 alerts", median(taken), _MOST_MS, "ms")]
