"""Bridges on one Redis; each is replaced when it exits."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Sequence
from pathlib import Path

from support.system import BridgeProcess, System

THIS_RELEASE: tuple[Path | None, ...] = (None,) * 4
_KIB = 1024
_SWITCH = 0.05  # so that a message and its edit often reach different bridges


class Fleet:
    """The bridges of one *system*. Slack sends to one of them at a time.

    *pythons* are the interpreters of their installations (None: this one); another one is used from the next start on.
    """

    def __init__(
        self,
        system: System,
        point_logs: Path,
        chance: random.Random,
        pythons: Sequence[Path | None] = THIS_RELEASE,
    ) -> None:
        self.pythons = list(pythons)
        self.alive: list[BridgeProcess] = []
        self.started = 0
        self._system = system
        self._point_logs = point_logs
        self._chance = chance

    async def run(self) -> None:
        """Run the bridges until cancelled."""
        async with asyncio.TaskGroup() as group:
            for place in range(len(self.pythons)):
                group.create_task(self._replace(place))
            group.create_task(self._switch())

    def signal_one(self, number: signal.Signals, *, of: Sequence[Path | None] = ()) -> BridgeProcess:
        """Send a signal to a random bridge, or one *of* some installations."""
        fitting = [bridge for bridge in self.alive if not of or bridge.python in of]
        bridge = self._chance.choice(fitting or self._system.bridges)
        bridge.send_signal(number)
        return bridge

    def continue_all(self) -> None:
        """Resume all suspended bridges."""
        for bridge in self.alive:
            bridge.send_signal(signal.SIGCONT)

    def resident(self) -> list[float]:
        """Each bridge's memory in MB."""
        return [_resident(bridge.process.pid) for bridge in self.alive if bridge.process is not None]

    async def _replace(self, place: int) -> None:
        while True:
            bridge = self._system.killable_bridge(self._point_logs, BRIDGE_DEFAULT_AGENT="", BRIDGE_CHAT_TIMEOUT="10")
            bridge.python = self.pythons[place]
            await bridge.start()
            self.started += 1
            self.alive.append(bridge)
            await bridge.wait()
            self.alive.remove(bridge)
            await asyncio.sleep(self._chance.uniform(0, 3))

    async def _switch(self) -> None:
        """Point Slack at random bridges in turn, like a load balancer."""
        while True:
            if self.alive:
                self._system.slack.events_url = f"{self._chance.choice(self.alive).url}/slack/events"
            await asyncio.sleep(_SWITCH)


def _resident(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / _KIB
    return 0.0
