"""The sign that a message waits behind another: quiet, shown once, and taken away when it is answered.

It is shown a second after the message came, if the message still waits by then, and by the process that took the
message in: nothing waits for that, neither Slack's answer nor the turn. What has the sign is noted in the turn before
it is shown, so that whoever answers takes it away. It may be answered while the sign is on its way; whoever shows it
looks once more, and whoever answers takes it away last of all: so one of the two comes after the other.

Slack allows some 50 reactions a minute in a workspace. So that each can be taken away again, a process shows at most
20; where more wait, people see that as it is.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from bridge.errors import StoreUnavailable
from bridge.features.conversations import notices
from bridge.features.conversations.waiting_line import WaitingLine, Waits
from bridge.queue.waiting_marks import Hourglasses
from bridge.slack.ports import Say, Whom

log = logging.getLogger(__name__)

PATIENCE = timedelta(seconds=1)
SHOWN_A_MINUTE = 20
_MINUTE = 60.0


class WaitingSigns:
    """Shows the signs of those in *line* by way of *say*, each after *patience*."""

    def __init__(
        self,
        line: WaitingLine,
        say: Say,
        hourglasses: Hourglasses,
        *,
        patience: timedelta = PATIENCE,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._line = line
        self._say = say
        self._hourglasses = hourglasses
        self._patience = patience.total_seconds()
        self._monotonic = monotonic
        self._sleep = sleep
        self._shown_at: deque[float] = deque(maxlen=SHOWN_A_MINUTE)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Show the signs while the block runs."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._show_them())
            try:
                yield
            finally:
                task.cancel()

    async def _show_them(self) -> None:
        while True:
            waits = await self._line.next()
            await self._sleep(max(0.0, waits.since + self._patience - self._monotonic()))
            if not self._is_used_up():
                await self._show(waits)

    def _is_used_up(self) -> bool:
        return len(self._shown_at) == SHOWN_A_MINUTE and self._monotonic() - self._shown_at[0] < _MINUTE

    async def _show(self, waits: Waits) -> None:
        message = waits.message
        try:
            if not await self._hourglasses.claim(waits.turn):
                return
            self._shown_at.append(self._monotonic())
            whom = Whom(message.channel, message.user, message.thread_ts)
            await self._say.waits(whom, message.ts, notices.in_line(waits.ahead + 1))
            if await self._hourglasses.is_over(waits.turn):
                await self._say.waits_no_more(message.channel, message.ts)
        except StoreUnavailable:
            log.debug("a sign that a message waits was left out", extra={"turn": waits.turn})
