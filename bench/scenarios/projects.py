"""Turns per second with ten projects, compared with those of a bridge with one."""

from __future__ import annotations

from statistics import median

from bench.figures import TIMES, Figure, at_least, ratio_of_pairs, without_target
from bench.scenarios.turns import in_turns, talks
from bench.stage import Stage

_COUNT = 10
_TABLE = """\
[projects.{id}]
base_url = "http://127.0.0.1:{port}"
api_key_env = "KEY_OF_PROJECTS"
"""


async def projects(stage: Stage) -> list[Figure]:
    """Measure 16 and 64 threads; those of the bridge with ten projects are about each of them in turn."""
    others = [f"project{number}" for number in range(1, _COUNT)]
    file = stage.around.folder / "ten.toml"
    file.write_text("".join(_TABLE.format(id=one, port=stage.project.port) for one in others), encoding="utf-8")
    several = {"BRIDGE_CONFIG": str(file), "KEY_OF_PROJECTS": "key", "BRIDGE_NAMESPACE": "bench-projects"}
    figures = []
    async with stage.server("bridge") as one, stage.server("bridge", **several) as ten:
        for threads in (16, 64):
            theirs = await talks(stage, one, threads)
            ours = await talks(stage, ten, threads, ["default", *others])
            seconds = stage.length.of(1.5, 0.5)
            for warming in (theirs, ours):
                await warming.continue_for(seconds)
            before = [
                (len(talk.messages), target.process.cpu_seconds()) for talk, target in ((ours, ten), (theirs, one))
            ]
            rates, their_rates = await in_turns(ours, theirs, seconds, stage.length.times(8, 2))
            after = [
                (len(talk.messages), target.process.cpu_seconds()) for talk, target in ((ours, ten), (theirs, one))
            ]
            stage.check(theirs.messages + ours.messages)
            name, ratio = f"{threads} threads", ratio_of_pairs(rates, their_rates)
            cpu = [(now[1] - then[1]) / (now[0] - then[0]) * 1e3 for now, then in zip(after, before, strict=True)]
            beside = f"{cpu[0]:.2f} and {cpu[1]:.2f} ms of processor time each"
            figures += [
                at_least(f"turns/s with ten projects ÷ with one, {name}", ratio, 0.95, TIMES, beside=beside),
                without_target(f"turns/s with ten projects, {name}", median(rates), "/s"),
            ]
    return figures
