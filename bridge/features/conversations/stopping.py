"""Stops that aren't messages: Slack's Stop button, and a ❌ that people put on their own message.

The turn is marked as stopped here, bypassing every queue, before Slack's event is acknowledged. A separate turn repeats
the stop and reports its result, so a crash in between, or a retry by Slack, changes nothing (`bridge.queue.stops`).
`!stop` works the same way (`receive`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bridge.ends.failures import failure
from bridge.engine.finished_turns import action_name
from bridge.engine.results import Outcome, shown
from bridge.engine.turn import Turn
from bridge.errors import NotAllowed
from bridge.features.conversations import stops
from bridge.features.deps import Deps
from bridge.ids import MessageKey, ThreadKey, thread_lane
from bridge.inbound import Notice, StopRequest
from bridge.policy.policy import Policy
from bridge.queue.inbox import Inbox
from bridge.queue.put import Queued
from bridge.queue.stops import StopResult
from bridge.slack.parts import Place

StopDecision = Literal["queued", "duplicate", "refused", "ignored"]


@dataclass(frozen=True, slots=True)
class Stopping:
    """Stops running turns. May raise `StoreUnavailable` and `SlackError`; Slack then retries the event."""

    inbox: Inbox
    policy: Policy

    async def stop(self, request: StopRequest, *, event: str) -> StopDecision:
        """Stop what *request* names, a thread or one message; it may be repeated."""
        refusal, lane = await self.policy.refusal(request), thread_lane(request.thread)
        if request.message_ts:  # most messages that people react to with a ❌ aren't for the bridge, and are ignored
            if refusal is not None:
                return "ignored"
            only = MessageKey(request.team, request.channel, request.message_ts)
            stopped = await self.inbox.stops.stop(lane, request.given, only=only)
            if stopped.result in {StopResult.NOTHING, StopResult.LATE} or stopped.thread is None:
                return "ignored"
            put = await self.inbox.put(request.model_copy(update={"thread_ts": stopped.thread.root}), event=event)
            return "queued" if isinstance(put, Queued) else "duplicate"
        if refusal is not None:
            reply = failure(NotAllowed(refusal)).stored()
            notice = Notice.about(request, refusal, reply, of=action_name(request, {}))
            await self.inbox.put(notice, event=event)
            return "refused"
        put = await self.inbox.put(request, event=event)
        if not isinstance(put, Queued):
            return "duplicate"
        await self.inbox.stops.stop(lane, request.given, by=put.turn)
        return "queued"


async def stopped(deps: Deps, turn: Turn, thread: ThreadKey, at: str, *, only: str = "") -> Outcome:
    """Repeat a stop made on arrival, to learn its result; the working indicator is cleared in any case.

    *at* is its time as a Slack ts: later turns aren't stopped. *only* is the ``ts`` of the one message to stop.
    """
    message = MessageKey(thread.team, thread.channel, only) if only else None
    stop = await deps.inbox.stops.stop(thread_lane(thread), at, by=turn.id, only=message)
    await deps.indicators.clear_working(Place(thread.channel, thread.root))
    return shown(stops.stop_shown(stop.result, stop.turn, stop.waiting), f"stop: {stop.result}")
