"""The sign that something takes longer: shown after half a second, so that quick answers cost one Slack call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from bridge import words
from bridge.blocks import kit
from bridge.blocks.markdown import neutralised
from bridge.turns.ports import Place, Say

QUICK = timedelta(seconds=0.5)
_NAME = 80


@asynccontextmanager
async def after_a_while(show: Callable[[], Awaitable[None]]) -> AsyncIterator[asyncio.Event]:
    """Call *show* once the block has taken longer than `QUICK`; yields an event that is set from then on.

    On the way out a *show* that has begun is waited for, so that nothing is shown after the end.
    """
    began, tasks = asyncio.Event(), set[asyncio.Task[None]]()

    def begin() -> None:
        began.set()
        tasks.add(asyncio.ensure_future(show()))

    timer = asyncio.get_running_loop().call_later(QUICK.total_seconds(), begin)  # most blocks are over before that
    try:
        yield began
    finally:
        timer.cancel()
        if tasks:
            await asyncio.wait(tasks)


@asynccontextmanager
async def working(say: Say, place: Place, agent_name: str) -> AsyncIterator[None]:
    """Show in the thread that an agent works, while the block runs; the sign is always taken away."""
    name = neutralised(kit.one_line(agent_name, _NAME))  # Slack does not say whether it looks for mentions in a status
    status = words.IS_ASKING.format(agent=name) if name else words.IS_WORKING
    began: asyncio.Event | None = None
    try:
        async with after_a_while(lambda: say.working(place, status)) as began:
            yield
    finally:
        if began is not None and began.is_set():
            await say.idle(place)
