"""Kill a bridge at every point, each time it is passed; in as many further lives, kill its successor too."""

from __future__ import annotations

import random
from pathlib import Path

from soak.load import Result
from support.lives import all_lived, all_lives, in_peace, shown
from support.real_redis import RealRedis

_AT_ONCE = 16


async def swept(seconds: float, seed: int, folder: Path) -> Result:
    """Run all these lives, for up to *seconds*."""
    data, diaries = folder / "redis", folder / "diaries"
    data.mkdir()
    diaries.mkdir()
    with RealRedis(data) as redis:
        peace = await in_peace(redis.url, diaries)
        chance = random.Random(seed)  # noqa: S311 - the same seed makes the same choices
        planned = all_lives(peace, chance)
        chance.shuffle(planned)
        lives = await all_lived(planned, redis.url, diaries, at_once=_AT_ONCE, seconds=seconds)
    everything = [*peace, *lives]
    fates = [fate for life in lives for fate in life.fates]
    missed = [fate for life in lives for fate in life.missed]
    rows: list[tuple[str, object]] = [
        ("points", len({point for life in peace for point in life.points()})),
        ("lives", f"{len(lives)} of {len(planned)}"),
        ("bridges killed", len(fates) - len(missed)),
        ("kills that didn't happen", len(missed)),
        ("messages that reached an agent", sum(life.asked for life in everything)),
        ("unknown outcome, with a Send again button", sum(life.unknown for life in everything)),
        ("promises broken", sum(len(life.faults) for life in everything)),
    ]
    return Result(rows, shown(everything).splitlines())
