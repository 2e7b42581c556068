"""`EmulatedSlack`: a whole workspace on a real socket, and its people's actions."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Final, Self

from starlette.routing import BaseRoute

from bridge.playground.emulator import sample
from bridge.playground.emulator.app_pages import AppPages
from bridge.playground.emulator.clock import SlackClock
from bridge.playground.emulator.deliver import ACK_SECONDS, RETRY_DELAYS, Deliverer
from bridge.playground.emulator.entities import File, Json, Message, View
from bridge.playground.emulator.events import Events
from bridge.playground.emulator.faults import Faults
from bridge.playground.emulator.manifests import Installation
from bridge.playground.emulator.over_http import OverHttp
from bridge.playground.emulator.over_sockets import OverSockets
from bridge.playground.emulator.people import People
from bridge.playground.emulator.rates import Rates
from bridge.playground.emulator.server import ALL_SCOPES, ApiCall, ApiServer
from bridge.playground.emulator.sessions import StatusChange
from bridge.playground.emulator.sockets import Connection, SocketConnections
from bridge.playground.emulator.storage import Storage
from bridge.playground.emulator.tickets import Tickets
from bridge.playground.emulator.ui import UserInterface
from bridge.playground.emulator.workspace import Workspace
from bridge.playground.local_server import Background, LocalServer, Port
from bridge.playground.websocket import MutableWebSocket

PING_SECONDS: Final = 5.0


def random_id(prefix: str) -> str:
    return prefix + secrets.token_hex(8).upper()


class EmulatedSlack:
    """A Slack workspace, reached over HTTP and WebSockets only.

    - *events_url* is the app's request URL, which can be set later.
    - *clock* returns Unix seconds for message times, expiry and rate limits; `clock` can move it forward.
    - *retry_delays* are the seconds before each retry of an event. With *holds_retries* a retry also waits until the
      app listens, which Slack doesn't. *ack_seconds* is the time the app has to respond.
    - With an *app_token* the app can open sockets, pinged every *ping_seconds*. Once `use_sockets` is set, everything
      goes over them, without *events_url*.
    - With a folder *data_dir* the workspace survives its process, even a killed one, and unacknowledged events are sent
      as retries as soon as the app listens.

    Until `install` is called, the app has every scope, every event but removed reactions, and any command.

    *people* has people's actions, *ui* their commands, buttons and forms, and *socket_mode* disturbs the app's sockets.
    These can change at any time: `use_sockets`, the twins and echoes of *events*, `faults`, `rates`, `scopes`,
    `unsubscribed` (names of events), `drops_events`, and `transcribes_in` (seconds until a voice clip's delayed
    transcript is ready).
    """

    def __init__(
        self,
        *,
        signing_secret: str,
        bot_token: str,
        app_token: str = "",
        events_url: str = "",
        port: Port = 0,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[str], str] = random_id,
        retry_delays: Sequence[float] = RETRY_DELAYS,
        holds_retries: bool = False,
        ack_seconds: float = ACK_SECONDS,
        ping_seconds: float = PING_SECONDS,
        data_dir: Path | None = None,
    ) -> None:
        self._background = Background()
        self._storage = storage = Storage(data_dir)
        self.clock = clock = SlackClock(clock)
        self.transcribes_in = 10.0
        self._http = OverHttp(url=events_url, signing_secret=signing_secret, ack_seconds=ack_seconds, clock=clock)
        workspace = Workspace(clock=clock, new_id=new_id, storage=storage)
        tickets = Tickets(clock=clock, new_id=new_id, storage=storage)
        self.faults = Faults()
        self.socket_mode = sockets = SocketConnections(tickets, self.faults)
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
        rates = Rates(clock=clock)
        api = ApiServer(
            workspace, tickets, rates, bot_token, events.own, self.faults, installation, app_token=app_token
        )
        credentials = {"Bot token": bot_token, "App token": app_token, "Signing secret": signing_secret}
        self.app_pages = AppPages(self.install, credentials)
        self._app = api.app(sockets.route(), *self.app_pages.routes())
        self._server = LocalServer(self._app, port=port, sockets=MutableWebSocket, ping_seconds=ping_seconds)
        api.open_at(self._server)
        sockets.open_at(self._server)
        self.workspace = workspace
        self.tickets = tickets
        self.events = events
        self.people = People(workspace, deliverer, api, events=events, server=self._server)
        self.ui = UserInterface(workspace, deliverer, api, tickets=tickets, server=self._server)
        self.rates = rates
        self.scopes, self.unsubscribed = installation.scopes, installation.unsubscribed
        # What tests see:
        self.calls = api.calls  # by the app
        self.deliveries = deliverer.deliveries  # every request to the app
        self.responses = api.answers  # by response URLs, and in the bodies of responses to commands
        self._deliverer = deliverer

    async def __aenter__(self) -> Self:
        await self._server.start()  # first, in case the port is in use
        await self._http.open()
        self._deliverer.resume()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._background.close()
        finally:
            await self._http.close()
            await self._server.stop()
            await self.socket_mode.close()
            self._storage.close()

    def install(self, manifest: Json, *, declined: Collection[str] = ()) -> None:
        """Install *manifest*, without the *declined* optional scopes. Raises InvalidManifest.

        From then on the app has its scopes, events and commands.
        """
        self._installation.install(manifest, declined)

    def join_organization(self) -> None:
        """Make the workspace one of an Enterprise Grid organization, together with `sample.SISTER_TEAM`."""
        self._deliverer.organization = self.workspace.organization = sample.ENTERPRISE
        for person in self.workspace.people.values():
            if person.team == sample.TEAM:
                person.enterprise = sample.ENTERPRISE

    def serve_also(self, *routes: BaseRoute) -> None:
        self._app.router.routes.extend(routes)

    async def stop(self) -> None:
        """Become unreachable: connections break, the workspace stays."""
        await self._server.stop()

    async def start(self) -> None:
        """Become reachable again, at the same address."""
        await self._server.start()

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def api_url(self) -> str:
        """The value for ``SLACK_API_URL``."""
        return f"{self._server.url}/api/"

    @property
    def events_url(self) -> str:
        return self._http.url

    @events_url.setter
    def events_url(self, url: str) -> None:
        self._http.url = url

    def later(self, seconds: float, happening: Callable[[], Awaitable[None]]) -> None:
        """Do something in *seconds*, unless the emulator ends before."""

        async def wait() -> None:
            await asyncio.sleep(seconds)
            await happening()

        self._background.start(wait())

    async def settled(self, timeout: float = 10.0) -> None:  # noqa: ASYNC109 - a test's own deadline
        """Wait until every event is acknowledged or dropped."""
        async with asyncio.timeout(timeout):
            await self._background.idle()

    # Settings that can change at any time

    @property
    def use_sockets(self) -> bool:
        """Whether the app uses Socket Mode: everything goes over its sockets, nothing to its URL."""
        return self._deliverer.use_sockets

    @use_sockets.setter
    def use_sockets(self, is_on: bool) -> None:
        self._deliverer.use_sockets = is_on

    @property
    def drops_events(self) -> bool:
        """Whether the app is unreachable for so long that Slack exhausts its retries.

        Events are dropped, including those waiting for a retry; commands and clicks fail; sockets are closed and can't
        be opened. The Web API still works. Slack retries an event for about six minutes:
        https://docs.slack.dev/apis/events-api#retries.
        """
        return self._deliverer.drops_events

    @drops_events.setter
    def drops_events(self, is_so: bool) -> None:
        self._deliverer.drops_events = self.socket_mode.are_refused = is_so
        if is_so:
            self._deliverer.drop_waiting()
            self.socket_mode.cut()

    # What tests can see

    @property
    def sockets(self) -> list[Connection]:
        """The open connections, oldest first."""
        return self.socket_mode.in_order

    @property
    def files(self) -> list[File]:
        """Every file whose upload was started."""
        return list(self.workspace.files.values())

    def calls_of(self, method: str) -> list[ApiCall]:
        return [call for call in self.calls if call.method == method]

    def messages(self, channel: str, thread_ts: str | None = None) -> list[Message]:
        """The messages of a channel, or of a thread with its root, oldest first."""
        if thread_ts is None:
            return self.workspace.messages.top_level(channel)
        return self.workspace.messages.thread(channel, thread_ts)

    def ephemerals(self, user: str) -> list[Message]:
        return [message for message in self.workspace.messages.private if message.to == user]

    def views(self, user: str) -> list[View]:
        return self.workspace.stack(user)

    def home(self, user: str) -> View | None:
        return self.workspace.homes.get(user)

    def prompts(self, user: str) -> list[Json]:
        """The suggested prompts for *user* in the direct message with the app."""
        return self.workspace.session(self.workspace.direct_message(user).id, "").prompts

    def permalink(self, channel: str, ts: str) -> str:
        message = self.workspace.messages.find(channel, ts)
        if message is None:
            raise LookupError(ts)
        return self.workspace.messages.permalink(message)

    def status(self, channel: str, thread_ts: str) -> str:
        return self.workspace.status(channel, thread_ts)

    def statuses(self, channel: str, thread_ts: str) -> list[StatusChange]:
        """Every status of the agent in a thread."""
        where = (channel, thread_ts)
        return [status for status in self.workspace.status_history if (status.channel, status.thread_ts) == where]
