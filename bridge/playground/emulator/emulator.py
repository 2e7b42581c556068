"""`EmulatedSlack`: a whole workspace on a real socket, and what people do in it."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Final, Self

from starlette.routing import BaseRoute

from bridge.playground.emulator.app_pages import AppPages
from bridge.playground.emulator.clock import SlackClock
from bridge.playground.emulator.deliver import ACK_SECONDS, RETRY_DELAYS, AppDelivery, Deliverer
from bridge.playground.emulator.entities import File, Json, Message, View
from bridge.playground.emulator.events import Events
from bridge.playground.emulator.faults import Faults
from bridge.playground.emulator.keeping import NoStorage, SqliteStorage
from bridge.playground.emulator.manifests import Installation
from bridge.playground.emulator.over_http import OverHttp
from bridge.playground.emulator.over_sockets import OverSockets
from bridge.playground.emulator.people import People
from bridge.playground.emulator.rates import Rates
from bridge.playground.emulator.responses import Response
from bridge.playground.emulator.schedule import ScheduledPosts
from bridge.playground.emulator.server import ALL_SCOPES, ApiCall, ApiServer
from bridge.playground.emulator.sessions import StatusChange
from bridge.playground.emulator.socket_mode import SocketMode
from bridge.playground.emulator.sockets import Connection, SocketConnections
from bridge.playground.emulator.tickets import Tickets
from bridge.playground.emulator.ui import UserInterface
from bridge.playground.emulator.workspace import Workspace
from bridge.playground.websocket import MutableWebSocket
from bridge.playground.wire import Background, LocalServer

PING_SECONDS: Final = 5.0


def random_id(prefix: str) -> str:
    """An id of the shape that Slack's have, which no other process makes."""
    return prefix + secrets.token_hex(8).upper()


