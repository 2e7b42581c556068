"""Stops that come other than as a message: Slack's own Stop, and a ❌ that people put on their own message.

One control path, past every queue: the mark is made here, before Slack is told that the event was taken, and a turn of
its own says what came of it. That turn gives the same stop again, so that a process that ends in between, or an event
that Slack repeats, changes nothing (`bridge.store.stops`). `!stop` takes the same path (`bridge.chats.receive`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bridge.chats.access import Access
from bridge.ids import MessageKey, ThreadKey, thread_lane
from bridge.inbound import Click, Notice
from bridge.store.audit import deed
from bridge.store.inbox import Inbox, Queued
from bridge.store.stops import Met

Decision = Literal["queued", "duplicate", "refused", "ignored"]


@dataclass(frozen=True, slots=True)
class Stopping:
    """Stops what is in work. Every method may raise `StoreUnavailable` and `SlackError`: Slack shall send it again."""

    inbox: Inbox
    access: Access

    async def thread(self, click: Click, *, event: str) -> Decision:
        """Stop what is in work in the thread that *click* names; its value is when that was asked for."""
        refusal = await self.access.refusal(click)
        if refusal is not None:
            return await self._refuse(click, refusal, event)
        put = await self.inbox.put(click, event=event)
        if not isinstance(put, Queued):
            return "duplicate"
        lane = thread_lane(ThreadKey(click.team, click.channel, click.thread_ts))
        await self.inbox.stops.stop(lane, click.value, by=put.turn)
        return "queued"

    async def message(self, click: Click, *, event: str) -> Decision:
        """Stop the turn of the person's own message that *click* names, if it is one; it may be repeated.

        Most messages that somebody crosses out are none of ours, and nothing is said about them.
        """
        if await self.access.refusal(click) is not None:
            return "ignored"
        only = MessageKey(click.team, click.channel, click.message_ts)
        stopped = await self.inbox.stops.stop(thread_lane(ThreadKey(*only)), click.value, only=only)
        if stopped.met in {Met.NOTHING, Met.LATE} or stopped.thread is None:
            return "ignored"
        put = await self.inbox.put(click.model_copy(update={"thread_ts": stopped.thread.root}), event=event)
        return "queued" if isinstance(put, Queued) else "duplicate"

    async def _refuse(self, click: Click, refusal: str, event: str) -> Decision:
        notice = Notice(
            team=click.team,
            channel=click.channel,
            user=click.user,
            what=refusal,
            of=deed(click),
            thread_ts=click.thread_ts,
        )
        await self.inbox.put(notice, event=event)
        return "refused"
