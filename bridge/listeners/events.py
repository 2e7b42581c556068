"""Events other than messages: an opened tab, Slack's own Stop, and the ❌ reaction that stops an agent.

https://docs.slack.dev/reference/events/app_home_opened
https://docs.slack.dev/reference/events/agent_session_stopped (the app itself has to move the status afterwards)
https://docs.slack.dev/reference/events/reaction_added
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from slack_bolt.async_app import AsyncApp

from bridge.features.conversations.stopping import Stopping
from bridge.inbound import SLACK_ITSELF, HomeOpened, MessagesTabOpened, StopRequest
from bridge.listeners.app import Door, NotTaken, in_time
from bridge.slack.api import Identity
from bridge.slack.payloads import Json, mapping, text, timestamp

EVENTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "app_mention": "app_mentions:read",
        "message.channels": "channels:history",
        "message.groups": "groups:history",
        "message.im": "im:history",
        "message.mpim": "mpim:history",  # whether a mention brings an app_mention there, too, differs
        "app_home_opened": "",
        "agent_session_stopped": "chat:write",
        "reaction_added": "reactions:read",
        "app_uninstalled": "",
        "tokens_revoked": "",
    }
)
"""Every event that the app subscribes to, with the scope that Slack requires for it, or none; also those of
`messages` and `token_watch`. The manifest is made from it. https://docs.slack.dev/reference/events
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
        app.event("app_home_opened")(self.on_opened)
        app.event("agent_session_stopped")(self.on_stop)
        app.event("reaction_added")(self.on_reaction)

    async def on_opened(self, body: Json) -> None:
        """Store that somebody opened a tab. Raises `NotTaken`."""
        event, event_id = mapping(body.get("event")), text(body, "event_id")
        team, channel, user = self.identity.team, text(event, "channel"), text(event, "user")
        match event.get("tab"):
            case "home":
                # Slack doesn't say which workspace the person is from, and Home shows the project's contents: until
                # they are looked up, they count as somebody of another workspace.
                view_hash = text(mapping(event.get("view")), "hash")
                home = HomeOpened(team=team, channel=channel, user=user, is_shared=True, view_hash=view_hash)
                await self.door.take(home, identity=event_id)
            case "messages" if channel and user:
                identity = event_id or f"opened:{user}:{text(event, 'event_ts')}"
                with suppress(NotTaken):  # a greeting isn't worth a retry
                    await self.door.take(MessagesTabOpened(team=team, channel=channel, user=user), identity=identity)
            case _:
                self.door.metrics.event("home", "ignored")

    async def on_stop(self, body: Json) -> None:
        """Stop the running turn of a thread: Slack's own Stop. Raises `NotTaken`."""
        event = mapping(body.get("event"))
        thread_ts = timestamp(event, "thread_ts")
        await self._stop(body, text(event, "channel") if thread_ts else "", thread_ts=thread_ts)

    async def on_reaction(self, body: Json) -> None:
        """Stop the turn of a message on which its author puts a ❌. Raises `NotTaken`."""
        event = mapping(body.get("event"))
        item, user = mapping(event.get("item")), text(event, "user")
        is_own_cross = event.get("reaction") == CROSS and event.get("item_user") == user != self.identity.bot_user
        message_ts = timestamp(item, "ts") if is_own_cross else ""
        await self._stop(body, text(item, "channel") if message_ts else "", message_ts=message_ts)

    async def _stop(self, body: Json, channel: str, *, thread_ts: str = "", message_ts: str = "") -> None:
        """Request a stop, if it is known where and by whom."""
        event = mapping(body.get("event"))
        user, given = text(event, "user"), timestamp(event, "event_ts")
        decision = "ignored"
        if channel and user and given and user not in SLACK_ITSELF:
            request = StopRequest(
                team=self.identity.team,
                channel=channel,
                user=user,
                is_shared=body.get("is_ext_shared_channel") is not False,  # where Slack does not say, it may be
                given=given,
                thread_ts=thread_ts,
                message_ts=message_ts,
            )
            identity = text(body, "event_id") or f"stop:{channel}:{thread_ts}:{message_ts}:{given}"
            async with in_time("stop", self.door.metrics):
                decision = await self.stopping.stop(request, event=identity)
        self.door.metrics.event("stop", decision)
