"""Slack's own Stop, which people see while an agent works, and the ❌ reaction on one's own message.

After a Stop the app itself has to move the status (`bridge.turns.effects`).

https://docs.slack.dev/reference/events/agent_session_stopped
https://docs.slack.dev/reference/events/reaction_added
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from slack_bolt.async_app import AsyncApp

from bridge.blocks.stops import STOP
from bridge.chats.stopping import Decision, Stopping
from bridge.errors import SlackError, StoreUnavailable
from bridge.inbound import SLACK_ITSELF, Click
from bridge.metrics import Metrics
from bridge.slack.door import IN_TIME, Body, NotTaken
from bridge.slack.payloads import mapping, text
from bridge.slack.web import Identity

log = logging.getLogger(__name__)

CROSS = "x"
"""Slack's name for ❌."""


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
        event = mapping(body.get("event"))
        thread_ts, given = text(event, "thread_ts"), text(event, "event_ts")
        click = self._click(body, text(event, "channel"), given, thread_ts=thread_ts)
        if not (click.channel and click.user and _is_ts(thread_ts) and _is_ts(given)):
            self._metrics.event("agent_session_stopped", "ignored")
            return
        identity = text(body, "event_id") or f"stop:{click.channel}:{thread_ts}:{given}"
        await self._take("agent_session_stopped", click, lambda: self._stopping.thread(click, event=identity))

    async def on_reaction(self, body: Body) -> None:
        """Stop the turn of a message that its own author crosses out. Raises `NotTaken`."""
        event = mapping(body.get("event"))
        item, given = mapping(event.get("item")), text(event, "event_ts")
        ts = text(item, "ts")
        click = self._click(body, text(item, "channel"), given, message_ts=ts)
        is_ours = text(event, "reaction") == CROSS and text(event, "item_user") == click.user != self._identity.bot_user
        if not (is_ours and click.user and click.channel and _is_ts(ts) and _is_ts(given)):
            self._metrics.event("reaction_added", "ignored")
            return
        identity = text(body, "event_id") or f"cross:{click.channel}:{ts}:{given}"
        await self._take("reaction_added", click, lambda: self._stopping.message(click, event=identity))

    def _click(self, body: Body, channel: str, given: str, *, thread_ts: str = "", message_ts: str = "") -> Click:
        return Click(
            team=self._identity.team,
            channel=channel,
            user=text(mapping(body.get("event")), "user"),
            is_shared=body.get("is_ext_shared_channel") is not False,  # where Slack does not say, it may be
            action_id=STOP,
            value=given,
            thread_ts=thread_ts,
            message_ts=message_ts,
        )

    async def _take(self, kind: str, click: Click, stop: Callable[[], Awaitable[Decision]]) -> None:
        if click.user in SLACK_ITSELF:
            self._metrics.event(kind, "ignored")
            return
        try:
            async with asyncio.timeout(IN_TIME.total_seconds()):
                decision = await stop()
        except (StoreUnavailable, SlackError, TimeoutError) as exc:
            log.warning("a stop could not be taken in, slack will repeat it", extra={"why": type(exc).__name__})
            self._metrics.event(kind, "not taken")
            raise NotTaken from exc
        self._metrics.event(kind, decision)


def _is_ts(value: str) -> bool:
    seconds, dot, rest = value.partition(".")
    return bool(dot) and seconds.isdecimal() and rest.isdecimal() and value.isascii()
