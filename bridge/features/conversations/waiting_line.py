"""Who waits behind whom, for a moment in this process: put here at the door, shown by `waiting_signs`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from bridge.ids import TurnId
from bridge.inbound import InboundMessage

_MOST = 1000  # that wait for their second to be over; more than are shown in any case


@dataclass(frozen=True, slots=True)
class Waits:
    """The *turn* of *message* waits behind *ahead* others *since* some time, in seconds of the line's clock."""

    message: InboundMessage
    turn: TurnId
    ahead: int
    since: float


class WaitingLine:
    """Messages that wait, in the order in which they came."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._waiting: asyncio.Queue[Waits] = asyncio.Queue(_MOST)

    def behind(self, message: InboundMessage, turn: TurnId, ahead: int) -> None:
        """Note that *message* waits behind *ahead* others; returns at once."""
        if not self._waiting.full():
            self._waiting.put_nowait(Waits(message, turn, ahead, self._monotonic()))

    async def next(self) -> Waits:
        """Wait for the next one."""
        return await self._waiting.get()
