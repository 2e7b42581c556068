"""Bridges that kill themselves at a given point: the test's side of `support.instrumented_bridge`."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from support.forks import fork
from support.system import BridgeProcess, System


@dataclass
class KillableBridge(BridgeProcess):
    """A bridge that kills itself at *kill_at* (``""``: never), and writes the points it passes to *log_file*."""

    kill_at: str = ""
    log_file: Path = Path()

    async def start(self) -> Self:
        """Fork it."""
        self.began(await fork(self.environ, kill_at=self.kill_at, point_log=str(self.log_file), timing=self.timing))
        return self

    def point_log(self) -> list[str]:
        """The points it has passed, in order."""
        return self.log_file.read_text().splitlines() if self.log_file.exists() else []


def killable_bridge(system: System, point_logs: Path, kill_at: str = "", **environ: str) -> KillableBridge:
    """Prepare a bridge for *system* that writes its points to a file in the folder *point_logs*."""
    plain = system.bridge(**environ)
    system.bridges.remove(plain)
    killable = KillableBridge(plain.environ, kill_at=kill_at, log_file=point_logs / f"{secrets.token_hex(8)}.log")
    system.bridges.append(killable)
    return killable
