"""Posts scheduled messages: https://docs.slack.dev/reference/methods/chat.scheduleMessage."""

from __future__ import annotations

import asyncio

from bridge.playground.emulator.changes import Change
from bridge.playground.emulator.entities import Scheduled
from bridge.playground.emulator.events import Events
from bridge.playground.emulator.workspace import Workspace
from bridge.playground.local_server import Background


class ScheduledPosts:
    """Waits for each scheduled message; overdue ones are posted at once."""

    def __init__(self, workspace: Workspace, events: Events) -> None:
        self._workspace = workspace
        self._events = events
        self._waiting = Background()

    def open(self) -> None:
        """Wait for scheduled messages, present and future."""
        for scheduled in self._workspace.scheduled.values():
            self._waiting.start(self._post_in_time(scheduled))
        self._workspace.subscribe(self._notice)

    async def close(self) -> None:
        """Stop waiting."""
        await self._waiting.close()

    def _notice(self, change: Change) -> None:
        if change.kind == "scheduled" and not change.is_gone:
            self._waiting.start(self._post_in_time(self._workspace.scheduled[change.id]))

    async def _post_in_time(self, scheduled: Scheduled) -> None:
        await asyncio.sleep(max(0.0, scheduled.post_at - self._workspace.clock()))
        workspace = self._workspace
        if scheduled.id not in workspace.scheduled:
            return  # deleted
        with workspace.together():
            workspace.scheduled.drop(scheduled.id)
            bot, thread_ts = workspace.bot.id, scheduled.thread_ts
            message = workspace.messages.post(bot, scheduled.channel, thread_ts=thread_ts, **scheduled.content)
            self._events.posted(message)
