"""Deliveries to the app, and the retries of events: https://docs.slack.dev/apis/events-api#retries.

`over_http` and `over_sockets` carry them.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from bridge.playground.emulator import payloads
from bridge.playground.emulator.changes import EntityTable
from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.storage import Storage
from bridge.playground.local_server import Background

ACK_SECONDS: Final = 3.0
RETRY_DELAYS: Final = (0.0, 60.0, 300.0)  # before the first, second and third retry


@dataclass
class AppDelivery:
    """One request to the app, and its result.

    *error* is empty once it is acknowledged: over HTTP it is Slack's word (``http_timeout``, ``connection_failed``,
    ``http_error``, …), over a socket ``timeout``, or ``connection_failed`` if none was open or it closed first.
    *status* is None until there is a response, and 200 for an ack by a socket, whose payload is then *body*.
    *socket* is the number of the connection, 0 for HTTP. *posted* is the ``ts`` of the message in its *body*, if any.
    """

    kind: str  # event, command, interaction, verification
    name: str  # the event's type and subtype, the command, the interaction's type
    payload: Json
    at: float
    retry: int = 0
    status: int | None = None
    body: str = ""
    ms: float = 0.0
    error: str = ""
    is_final: bool = False  # the app asked for no retries
    socket: int = 0
    posted: str = ""
    repeats: AppDelivery | None = field(default=None, repr=False)  # the previous try

    @property
    def is_acked(self) -> bool:
        return self.status is not None and not self.error

    @property
    def failure(self) -> str:
        """What Slack tells a person whose command or click failed."""
        return "operation_timeout" if self.error in {"http_timeout", "timeout"} else "dispatch_failed"

    @property
    def json(self) -> Any:
        """The response's body as JSON; None if it is empty."""
        return json.loads(self.body) if self.body.strip() else None


class Transport(Protocol):
    """A way for deliveries to reach the app."""

    async def opened(self) -> None:
        """Wait until there is a connection to send by."""

    async def reached(self) -> None:
        """Wait until the app listens."""

    async def carry(self, delivery: AppDelivery) -> None:
        """Send it, and record the result."""


@dataclass
class Waiting:
    """An unacknowledged event: *tries* have failed, the last with *error*."""

    envelope: Json
    tries: int = 0
    error: str = ""


class Deliverer:
    """Sends to the app, by its sockets if *use_sockets* is set. *deliveries* records everything.

    Each delivery names the *organization* of the workspace, if it's in one. Unacknowledged events are in *storage*, to
    be sent after a restart. With *holds_retries*, a retry waits until the app listens. While *drops_events*, each event
    is dropped at once, as if Slack had exhausted its retries.
    """

    def __init__(
        self,
        *,
        http: Transport,
        sockets: Transport,
        clock: Callable[[], float],
        background: Background,
        retry_delays: Sequence[float],
        holds_retries: bool,
        storage: Storage,
    ) -> None:
        self.use_sockets = False
        self.drops_events = False
        self.organization = ""  # of the workspace
        self.deliveries: list[AppDelivery] = []
        self._http = http
        self._sockets = sockets
        self._clock = clock
        self._background = background
        self._retry_delays = retry_delays
        self._holds_retries = holds_retries
        self._waiting = EntityTable("event", Waiting, storage, lambda: None)
        self._outages = 0

    @property
    def _transport(self) -> Transport:
        return self._sockets if self.use_sockets else self._http

    def _placed(self, payload: Json) -> Json:
        return payloads.in_organization(payload, self.organization) if self.organization else payload

    def event(self, envelope: Json, *, after: float = 0.0) -> asyncio.Event:
        """Send an event after *after* seconds, with retries until it is acknowledged.

        It is stored before this returns. The returned event is set by the first try.
        """
        tried = asyncio.Event()
        envelope = self._placed(envelope)
        waiting = self._waiting.put(envelope["event_id"], Waiting(envelope))
        self._background.start(self._retry_until_done(waiting, None, tried, after))
        return tried

    def drop_waiting(self) -> None:
        self._outages += 1
        for event_id in list(self._waiting):
            self._waiting.drop(event_id)

    def resume(self) -> None:
        """Send the previous process's events, in order, as soon as the app listens."""
        if self._waiting:
            self._background.start(self._once_reached(list(self._waiting.values())))

    async def _once_reached(self, left: Sequence[Waiting]) -> None:
        await self._transport.reached()
        for waiting in left:
            # The result of an interrupted try is unknown: Slack calls that a timeout.
            before = self._delivery(waiting, max(waiting.tries - 1, 0), None)
            before.error = waiting.error or "http_timeout"
            tried = asyncio.Event()
            self._background.start(self._retry_until_done(waiting, before, tried))
            await tried.wait()

    async def _retry_until_done(
        self, waiting: Waiting, before: AppDelivery | None, tried: asyncio.Event, after: float = 0.0
    ) -> None:
        outages = self._outages
        try:
            await asyncio.sleep(after)
            await self._try(waiting, before, tried, outages)
        finally:
            tried.set()  # don't keep callers waiting for a dropped event

    async def _try(self, waiting: Waiting, before: AppDelivery | None, tried: asyncio.Event, outages: int) -> None:
        """Send it until it is acknowledged or dropped; *before* is the previous try."""
        retry = before.retry + 1 if before else 0
        while outages == self._outages or self.drops_events:
            delivery = self._delivery(waiting, retry, before)
            await self._send(delivery, self._transport)
            is_over = delivery.is_acked or delivery.is_final or retry >= len(self._retry_delays)
            is_over = is_over or self.drops_events
            self._note(waiting, delivery, is_over=is_over)
            tried.set()
            if is_over:
                return
            before, retry = delivery, retry + 1
            await asyncio.sleep(self._retry_delays[retry - 1])
            if self._holds_retries:
                await self._transport.reached()
            await self._transport.opened()  # without an open socket, an event comes later, as a retry

    def _note(self, waiting: Waiting, delivery: AppDelivery, *, is_over: bool) -> None:
        event_id = waiting.envelope["event_id"]
        if self._waiting.get(event_id) is not waiting:
            return  # the same event was resent meanwhile
        if is_over:
            self._waiting.drop(event_id)
            return
        waiting.tries, waiting.error = delivery.retry + 1, delivery.error
        self._waiting.put(event_id, waiting)

    def _delivery(self, waiting: Waiting, retry: int, before: AppDelivery | None) -> AppDelivery:
        event = waiting.envelope["event"]
        name = ".".join(filter(None, (event["type"], event.get("subtype"))))
        return AppDelivery("event", name, waiting.envelope, self._clock(), retry, repeats=before)

    async def command(self, form: Json) -> AppDelivery:
        """Send a slash command; there are no retries."""
        return await self._send(
            AppDelivery("command", form["command"], self._placed(form), self._clock()), self._transport
        )

    async def interaction(self, payload: Json) -> AppDelivery:
        """Send a click, a form or a menu's query; there are no retries."""
        delivery = AppDelivery("interaction", payload["type"], self._placed(payload), self._clock())
        return await self._send(delivery, self._transport)

    async def verification(self, payload: Json) -> AppDelivery:
        return await self._send(AppDelivery("verification", payload["type"], payload, self._clock()), self._http)

    async def _send(self, delivery: AppDelivery, way: Transport) -> AppDelivery:
        self.deliveries.append(delivery)
        started = time.perf_counter()
        if self.drops_events:
            delivery.error = "connection_failed"
        else:
            await way.carry(delivery)
        delivery.ms = (time.perf_counter() - started) * 1000
        return delivery
