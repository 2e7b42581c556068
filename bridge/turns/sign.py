"""The sign that something takes longer: shown after half a second, so that quick answers cost one Slack call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from bridge import words
from bridge.blocks import kit
from bridge.blocks.markdown import neutralised
from bridge.turns.ports import Place, Say

QUICK = timedelta(seconds=0.5)
_NAME = 80


@asynccontextmanager
async def after_a_while(show: Callable[[], Awaitable[None]]) -> AsyncIterator[Sequence[object]]:
    """Call *show* once the block has taken longer than `QUICK`; yields what is empty until then.

    On the way out a *show* that has begun is waited for, so that nothing is shown after the end.
    """
    begun: list[asyncio.Future[None]] = []
    timer = asyncio.get_running_loop().call_later(  # and no task: most blocks are over before that
        QUICK.total_seconds(), lambda: begun.append(asyncio.ensure_future(show()))
    )
    try:
        yield begun
    finally:
        timer.cancel()
        if begun:
            await asyncio.wait(begun)


@asynccontextmanager
async def working(say: Say, place: Place, agent_name: str) -> AsyncIterator[None]:
    """Show in the thread that an agent works, while the block runs; the sign is always taken away."""
    name = neutralised(kit.one_line(agent_name, _NAME))  # Slack does not say whether it looks for mentions in a status
    status = words.IS_ASKING.format(agent=name) if name else words.IS_WORKING
    begun: Sequence[object] = ()
    try:
        async with after_a_while(lambda: say.working(place, status)) as begun:
            yield
    finally:
        if begun:
            await say.idle(place)
