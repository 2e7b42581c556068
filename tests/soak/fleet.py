"""Four bridges on one Redis, each of which is replaced when it has ended."""

from __future__ import annotations

import asyncio
import random
import signal
from pathlib import Path

from support.mortals import Mortal, a_mortal
from support.world import World

_SIZE = 4
_KIB = 1024
_SWITCH = 0.5


class Fleet:
    """The bridges of one *world*; Slack sends to one of them at a time."""

    def __init__(self, world: World, diaries: Path, chance: random.Random) -> None:
        self.alive: list[Mortal] = []
        self.born = 0
        self._world = world
        self._diaries = diaries
        self._chance = chance

    async def sail(self) -> None:
        """Have the bridges running until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(_SIZE):
                group.create_task(self._replace())
            group.create_task(self._switch())

    def signal_one(self, number: signal.Signals) -> Mortal:
        """Let one of them have a signal."""
        bridge = self._chance.choice(self.alive or [one for one in self._world.bridges if isinstance(one, Mortal)])
        bridge.send_signal(number)
        return bridge

    def continue_all(self) -> None:
        """Let nobody be suspended any more."""
        for bridge in self.alive:
            bridge.send_signal(signal.SIGCONT)

    def resident(self) -> list[float]:
        """Megabytes of memory of each."""
        return [_resident(bridge.process.pid) for bridge in self.alive if bridge.process is not None]

    async def _replace(self) -> None:
        while True:
            bridge = a_mortal(self._world, self._diaries, BRIDGE_DEFAULT_AGENT="", BRIDGE_CHAT_TIMEOUT="10")
            await bridge.start()
            self.born += 1
            self.alive.append(bridge)
            await bridge.wait()
            self.alive.remove(bridge)
            await asyncio.sleep(self._chance.uniform(0, 3))

    async def _switch(self) -> None:
        """Let Slack meet now this one, now that one, as a balancer would have it."""
        while True:
            if self.alive:
                self._world.slack.events_url = f"{self._chance.choice(self.alive).url}/slack/events"
            await asyncio.sleep(_SWITCH)


def _resident(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / _KIB
    return 0.0
