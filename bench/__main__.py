"""Run the benchmark: ``python -m bench [SCENARIO …]``, with ``QUICK=1`` or ``FULL=1`` in the environment."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvloop

from bench.figures import Figure, failed, table
from bench.processes import pinned_to
from bench.scenarios import SCENARIOS
from bench.stage import Cores, Length, Stage, a_stage
from support.real_redis import ON_DISK

_BUSY = 0.5  # of one core


async def measure(names: Sequence[str], cores: Cores, length: Length) -> dict[str, list[Figure]]:
    """Run the named scenarios in sequence, each on its own stage."""
    found: dict[str, list[Figure]] = {}
    for name in names:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="bench-", dir=ON_DISK) as folder:
            async with a_stage(Path(folder), cores, length) as stage:
                found[name] = await _figures(name, stage)
        _say(f"{name}: {time.perf_counter() - began:.0f} s")
    return found


async def _figures(name: str, stage: Stage) -> list[Figure]:
    """Measure a scenario; a failed check becomes its only figure."""
    try:
        return await SCENARIOS[name](stage)
    except AssertionError as exc:
        return [failed(name, str(exc))]


def report(found: dict[str, list[Figure]], load: float, seconds: float) -> dict[str, Any]:
    """Build the JSON report."""
    return {
        "machine": {"python": platform.python_version(), "cores": os.cpu_count(), "load_at_the_start": load},
        "seconds": round(seconds),
        "scenarios": {name: [figure.to_json() for figure in figures] for name, figures in found.items()},
    }


def main() -> int:
    """Measure, print the table and write the JSON. Returns 1 if a check failed, whatever the figures."""
    words = argparse.ArgumentParser(prog="bench", description="Benchmark the bridge against two baselines.")
    words.add_argument("scenarios", nargs="*", type=_known, help=f"any of {', '.join(SCENARIOS)} (default: all)")
    words.add_argument("--json", type=Path, default=Path("build/bench.json"), help="where to write the figures")
    given = words.parse_args()
    length = Length(is_quick=os.environ.get("QUICK") == "1", is_full=os.environ.get("FULL") == "1")
    load, began, cores = os.getloadavg()[0], time.perf_counter(), Cores.of_this_machine()
    if load > _BUSY:
        _say(f"This machine is busy (load {load:.1f}). Trust the ratios, not the absolute figures.")
    gc.freeze()  # no collection pauses in the load client
    with pinned_to(cores.load), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(measure(given.scenarios or list(SCENARIOS), cores, length))
    figures = [figure for some in found.values() for figure in some]
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(report(found, load, time.perf_counter() - began), indent=2, ensure_ascii=False))
    print(table(figures))  # noqa: T201 - the command's output
    return int(any(figure.is_failure for figure in figures))


def _known(name: str) -> str:
    if name not in SCENARIOS:
        raise argparse.ArgumentTypeError(f"no scenario “{name}”. Choose from {', '.join(SCENARIOS)}")
    return name


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
