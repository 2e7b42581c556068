"""Run the soak: ``python -m proof.soak``, with ``SECONDS``, ``SWEEP`` and ``SEED`` in the environment."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import tempfile
import time
from pathlib import Path

from proof.soak.load import Result, elapsed, soaked
from proof.soak.sweep import swept

_MOST_FAULTS = 50


def main() -> int:
    """Run, print the table, and return 1 if a promise was broken."""
    is_sweep = os.environ.get("SWEEP") == "1"
    seed = int(os.environ.get("SEED") or secrets.randbelow(1_000_000))
    seconds = float(os.environ.get("SECONDS") or (3600 if is_sweep else 600))
    began = time.monotonic()
    # Not on uvloop, where httpx raises AttributeError if a server dies during a connect.
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        work = swept(seconds, seed, Path(folder)) if is_sweep else soaked(seconds, seed, Path(folder))
        result = asyncio.run(work)
    result.rows += [("seed", seed), ("took", elapsed(began))]
    print(table(result))  # noqa: T201 - the command's output
    return int(bool(result.faults))


def table(result: Result) -> str:
    """Format the rows, followed by the broken promises."""
    width = max(len(name) for name, _ in result.rows)
    lines = [f"{name:<{width}}  {value}" for name, value in result.rows]
    return "\n".join([*lines, *(f"BROKEN  {fault}" for fault in result.faults[:_MOST_FAULTS])])


if __name__ == "__main__":
    sys.exit(main())
