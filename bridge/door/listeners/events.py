"""Events other than messages: those that features read (`Feature.event`), and stops (Slack's Stop button, and ❌).

https://docs.slack.dev/reference/events/agent_session_stopped (the app itself has to move the status afterwards)
https://docs.slack.dev/reference/events/reaction_added
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Protocol

from slack_bolt.async_app import AsyncApp

from bridge.door.listeners.app import Intake, NotStored, in_time
from bridge.features.registry import features
from bridge.inbound import SLACK_ITSELF, StopRequest
from bridge.json_reader import Json
from bridge.slack.api import Identity
from bridge.slack.payloads import mapping, text, timestamp

CROSS = "x"
"""Slack's name for ❌."""


class Stop(Protocol):
    """Stops a turn, and returns the decision. May raise `StoreUnavailable` and `SlackError`."""

    async def __call__(self, request: StopRequest, *, event: str) -> str:
        """Stop what *request* names; it may be repeated."""
        ...


@dataclass(frozen=True, slots=True)
class EventListeners:
    """Listeners for events that features read, and for stops: *stop* stops what a request names, once per *event*."""

    intake: Intake
    stop: Stop
    identity: Identity

    def register(self, app: AsyncApp) -> None:
        """Add the listeners to *app*."""
        for name in features.events:
            app.event(name)(self.on_event)
        app.event("agent_session_stopped")(self.on_stop)
        app.event("reaction_added")(self.on_reaction)

    async def on_event(self, body: Json) -> None:
        """Store the inputs that features read from an event. Raises `NotStored`."""
        event = mapping(body.get("event"))
        name = text(event, "type")
        identity = text(body, "event_id") or f"{name}:{text(event, 'user')}:{text(event, 'event_ts')}"
        read = [reader(event, self.identity.team) for reader in features.events[name][1]]
        for inbound in (inbound for inbound in read if inbound is not None):
            with suppress(NotStored) if inbound.is_greeting else nullcontext():
                await self.intake.accept(inbound, identity=identity)
        if not any(read):
            self.intake.metrics.event(name, "ignored")

    async def on_stop(self, body: Json) -> None:
        """Stop the running turn of a thread, after a click on Slack's Stop button. Raises `NotStored`."""
        event = mapping(body.get("event"))
        thread_ts = timestamp(event, "thread_ts")
        await self._stop(body, text(event, "channel") if thread_ts else "", thread_ts=thread_ts)

    async def on_reaction(self, body: Json) -> None:
        """Stop the turn of a message to which its author adds a ❌. Raises `NotStored`."""
        event = mapping(body.get("event"))
        item, user = mapping(event.get("item")), text(event, "user")
        is_own_cross = event.get("reaction") == CROSS and event.get("item_user") == user != self.identity.bot_user
        message_ts = timestamp(item, "ts") if is_own_cross else ""
        await self._stop(body, text(item, "channel") if message_ts else "", message_ts=message_ts)

    async def _stop(self, body: Json, channel: str, *, thread_ts: str = "", message_ts: str = "") -> None:
        """Request a stop, if its place, person and time are known."""
        event = mapping(body.get("event"))
        user, event_ts = text(event, "user"), timestamp(event, "event_ts")
        decision = "ignored"
        if channel and user and event_ts and user not in SLACK_ITSELF:
            request = StopRequest(
                team=self.identity.team,
                channel=channel,
                user=user,
                is_shared=body.get("is_ext_shared_channel") is not False,  # if Slack doesn't say, it may be
                given=event_ts,
                thread_ts=thread_ts,
                message_ts=message_ts,
            )
            identity = text(body, "event_id") or f"stop:{channel}:{thread_ts}:{message_ts}:{event_ts}"
            async with in_time("stop", self.intake.metrics):
                decision = await self.stop(request, event=identity)
        self.intake.metrics.event("stop", decision)
