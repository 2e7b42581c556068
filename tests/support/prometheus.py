"""A real Prometheus that scrapes bridges and evaluates the alerts every second."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp

from support import monitoring
from support.ports import free_port
from support.waiting import wait_until

PROGRAM: Final = shutil.which("prometheus")


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A server at *url*."""

    url: str

    async def get(self, path: str, **parameters: str) -> Any:
        """Ask its API for *path*; fails if that isn't a success."""
        async with aiohttp.ClientSession() as client, client.get(f"{self.url}{path}", params=parameters) as answer:
            said = await answer.text()
            assert answer.ok, f"{parameters}: {said}"
            return json.loads(said)["data"] if path.startswith("/api") else said

    async def query(self, query: str) -> list[dict[str, Any]]:
        """Return the result of a query as it's now; fails if it isn't one."""
        result: list[dict[str, Any]] = (await self.get("/api/v1/query", query=query))["result"]
        return result

    async def is_ready(self) -> bool:
        """Whether it's started."""
        try:
            return bool(await self.get("/-/ready"))
        except (aiohttp.ClientError, AssertionError):
            return False


@asynccontextmanager
async def scraping(folder: Path, *targets: str) -> AsyncIterator[Prometheus]:
    """Run one that scrapes *targets* (host and port), with the alerts of the bridge; needs `PROGRAM`."""
    every = "1s"
    shutil.copy(monitoring.RULES, folder)
    config = {
        "global": {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every},
        "rule_files": [monitoring.RULES.name],
        "scrape_configs": [{"job_name": "bridge", "static_configs": [{"targets": targets}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
    address = f"127.0.0.1:{free_port()}"
    arguments = [f"--web.listen-address={address}", "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
    process = await asyncio.create_subprocess_exec(
        str(PROGRAM), *arguments, "--log.level=error", cwd=folder, stdin=asyncio.subprocess.DEVNULL
    )
    try:
        running = Prometheus(f"http://{address}")
        await wait_until(running.is_ready, "Prometheus is ready")
        yield running
    finally:
        process.kill()
        await process.wait()
