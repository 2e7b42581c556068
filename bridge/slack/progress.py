"""The sign that something takes longer: shown after half a second, so that quick answers cost one Slack call.

Slack clears a status by itself after some two minutes, so one that stays is shown again before.
https://docs.slack.dev/reference/methods/assistant.threads.setStatus
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from bridge.slack.blockkit import kit
from bridge.slack.blockkit.markdown import neutralised
from bridge.slack.ports import Place, Say

QUICK = timedelta(seconds=0.5)
RENEW = timedelta(seconds=90)
_NAME = 80


@asynccontextmanager
async def after_a_while(
    show: Callable[[], Awaitable[None]], *, again: timedelta | None = None
) -> AsyncIterator[Sequence[object]]:
    """Call *show* once the block has taken longer than `QUICK`; yields what is empty until then.

    It is called *again* and again after that, where so is said. On the way out a *show* that has begun is waited for,
    so that nothing is shown after the end.
    """
    begun: list[asyncio.Future[None]] = []
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle

    def begin() -> None:
        nonlocal timer
        begun.append(asyncio.ensure_future(show()))
        if again is not None:
            timer = loop.call_later(again.total_seconds(), begin)

    timer = loop.call_later(QUICK.total_seconds(), begin)  # and no task: most blocks are over before that
    try:
        yield begun
    finally:
        timer.cancel()
        if begun:
            await asyncio.wait(begun)


@asynccontextmanager
async def working(say: Say, place: Place, agent_name: str, *, renew: timedelta = RENEW) -> AsyncIterator[None]:
    """Show in the thread that an agent works, for as long as the block runs; the sign is always taken away."""
    name = neutralised(kit.one_line(agent_name, _NAME))  # Slack does not say whether it looks for mentions in a status
    status = f"is asking {name}…" if name else "is working on it…"
    begun: Sequence[object] = ()
    try:
        async with after_a_while(lambda: say.working(place, status), again=renew) as begun:
            yield
    finally:
        if begun:
            await say.idle(place)
