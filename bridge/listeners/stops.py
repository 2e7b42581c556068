"""Slack's own Stop, which people see while an agent works, and the ❌ reaction on one's own message.

After a Stop the app itself has to move the status (`bridge.features.effects`).

https://docs.slack.dev/reference/events/agent_session_stopped
https://docs.slack.dev/reference/events/reaction_added
"""

from __future__ import annotations

import asyncio
import logging

from slack_bolt.async_app import AsyncApp

from bridge.errors import SlackError, StoreUnavailable
from bridge.features.conversations.stopping import Stopping
from bridge.inbound import SLACK_ITSELF, StopRequest
from bridge.listeners.door import IN_TIME, Body, NotTaken
from bridge.metrics import Metrics
from bridge.slack.api import Identity
from bridge.slack.payloads import mapping, text

log = logging.getLogger(__name__)

CROSS = "x"
"""Slack's name for ❌."""


def parse_stop(body: Body, identity: Identity) -> StopRequest | None:
    """Make a value of an ``agent_session_stopped`` event; None where it does not say what is to be stopped."""
    event = mapping(body.get("event"))
    thread_ts = text(event, "thread_ts")
    return _request(body, identity, text(event, "channel"), thread_ts=thread_ts) if _is_ts(thread_ts) else None


def parse_reaction(body: Body, identity: Identity) -> StopRequest | None:
    """Make a value of a ``reaction_added`` event; None of all but a ❌ that people put on their own message."""
    event = mapping(body.get("event"))
    item, user = mapping(event.get("item")), text(event, "user")
    is_own = text(event, "item_user") == user != identity.bot_user
    ts = text(item, "ts")
    if not (is_own and text(event, "reaction") == CROSS and _is_ts(ts)):
        return None
    return _request(body, identity, text(item, "channel"), message_ts=ts)


def _request(
    body: Body, identity: Identity, channel: str, *, thread_ts: str = "", message_ts: str = ""
) -> StopRequest | None:
    event = mapping(body.get("event"))
    user, given = text(event, "user"), text(event, "event_ts")
    if not (channel and user and _is_ts(given)) or user in SLACK_ITSELF:
        return None
    return StopRequest(
        team=identity.team,
        channel=channel,
        user=user,
        is_shared=body.get("is_ext_shared_channel") is not False,  # where Slack does not say, it may be
        given=given,
        thread_ts=thread_ts,
        message_ts=message_ts,
    )


class StopsSurface:
    """The surface of stops that are no message."""

    def __init__(self, stopping: Stopping, identity: Identity, metrics: Metrics) -> None:
        self._stopping = stopping
        self._identity = identity
        self._metrics = metrics

    def register(self, app: AsyncApp) -> None:
        """Listen to both events."""
        app.event("agent_session_stopped")(self.on_stop)
        app.event("reaction_added")(self.on_reaction)

    async def on_stop(self, body: Body) -> None:
        """Stop what is in work in a thread. Raises `NotTaken`."""
        await self._take(parse_stop(body, self._identity), body)

    async def on_reaction(self, body: Body) -> None:
        """Stop the turn of a message that its own author crosses out. Raises `NotTaken`."""
        await self._take(parse_reaction(body, self._identity), body)

    async def _take(self, request: StopRequest | None, body: Body) -> None:
        if request is None:
            self._metrics.event("stop", "ignored")
            return
        place = f"{request.channel}:{request.thread_ts}:{request.message_ts}"
        identity = text(body, "event_id") or f"stop:{place}:{request.given}"
        try:
            async with asyncio.timeout(IN_TIME.total_seconds()):
                decision = await self._stopping.stop(request, event=identity)
        except (StoreUnavailable, SlackError, TimeoutError) as exc:
            log.warning("a stop could not be taken in, slack will repeat it", extra={"why": type(exc).__name__})
            self._metrics.event(request.kind, "not taken")
            raise NotTaken from exc
        self._metrics.event(request.kind, decision)


def _is_ts(value: str) -> bool:
    seconds, dot, rest = value.partition(".")
    return bool(dot) and seconds.isdecimal() and rest.isdecimal() and value.isascii()
