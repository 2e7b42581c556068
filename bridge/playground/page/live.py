"""Notifies browser windows of changes: a count of changes, and a stream of server-sent events for each browser."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Hashable
from typing import Final

from bridge.playground.emulator.workspace import Workspace

BATCH_SECONDS: Final = 0.05  # seconds within which changes are announced once
POLL_SECONDS: Final = 1.0  # seconds between polls of what doesn't announce its changes
KEEP_ALIVE_POLLS: Final = 15  # polls without a change before the stream sends a keep-alive


class Live:
    """Counts changes. *elsewhere* returns what else the page shows, to compare with the last poll."""

    def __init__(
        self, workspace: Workspace, elsewhere: Callable[[], Hashable], *, poll_seconds: float = POLL_SECONDS
    ) -> None:
        self.version = 0
        self._workspace = workspace
        self._elsewhere = elsewhere
        self._poll_seconds = poll_seconds
        workspace.subscribe(self._count)

    def _count(self) -> None:
        self.version += 1

    async def events(self) -> AsyncIterator[str]:
        """Server-sent events for all windows of a browser; the first at once."""
        heard = asyncio.Event()
        leave = self._workspace.subscribe(heard.set)
        try:
            before, quiet = self._elsewhere(), 0
            yield self._changed()
            while True:
                is_announced = await self._announced_before_poll(heard)
                now = self._elsewhere()
                if is_announced or now != before:
                    before, quiet = now, 0
                    heard.clear()
                    yield self._changed()
                else:
                    quiet += 1
                    if quiet % KEEP_ALIVE_POLLS == 0:
                        yield ": still here\n\n"
        finally:
            leave()

    async def _announced_before_poll(self, heard: asyncio.Event) -> bool:
        """Wait for a change, and briefly for those that come with it."""
        try:
            async with asyncio.timeout(self._poll_seconds):
                await heard.wait()
        except TimeoutError:
            return False
        await asyncio.sleep(BATCH_SECONDS)
        return True

    def _changed(self) -> str:
        return f"event: changed\ndata: {json.dumps({'version': self.version})}\n\n"
