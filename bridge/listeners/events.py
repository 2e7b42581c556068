"""Events other than messages: what features read (`Feature.event`), Slack's own Stop, and the ❌ for it.

https://docs.slack.dev/reference/events/agent_session_stopped (the app itself has to move the status afterwards)
https://docs.slack.dev/reference/events/reaction_added
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from slack_bolt.async_app import AsyncApp

from bridge.features.conversations.stopping import Stopping
from bridge.features.registry import features
from bridge.inbound import SLACK_ITSELF, StopRequest
from bridge.listeners.app import Door, NotStored, in_time
from bridge.slack.api import Identity
from bridge.slack.payloads import Json, mapping, text, timestamp

EVENTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "app_mention": ("app_mentions:read",),
        "message.channels": ("channels:history",),
        "message.groups": ("groups:history",),
        "message.im": ("im:history",),
        "message.mpim": ("mpim:history",),  # a mention may or may not bring an app_mention there
        "agent_session_stopped": ("chat:write",),
        "reaction_added": ("reactions:read",),
        "app_uninstalled": (),
        "tokens_revoked": (),
        **{name: scopes for name, (scopes, _readers) in features.events.items()},
    }
)
"""Every event that the app subscribes to, with the scopes of which Slack requires one; also those of
`messages` and `token_watch`, and those that features read. The manifest is made from it. https://docs.slack.dev/reference/events
"""

CROSS = "x"
"""Slack's name for ❌."""


@dataclass(frozen=True, slots=True)
class EventListeners:
    """Listeners for these events."""

    door: Door
    stopping: Stopping
    identity: Identity

    def register(self, app: AsyncApp) -> None:
        """Listen to them."""
        for name in features.events:
            app.event(name)(self.on_event)
        app.event("agent_session_stopped")(self.on_stop)
        app.event("reaction_added")(self.on_reaction)

    async def on_event(self, body: Json) -> None:
        """Store what features make of an event. Raises `NotStored`."""
        event = mapping(body.get("event"))
        name = text(event, "type")
        identity = text(body, "event_id") or f"{name}:{text(event, 'user')}:{text(event, 'event_ts')}"
        read = [reader(event, self.identity.team) for reader in features.events[name][1]]
        for inbound in (one for one in read if one is not None):
            with suppress(NotStored) if inbound.is_greeting else nullcontext():
                await self.door.take(inbound, identity=identity)
        if not any(read):
            self.door.metrics.event(name, "ignored")

    async def on_stop(self, body: Json) -> None:
        """Stop the running turn of a thread: Slack's own Stop. Raises `NotStored`."""
        event = mapping(body.get("event"))
        thread_ts = timestamp(event, "thread_ts")
        await self._stop(body, text(event, "channel") if thread_ts else "", thread_ts=thread_ts)

    async def on_reaction(self, body: Json) -> None:
        """Stop the turn of a message whose author adds a ❌. Raises `NotStored`."""
        event = mapping(body.get("event"))
        item, user = mapping(event.get("item")), text(event, "user")
        is_own_cross = event.get("reaction") == CROSS and event.get("item_user") == user != self.identity.bot_user
        message_ts = timestamp(item, "ts") if is_own_cross else ""
        await self._stop(body, text(item, "channel") if message_ts else "", message_ts=message_ts)

    async def _stop(self, body: Json, channel: str, *, thread_ts: str = "", message_ts: str = "") -> None:
        """Request a stop, if it's known where and by whom."""
        event = mapping(body.get("event"))
        user, given = text(event, "user"), timestamp(event, "event_ts")
        decision = "ignored"
        if channel and user and given and user not in SLACK_ITSELF:
            request = StopRequest(
                team=self.identity.team,
                channel=channel,
                user=user,
                is_shared=body.get("is_ext_shared_channel") is not False,  # if Slack doesn't say, it may be
                given=given,
                thread_ts=thread_ts,
                message_ts=message_ts,
            )
            identity = text(body, "event_id") or f"stop:{channel}:{thread_ts}:{message_ts}:{given}"
            async with in_time("stop", self.door.metrics):
                decision = await self.stopping.stop(request, event=identity)
        self.door.metrics.event("stop", decision)
