"""Runs the sample project service by itself, in place of a real one.

::

    python -m bridge.playground.sample_project --port 8081 --api-key KEY

Then ``PROJECT_BASE_URL=http://127.0.0.1:8081`` and ``PROJECT_API_KEY=KEY`` for its client. It has twelve
workflows (9 is slow, 10 fails, 11 has a huge output, 12 is inactive) and five agents: 1 remembers names and numbers,
2 answers in rich Markdown, 3 is slow, 4 uses tools, 5 fails on request (``fail``, ``fail 503``). Sessions and
statistics end with the process unless they are stored: ``--data-dir FOLDER``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from pathlib import Path

from bridge.playground.local_server import Port, next_reserved, typed_port
from bridge.playground.sample_project.server import SampleProject


async def _run(port: Port, api_key: str, data_dir: Path | None) -> None:
    async with SampleProject(api_key=api_key, port=port, data_dir=data_dir) as project:
        sys.stdout.write(f"Sample project service: {project.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    """Read the command line and serve until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m bridge.playground.sample_project", description="Run a sample project service."
    )
    parser.add_argument(
        "--port", type=typed_port, metavar="PORT", help="Port to serve on; by default 8081, or the next free one."
    )
    parser.add_argument(
        "--api-key", default="sample-key", metavar="KEY", help="The key that it accepts; %(default)s by default."
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        metavar="FOLDER",
        help="Store sessions and statistics here, so that they survive a restart.",
    )
    asked = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_run(asked.port or next_reserved(8081), asked.api_key, asked.data_dir))


if __name__ == "__main__":
    main()
