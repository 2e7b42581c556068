"""`EmulatedSlack`: a whole workspace on a real socket, and what people do in it."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Final, Self

from bridge.playground.slack import payloads, sample
from bridge.playground.slack.deliver import ACK_SECONDS, RETRY_DELAYS, Deliverer, Delivery
from bridge.playground.slack.entities import Json, Message
from bridge.playground.slack.hands import Hands
from bridge.playground.slack.over_http import OverHttp
from bridge.playground.slack.over_sockets import OverSockets
from bridge.playground.slack.rates import Rates
from bridge.playground.slack.richtext import rich_text
from bridge.playground.slack.server import Door
from bridge.playground.slack.sockets import Sockets
from bridge.playground.slack.tickets import Tickets
from bridge.playground.slack.web_api.method import Deleted, Edited, Happening, Posted
from bridge.playground.slack.workspace import Workspace
from bridge.playground.websocket import MutableWebSocket
from bridge.playground.wire import Background, LocalServer

PING_SECONDS: Final = 5.0


def random_id(prefix: str) -> str:
    """An id of the shape that Slack's have, which no other process makes."""
    return prefix + secrets.token_hex(8).upper()


class EmulatedSlack(Hands):
    """A Slack workspace that is reached over HTTP and WebSockets only.

    *events_url* is where the app listens; it may be set later. *clock* gives Unix seconds and decides about
    message times, expiry and rate limits; *retry_delays* are the seconds before each retry of an event, and
    *ack_seconds* how long the app has to answer. With an *app_token* the app can open sockets, which are pinged every
    *ping_seconds*; once `use_sockets` is set everything goes by them, and *events_url* is not needed.

    What may be changed at any time: `use_sockets`, `twins` (which events a mention causes, in which order), `twin_gap`
    (seconds between them), `echoes_own` (whether the app hears of its own messages), `faults`, `scopes`, `page_limit`.
    """

    def __init__(
        self,
        *,
        signing_secret: str,
        bot_token: str,
        app_token: str = "",
        events_url: str = "",
        port: int = 0,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[str], str] = random_id,
        retry_delays: Sequence[float] = RETRY_DELAYS,
        ack_seconds: float = ACK_SECONDS,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        self.twins: tuple[str, ...] = ("app_mention", "message")
        self.twin_gap = 0.0
        self.echoes_own = True
        self._background = Background()
        self._http = OverHttp(url=events_url, signing_secret=signing_secret, ack_seconds=ack_seconds)
        workspace = Workspace(clock=clock, new_id=new_id)
        tickets = Tickets(clock=clock, new_id=new_id)
        sockets = Sockets(tickets)
        deliverer = Deliverer(
            http=self._http,
            sockets=OverSockets(sockets, ack_seconds=ack_seconds, new_id=new_id),
            clock=clock,
            background=self._background,
            retry_delays=retry_delays,
        )
        door = Door(workspace, tickets, Rates(clock=clock), bot_token, self._react, app_token=app_token)
        app = door.app(sockets.route())
        self._server = LocalServer(app, port=port, sockets=MutableWebSocket, ping_seconds=ping_seconds)
        door.open_at(self._server)
        sockets.open_at(self._server)
        super().__init__(workspace, tickets, deliverer, door, sockets=sockets, server=self._server)

    async def __aenter__(self) -> Self:
        await self._http.open()
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._background.close()
        finally:
            await self._http.close()
            await self._server.stop()
            await self._sockets.close()

    async def stop(self) -> None:
        """Be unreachable: the socket is closed, connections break. What is in the workspace stays."""
        await self._server.stop()

    async def start(self) -> None:
        """Be reachable again, at the same address."""
        await self._server.start()

    @property
    def url(self) -> str:
        """The server's address."""
        return self._server.url

    @property
    def api_url(self) -> str:
        """What ``SLACK_API_URL`` is set to."""
        return f"{self._server.url}/api/"

    @property
    def events_url(self) -> str:
        """Where the app listens."""
        return self._http.url

    @events_url.setter
    def events_url(self, url: str) -> None:
        self._http.url = url

    # What people do

    async def say(
        self,
        user: str,
        channel: str,
        text: str,
        *,
        thread_ts: str | None = None,
        broadcast: bool = False,
        files: Sequence[Json] = (),
        wait: bool = True,
    ) -> str:
        """Let *user* write *text*, with Slack's escapes as the event has them; gives the message's ts.

        With *wait* the first try of each delivery has ended by then, one way or the other.
        """
        self._require_member(user, channel)
        if thread_ts:
            self._existing(channel, thread_ts)
        subtype = "thread_broadcast" if broadcast and thread_ts else "file_share" if files else ""
        message = self.workspace.post(
            user,
            channel,
            text,
            thread_ts=thread_ts or "",
            subtype=subtype,
            files=list(files),
            client_msg_id=secrets.token_hex(16),
        )
        sent = self._background.start(self._announce(message))
        if wait:
            await sent
        return message.ts

    async def edit(self, channel: str, ts: str, text: str) -> None:
        """Let the author change a message."""
        message = self._existing(channel, ts)
        blocks = rich_text(text, block_id=self.workspace.new_id("b"))
        before = self.workspace.edit(message, message.user, {"text": text, "blocks": blocks})
        await self._heard([self._changed(Edited(message, before))])

    async def delete(self, channel: str, ts: str) -> None:
        """Let the author delete a message."""
        message = self._existing(channel, ts)
        before = message.as_json()
        self.workspace.delete(message)
        await self._heard([self._changed(Deleted(message, before))])

    async def press_stop(self, user: str, channel: str, thread_ts: str) -> None:
        """Let *user* stop the agent in a thread."""
        event = payloads.session_stopped(channel, user, thread_ts, self.workspace.new_ts())
        await self.send_event(event, channel)

    async def open_home(self, user: str) -> None:
        """Let *user* look at the app's Home tab."""
        channel = self.workspace.direct_message(user).id
        event = {"type": "app_home_opened", "user": user, "channel": channel, "tab": "home"}
        await self.send_event(event | {"event_ts": self.workspace.new_ts()})

    async def join(self, user: str, channel: str) -> None:
        """Let *user*, who may be the bot, join a channel."""
        self.workspace.channels[channel].members.append(user)
        text = f"<@{user}> has joined the channel"
        message = self.workspace.post(user, channel, text, subtype="channel_join")
        await self._announce(message)

    async def send_event(self, event: Json, channel: str = "", *, event_id: str = "") -> None:
        """Deliver any event; with an *event_id* that was there before, one that Slack sends once more."""
        await self._heard([self._send(event, channel, event_id)])

    async def verify_url(self) -> Delivery:
        """Ask what Slack asks when the request URL is set."""
        return await self._deliverer.verification(payloads.url_verification(secrets.token_hex(8)))

    async def settled(self, timeout: float = 10.0) -> None:  # noqa: ASYNC109 - a test's own deadline
        """Wait until every event was taken or given up."""
        async with asyncio.timeout(timeout):
            await self._background.idle()

    # Events

    async def _announce(self, message: Message) -> None:
        """Send the events of a new message: what a mention causes comes as twins."""
        author = self.workspace.people[message.user]
        channel = self.workspace.channels[message.channel]
        if self.workspace.bot.id not in channel.members:
            return
        is_mention = f"<@{sample.BRIDGE}>" in message.text and not channel.is_im and not author.is_bot
        tried: list[asyncio.Event] = []
        for kind in self.twins if is_mention else ("message",):
            if tried and self.twin_gap:
                await asyncio.sleep(self.twin_gap)
            make = payloads.mention_event if kind == "app_mention" else payloads.message_event
            tried.append(self._send(make(message, channel, author), channel.id))
        await self._heard(tried)

    def _react(self, happening: Happening) -> None:
        """Tell the app of what it did itself, as Slack does."""
        if not self.echoes_own:
            return
        if isinstance(happening, Posted):
            self._background.start(self._announce(happening.message))
        elif self.workspace.bot.id in self.workspace.channels[happening.message.channel].members:
            self._changed(happening)

    def _changed(self, happening: Edited | Deleted) -> asyncio.Event:
        message = happening.message
        channel = self.workspace.channels[message.channel]
        make = payloads.changed_event if isinstance(happening, Edited) else payloads.deleted_event
        return self._send(make(message, happening.before, channel, self.workspace.new_ts()), channel.id)

    def _send(self, event: Json, channel: str, event_id: str = "") -> asyncio.Event:
        made = payloads.envelope(
            event,
            event_id=event_id or self.workspace.new_id("Ev"),
            now=self.workspace.clock(),
            channel=self.workspace.channels.get(channel),
        )
        return self._deliverer.event(made)

    async def _heard(self, tried: Sequence[asyncio.Event]) -> None:
        for one in tried:
            await one.wait()

    def _existing(self, channel: str, ts: str) -> Message:
        message = self.workspace.find(channel, ts)
        if message is None:
            raise LookupError(ts)
        return message

    def _require_member(self, user: str, channel: str) -> None:
        if user not in self.workspace.channels[channel].members:
            raise ValueError(f"{user} is not in {channel}")
