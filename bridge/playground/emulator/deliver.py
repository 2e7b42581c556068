"""Deliveries to the app, and the retries of events: https://docs.slack.dev/apis/events-api#retries.

How one gets there is the business of `over_http` and `over_sockets`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from bridge.playground.emulator.changes import Shelf
from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.keeping import Storage
from bridge.playground.wire import Background

ACK_SECONDS: Final = 3.0
RETRY_DELAYS: Final = (0.0, 60.0, 300.0)  # before the first, second and third retry


@dataclass
class AppDelivery:
    """One request to the app and what came of it.

    *error* is the reason where it was not taken, else empty: over HTTP Slack's word for it (``http_timeout``,
    ``connection_failed``, ``http_error``, …), over a socket ``timeout``, or ``connection_failed`` where none was open
    or it ended first. *status* is None while there is no answer, and 200 for an ack by a socket; *body* is then the
    ack's payload. *socket* is the number of the connection that it went by, 0 where it was none.
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
    is_final: bool = False  # the app asked not to be sent it again
    socket: int = 0
    repeats: AppDelivery | None = field(default=None, repr=False)  # the try before this one

    @property
    def is_acked(self) -> bool:
        """Whether the app took it."""
        return self.status is not None and not self.error

    @property
    def json(self) -> Any:
        """The answer's body, read as JSON; None where it is empty."""
        return json.loads(self.body) if self.body.strip() else None


class Way(Protocol):
    """How deliveries reach the app."""

    async def opened(self) -> None:
        """Wait until there is anything to send by."""

    async def reached(self) -> None:
        """Wait until the app is there."""

    async def carry(self, delivery: AppDelivery) -> None:
        """Send it, and write down what came of it."""


@dataclass
class Waiting:
    """An event that the app has not taken: *tries* have ended, the last with *error*."""

    envelope: Json
    tries: int = 0
    error: str = ""


class Deliverer:
    """Sends to the app, by its sockets where *use_sockets* is set. *deliveries* keeps what was sent.

    Events that the app has not taken are in *storage*, so that they can be sent after a restart. With *holds_retries*
    no retry is spent on an address where nobody listens: it is held until the app is there. Where *nobody_listens* for
    longer than Slack tries, nothing is sent: each event is given up at once.
    """

    def __init__(
        self,
        *,
        http: Way,
        sockets: Way,
        clock: Callable[[], float],
        background: Background,
        retry_delays: Sequence[float],
        holds_retries: bool,
        storage: Storage,
    ) -> None:
        self.use_sockets = False
        self.nobody_listens = False
        self.deliveries: list[AppDelivery] = []
        self._http = http
        self._sockets = sockets
        self._clock = clock
        self._background = background
        self._retry_delays = retry_delays
        self._holds_retries = holds_retries
        self._waiting = Shelf("event", Waiting, storage, lambda _: None)
        self._outages = 0

    @property
    def _way(self) -> Way:
        return self._sockets if self.use_sockets else self._http

    def event(self, envelope: Json, *, after: float = 0.0) -> asyncio.Event:
        """Send an event, in *after* seconds, until it is taken or all retries are used up.

        It is kept before this returns; what is returned is set by the first try.
        """
        tried = asyncio.Event()
        waiting = self._waiting.put(envelope["event_id"], Waiting(envelope))
        self._background.start(self._until_taken(waiting, None, tried, after))
        return tried

    def drop_waiting(self) -> None:
        """Give up every event that the app has not taken."""
        self._outages += 1
        for event_id in list(self._waiting):
            self._waiting.drop(event_id)

    def resume(self) -> None:
        """Send what was waiting when the last process ended, in its order, as soon as the app is there."""
        if self._waiting:
            self._background.start(self._once_reached(list(self._waiting.values())))

    async def _once_reached(self, left: Sequence[Waiting]) -> None:
        await self._way.reached()
        for waiting in left:
            # Nobody knows what came of a try that was under way: Slack calls that a timeout.
            before = self._delivery(waiting, max(waiting.tries - 1, 0), None)
            before.error = waiting.error or "http_timeout"
            tried = asyncio.Event()
            self._background.start(self._until_taken(waiting, before, tried))
            await tried.wait()

    async def _until_taken(
        self, waiting: Waiting, before: AppDelivery | None, tried: asyncio.Event, after: float = 0.0
    ) -> None:
        outages = self._outages
        try:
            await asyncio.sleep(after)
            await self._try(waiting, before, tried, outages)
        finally:
            tried.set()  # whoever waits must not wait for what has been given up

    async def _try(self, waiting: Waiting, before: AppDelivery | None, tried: asyncio.Event, outages: int) -> None:
        """Send it, until it is taken or given up; *before* is the last try that there was."""
        retry = before.retry + 1 if before else 0
        while outages == self._outages or self.nobody_listens:
            delivery = self._delivery(waiting, retry, before)
            await self._send(delivery, self._way)
            is_over = delivery.is_acked or delivery.is_final or retry >= len(self._retry_delays)
            is_over = is_over or self.nobody_listens
            self._note(waiting, delivery, is_over=is_over)
            tried.set()
            if is_over:
                return
            before, retry = delivery, retry + 1
            await asyncio.sleep(self._retry_delays[retry - 1])
            if self._holds_retries:
                await self._way.reached()
            await self._way.opened()  # what happens while no socket is open comes as a retry later

    def _note(self, waiting: Waiting, delivery: AppDelivery, *, is_over: bool) -> None:
        event_id = waiting.envelope["event_id"]
        if self._waiting.get(event_id) is not waiting:
            return  # the same event was sent once more meanwhile
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
        """Send a slash command; it is never sent again."""
        return await self._send(AppDelivery("command", form["command"], form, self._clock()), self._way)

    async def interaction(self, payload: Json) -> AppDelivery:
        """Send a click, a form or a menu's question; none is ever sent again."""
        return await self._send(AppDelivery("interaction", payload["type"], payload, self._clock()), self._way)

    async def verification(self, payload: Json) -> AppDelivery:
        """Send the question that is asked when the URL is set."""
        return await self._send(AppDelivery("verification", payload["type"], payload, self._clock()), self._http)

    async def _send(self, delivery: AppDelivery, way: Way) -> AppDelivery:
        self.deliveries.append(delivery)
        begun = time.perf_counter()
        if self.nobody_listens:
            delivery.error = "connection_failed"
        else:
            await way.carry(delivery)
        delivery.ms = (time.perf_counter() - begun) * 1000
        return delivery
