"""Kill a bridge at every point, each time it is passed; in as many further runs, kill its successor too."""

from __future__ import annotations

import random
from pathlib import Path

from proof.soak.load import Result
from support.kill_runs import every_run, execute_all, report, runs_without_kills
from support.real_redis import RealRedis

_AT_ONCE = 16


async def swept(seconds: float, seed: int, folder: Path) -> Result:
    """Carry out all these runs, for up to *seconds*."""
    data, point_logs = folder / "redis", folder / "diaries"
    data.mkdir()
    point_logs.mkdir()
    with RealRedis(data) as redis:
        baseline = await runs_without_kills(redis.url, point_logs)
        chance = random.Random(seed)  # noqa: S311 - the same seed makes the same choices
        planned = every_run(baseline, chance)
        chance.shuffle(planned)
        runs = await execute_all(planned, redis.url, point_logs, at_once=_AT_ONCE, seconds=seconds)
    everything = [*baseline, *runs]
    kills = [kill for run in runs for kill in run.killed]
    missed_kills = [kill_at for run in runs for kill_at in run.missed_kills]
    rows: list[tuple[str, object]] = [
        ("points", len({point for run in baseline for point in run.points()})),
        ("runs", f"{len(runs)} of {len(planned)}"),
        ("bridges killed", len(kills)),
        ("kills that didn't happen", len(missed_kills)),
        ("messages that reached an agent", sum(run.asked for run in everything)),
        ("unknown outcome, with a Send again button", sum(run.unknown for run in everything)),
        ("promises broken", sum(len(run.faults) for run in everything)),
    ]
    return Result(rows, report(everything).splitlines())
