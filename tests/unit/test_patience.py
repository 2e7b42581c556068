"""Ends of background tasks."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from bridge.queue.patience import cancel_all


async def test_a_swallowed_cancellation_is_repeated() -> None:
    """As `asyncio.wait_for` swallows one that comes along with its result, up to Python 3.11."""

    async def goes_on_once() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    tasks = [asyncio.create_task(goes_on_once()), asyncio.create_task(asyncio.Event().wait())]
    await asyncio.sleep(0)

    await cancel_all(tasks, again=0.01)

    assert all(task.cancelled() for task in tasks)


async def test_tasks_that_have_ended_are_no_wait() -> None:
    done = asyncio.create_task(asyncio.sleep(0))
    await done

    await cancel_all([done])
    await cancel_all([])

    assert not done.cancelled()
