"""The states of the parts behind the page, and the switches that stop Redis and kill the bridge."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Protocol

from bridge.playground.bridge_process import BridgeProcess
from bridge.playground.emulator.entities import Json
from bridge.playground.page.errors import ActionFailed
from bridge.playground.page.supervisor import PartStatus, StoredTrace, Switch
from bridge.playground.sample_project import SampleProject


class StoppableRedis(Protocol):
    """A Redis that can be stopped and started; its data stays."""

    @property
    def url(self) -> str: ...

    @property
    def is_stopped(self) -> bool: ...

    @property
    def trouble(self) -> str:
        """Why it isn't running, if it should be."""

    async def keep(self) -> None:
        """Restart it whenever it ends, until cancelled."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


class PlaygroundSupervisor:
    """The parts behind the page. *project* and *redis* are None where the real ones are used.

    The bridge's manifest is stored in *folder*, so that the next start has it at once.
    """

    def __init__(
        self,
        bridge: BridgeProcess,
        *,
        folder: Path,
        is_slack_real: bool,
        project: SampleProject | None,
        redis: StoppableRedis | None,
    ) -> None:
        self._bridge = bridge
        self._is_slack_real = is_slack_real
        self._project = project
        self._redis = redis
        self._file = folder / "manifest.json"
        self.features: Json = {}
        self._install: Callable[[Json], None] = lambda _: None

    def parts(self) -> list[PartStatus]:
        """The state of each part; for real ones, as the bridge reports it."""
        return [self._slack(), self._service(), self._store(), self._bridge_status()]

    def _slack(self) -> PartStatus:
        if self._is_slack_real:
            return self._reported("Slack", "slack")
        return PartStatus("Slack", is_stand_in=True, is_up=True, detail="an emulated workspace")

    def _service(self) -> PartStatus:
        if self._project is None:
            return self._reported("Project service", "project")
        return PartStatus("Project service", is_stand_in=True, is_up=self._project.is_up, detail="a sample project")

    def _store(self) -> PartStatus:
        if self._redis is None:
            return self._reported("Redis", "redis")
        redis = self._redis
        detail = "embedded; its data survives a restart"
        is_up = not (redis.is_stopped or redis.trouble)
        return PartStatus("Redis", is_stand_in=True, is_up=is_up, detail=redis.trouble or detail)

    def _reported(self, name: str, key: str) -> PartStatus:
        reach = self._bridge.reach.get(key, "unknown while the bridge is down")
        return PartStatus(name, is_stand_in=False, is_up=reach == "up", detail=f"real: {reach}")

    def _bridge_status(self) -> PartStatus:
        pid = self._bridge.pid
        is_up = pid is not None and self._bridge.is_ready
        detail = "restarting" if pid is None else f"process {pid}" if is_up else f"process {pid}, not ready"
        return PartStatus("Bridge", is_stand_in=False, is_up=is_up, detail=detail)

    def faults(self) -> list[Switch]:
        """The switches: kill the bridge, catch up on missed messages, and stop our own Redis."""
        kill = Switch(
            "kill_bridge",
            "Bridge",
            "kill -9 the bridge",
            "The bridge is killed, then restarts. No message is lost or answered twice. If an agent was working, the "
            "thread asks you whether to send its message again.",
            self._kill,
            button="Kill it now",
        )
        catch_up = Switch(
            "catch_up",
            "Bridge",
            "Catch up on the last hour",
            "Runs bridge catch-up --since 1h. Over HTTP, the bridge can't tell when Slack couldn't reach it.",
            self._catch_up,
            button="Catch up now",
        )
        if self._redis is None:
            return [kill, catch_up]
        explains = "Messages you send arrive once Redis is back: the bridge asks Slack to retry. Commands fail."
        stopped = self._redis.is_stopped
        return [kill, catch_up, Switch("redis_stopped", "Redis", "Redis stopped", explains, self._stop_redis, stopped)]

    async def _kill(self, _: bool) -> None:  # noqa: FBT001 - a switch has two states; so below
        self._bridge.kill()

    async def _catch_up(self, _: bool) -> None:  # noqa: FBT001
        if not await self._bridge.asked("catch-up", "--since", "1h"):
            raise ActionFailed("The bridge couldn't catch up. Try again once it's running.")

    async def _stop_redis(self, is_on: bool) -> None:  # noqa: FBT001
        if self._redis is not None:
            await (self._redis.stop() if is_on else self._redis.start())

    async def load_manifest(self, install: Callable[[Json], None]) -> None:
        """Have Slack *install* the bridge's manifest: the stored one, if it is readable."""
        self._install = install
        try:
            self._installed(json.loads(self._file.read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError):
            await self.read_manifest()

    def _installed(self, manifest: Json) -> None:
        self._install(manifest)
        self.features = manifest["features"]

    async def read_manifest(self) -> None:
        """Ask the bridge for its manifest, which may have changed since the last start."""
        printed = await self._bridge.asked("manifest", "--socket")
        if printed:
            self._installed(json.loads(printed))
            self._file.write_text(printed, encoding="utf-8")

    async def trace(self, permalink: str) -> StoredTrace:
        """What the bridge recorded about one message."""
        printed = await self._bridge.asked("trace", permalink, "--json")
        record = json.loads(printed) if printed else {}
        steps = [{**step, "at": datetime.fromisoformat(step["at"]).timestamp()} for step in record.get("steps", [])]
        return StoredTrace(frozenset(record.get("turns", [])), steps)