class EmulatedSlack:
    """A Slack workspace that is reached over HTTP and WebSockets only.

    *events_url* is where the app listens; it may be set later. *clock* gives Unix seconds and decides about message
    times, expiry and rate limits, and can be moved on by `clock`; *retry_delays* are the seconds before each retry of
    an event (with *holds_retries* also until somebody listens, which Slack does not wait for), and *ack_seconds* how
    long the app has to answer. With a *config_token* its manifest can be validated, with an *app_token* it can open
    sockets, which are pinged every *ping_seconds*; once `use_sockets` is set everything goes by them, and *events_url*
    is not needed. With *kept_in*, a folder, the workspace outlives its process, killed or not: what is there is found
    again, and events that the app had not taken are sent as retries as soon as it is there.

    Until `install` is called the app has every scope, hears of all but removed reactions, and has any command.

    What people say and do is in *people*, what they do with commands, buttons and forms in *ui*; *socket_mode* troubles
    the app's sockets. What may be changed at any time: `use_sockets`, what *events* says of twins and echoes, `faults`,
    `rates`, `scopes`, `page_limit`, `unsubscribed` (names of events that the app did not ask for), `nobody_listens`,
    `limits_history`, `transcribes_in` (seconds until the transcript of a voice clip is there, where it takes a while).
    """

    def __init__(
        self,
        *,
        signing_secret: str,
        bot_token: str,
        app_token: str = "",
        config_token: str = "",
        events_url: str = "",
        port: int = 0,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[str], str] = random_id,
        retry_delays: Sequence[float] = RETRY_DELAYS,
        holds_retries: bool = False,
        ack_seconds: float = ACK_SECONDS,
        ping_seconds: float = PING_SECONDS,
        kept_in: Path | None = None,
    ) -> None:
        self._background = Background()
        self._storage = storage = SqliteStorage(kept_in) if kept_in else NoStorage()
        self.clock = clock = SlackClock(clock)
        self.transcribes_in = 10.0
        self._http = OverHttp(url=events_url, signing_secret=signing_secret, ack_seconds=ack_seconds)
        workspace = Workspace(clock=clock, new_id=new_id, storage=storage)
        tickets = Tickets(clock=clock, new_id=new_id, storage=storage)
        sockets = SocketConnections(tickets)
        deliverer = Deliverer(
            http=self._http,
            sockets=OverSockets(sockets, ack_seconds=ack_seconds, new_id=new_id),
            clock=clock,
            background=self._background,
            retry_delays=retry_delays,
            holds_retries=holds_retries,
            storage=storage,
        )
        self._installation = installation = Installation(set(ALL_SCOPES))
        events = Events(workspace, deliverer, installation)
        self._schedule = ScheduledPosts(workspace, events)
        rates = Rates(clock=clock)
        api = ApiServer(
            workspace, tickets, rates, bot_token, events.own, app_token=app_token, config_token=config_token
        )
        api.installation = installation
        credentials = {"Bot token": bot_token, "App token": app_token, "Signing secret": signing_secret}
        self._app = api.app(sockets.route(), *AppPages(self.install, credentials).routes())
        self._server = LocalServer(self._app, port=port, sockets=MutableWebSocket, ping_seconds=ping_seconds)
        api.open_at(self._server)
        sockets.open_at(self._server)
        self.workspace = workspace
        self.tickets = tickets
        self.events = events
        self.people = People(workspace, deliverer, api, events=events, server=self._server)
        self.ui = UserInterface(workspace, deliverer, api, tickets=tickets, server=self._server)
        self.socket_mode = SocketMode(sockets, api.faults)
        self._api = api
        self._deliverer = deliverer
        self._sockets = sockets

    async def __aenter__(self) -> Self:
        await self._server.start()  # first: where the port is taken nothing else is open
        await self._http.open()
        self._deliverer.resume()
        self._schedule.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._schedule.close()
            await self._background.close()
        finally:
            await self._http.close()
            await self._server.stop()
            await self._sockets.close()
            self._storage.close()

    def install(self, manifest: Json, *, declined: Collection[str] = ()) -> None:
        """Install the app as *manifest* says, without the optional scopes that are *declined*. Raises InvalidManifest.

        From then on its token has these scopes, it hears of these events, and people can type these commands.
        """
        self._installation.install(manifest, declined)

    def serve_also(self, *routes: BaseRoute) -> None:
        """Answer these too, at the same address, beside Slack's own."""
        self._app.router.routes.extend(routes)

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

    def later(self, seconds: float, happening: Callable[[], Awaitable[None]]) -> None:
        """Let something happen in *seconds*, unless it ends before."""

        async def wait() -> None:
            await asyncio.sleep(seconds)
            await happening()

        self._background.start(wait())

    async def settled(self, timeout: float = 10.0) -> None:  # noqa: ASYNC109 - a test's own deadline
        """Wait until every event was taken or given up."""
        async with asyncio.timeout(timeout):
            await self._background.idle()

    # What can be set while it runs

    @property
    def use_sockets(self) -> bool:
        """Whether the app's Socket Mode is on: everything goes over its sockets then, nothing to its URL."""
        return self._deliverer.use_sockets

    @use_sockets.setter
    def use_sockets(self, is_on: bool) -> None:
        self._deliverer.use_sockets = is_on

    @property
    def nobody_listens(self) -> bool:
        """Whether the app can't be reached for so long that Slack gives up: what happens meanwhile it never hears of.

        Events are dropped, those too that wait for a retry; commands and clicks fail; no socket is open, nor can one be
        opened. The Web API goes on, and so do people. Slack tries an event for some six minutes, and never again:
        https://docs.slack.dev/apis/events-api#retries.
        """
        return self._deliverer.nobody_listens

    @nobody_listens.setter
    def nobody_listens(self, is_so: bool) -> None:
        self._deliverer.nobody_listens = self._sockets.are_refused = is_so
        if is_so:
            self._deliverer.drop_waiting()
            self.socket_mode.cut()

    @property
    def unsubscribed(self) -> set[str]:
        """Names of events (``message.im``) that the app is not subscribed to."""
        return self._installation.unsubscribed

    @property
    def faults(self) -> Faults:
        """What goes wrong on purpose."""
        return self._api.faults

    @property
    def rates(self) -> Rates:
        """Rate limits; off until ``rates.is_on`` is set."""
        return self._api.rates

    @property
    def limits_history(self) -> bool:
        """Whether history is read at one call a minute and 15 messages a call, as by apps sold outside the Marketplace.

        https://docs.slack.dev/reference/methods/conversations.history
        """
        return self._api.rates.limits_history

    @limits_history.setter
    def limits_history(self, is_so: bool) -> None:
        self._api.rates.limits_history = is_so

    @property
    def scopes(self) -> set[str]:
        """What the app's token may do; take away what it shall miss."""
        return self._api.scopes

    @property
    def page_limit(self) -> int:
        """The most objects in one page of a list: 1000, or 15 as for apps outside the Marketplace."""
        return self._api.page_limit

    @page_limit.setter
    def page_limit(self, most: int) -> None:
        self._api.page_limit = most

    # What can be seen of it

    @property
    def sockets(self) -> list[Connection]:
        """The open connections, oldest first."""
        return self.socket_mode.connections

    @property
    def calls(self) -> list[ApiCall]:
        """Every call that the app made."""
        return self._api.calls

    @property
    def unknown_methods(self) -> Counter[str]:
        """Methods that were called and are not emulated."""
        return self._api.unknown_methods

    @property
    def deliveries(self) -> list[AppDelivery]:
        """Every request that was sent to the app."""
        return self._deliverer.deliveries

    @property
    def responses(self) -> list[Response]:
        """What came by response URLs, and in the bodies of answers to commands."""
        return self._api.answers

    @property
    def files(self) -> list[File]:
        """Every file whose upload was begun."""
        return list(self.workspace.files.values())

    def calls_of(self, method: str) -> list[ApiCall]:
        """The calls of one method."""
        return [call for call in self.calls if call.method == method]

    def messages(self, channel: str, thread_ts: str | None = None) -> list[Message]:
        """What the channel shows, or a thread with its root; oldest first."""
        if thread_ts is None:
            return self.workspace.messages.top_level(channel)
        return self.workspace.messages.thread(channel, thread_ts)

    def ephemerals(self, user: str) -> list[Message]:
        """What only *user* sees."""
        return [one for one in self.workspace.messages.private if one.to == user]

    def views(self, user: str) -> list[View]:
        """The modals that are open for *user*, the one on top last."""
        return self.workspace.stack(user)

    def home(self, user: str) -> View | None:
        """What *user* sees on the app's Home tab."""
        return self.workspace.homes.get(user)

    def prompts(self, user: str) -> list[Json]:
        """The prompts that are suggested to *user* in the direct message with the app."""
        return self.workspace.session(self.workspace.direct_message(user).id, "").prompts

    def permalink(self, channel: str, ts: str) -> str:
        """The link of a message. Raises LookupError."""
        message = self.workspace.messages.find(channel, ts)
        if message is None:
            raise LookupError(ts)
        return self.workspace.messages.permalink(message)

    def status(self, channel: str, thread_ts: str) -> str:
        """What the agent shows in the thread now."""
        return self.workspace.status(channel, thread_ts)

    def statuses(self, channel: str, thread_ts: str) -> list[StatusChange]:
        """Every change of what the agent showed in the thread."""
        where = (channel, thread_ts)
        return [one for one in self.workspace.status_history if (one.channel, one.thread_ts) == where]
