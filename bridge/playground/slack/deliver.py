"""Signed deliveries to the app, and the retries of events: https://docs.slack.dev/apis/events-api#retries."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from bridge.playground.slack.entities import Json
from bridge.playground.wire import Background

ACK_SECONDS: Final = 3.0
RETRY_DELAYS: Final = (0.0, 60.0, 300.0)  # before the first, second and third retry
_USER_AGENT: Final = "Slackbot 1.0 (+https://api.slack.com/robots)"
_FORM: Final = "application/x-www-form-urlencoded"


@dataclass
class Delivery:
    """One request to the app and what came of it.

    *error* is Slack's reason where it was not taken (``http_timeout``, ``connection_failed``, ``http_error``, …),
    else empty. *status* is None while there is no answer.
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

    @property
    def is_acked(self) -> bool:
        """Whether the app took it."""
        return self.status is not None and not self.error

    @property
    def json(self) -> Any:
        """The answer's body, read as JSON; None where it is empty."""
        return json.loads(self.body) if self.body.strip() else None


def sign(secret: str, timestamp: int, body: bytes) -> str:
    """The ``v0`` signature: https://docs.slack.dev/authentication/verifying-requests-from-slack."""
    base = b"v0:%d:%s" % (timestamp, body)
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()


class Deliverer:
    """Sends to *url* (it may be set later), each request signed freshly. *deliveries* keeps what was sent."""

    def __init__(
        self,
        *,
        url: str,
        signing_secret: str,
        clock: Callable[[], float],
        background: Background,
        retry_delays: Sequence[float],
        ack_seconds: float = ACK_SECONDS,
    ) -> None:
        self.url = url
        self.deliveries: list[Delivery] = []
        self._secret = signing_secret
        self._clock = clock
        self._background = background
        self._retry_delays = retry_delays
        self._timeout = aiohttp.ClientTimeout(total=ack_seconds)
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Be ready to send."""
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def close(self) -> None:
        """Let go of the connections."""
        if self._session is not None:
            await self._session.close()

    def event(self, envelope: Json) -> asyncio.Event:
        """Send an event until it is taken, or all retries are used up; what is returned is set by the first try."""
        tried = asyncio.Event()
        self._background.start(self._until_taken(envelope, tried))
        return tried

    async def _until_taken(self, envelope: Json, tried: asyncio.Event) -> None:
        reason = ""
        try:
            for retry, delay in enumerate([0.0, *self._retry_delays]):
                if retry:
                    await asyncio.sleep(delay)
                delivery = await self._try(envelope, retry, reason)
                tried.set()
                if delivery.is_acked or delivery.is_final:
                    return
                reason = delivery.error
        finally:
            tried.set()  # whoever waits must not wait for what has been given up

    async def _try(self, envelope: Json, retry: int, reason: str) -> Delivery:
        event = envelope["event"]
        name = ".".join(filter(None, (event["type"], event.get("subtype"))))
        delivery = Delivery("event", name, envelope, self._clock(), retry)
        headers = {"X-Slack-Retry-Num": str(retry), "X-Slack-Retry-Reason": reason} if retry else {}
        await self._send(delivery, json.dumps(envelope).encode(), {"Content-Type": "application/json", **headers})
        return delivery

    async def form(self, kind: str, name: str, payload: Json, form: Mapping[str, str]) -> Delivery:
        """Send a command or an interaction; these are never sent again."""
        delivery = Delivery(kind, name, payload, self._clock())
        await self._send(delivery, urllib.parse.urlencode(form).encode(), {"Content-Type": _FORM})
        return delivery

    async def interaction(self, payload: Json) -> Delivery:
        """Send a click, a form or a menu's question."""
        return await self.form("interaction", payload["type"], payload, {"payload": json.dumps(payload)})

    async def verification(self, payload: Json) -> Delivery:
        """Send the question that is asked when the URL is set."""
        delivery = Delivery("verification", payload["type"], payload, self._clock())
        await self._send(delivery, json.dumps(payload).encode(), {"Content-Type": "application/json"})
        return delivery

    async def _send(self, delivery: Delivery, body: bytes, headers: Mapping[str, str]) -> None:
        self.deliveries.append(delivery)
        begun = time.perf_counter()
        try:
            await self._exchange(delivery, body, {**self._signature(body), **headers})
        except TimeoutError:
            delivery.error = "http_timeout"
        except (aiohttp.ClientConnectionError, aiohttp.InvalidURL):
            delivery.error = "connection_failed"
        except aiohttp.ClientError:
            delivery.error = "unknown_error"
        delivery.ms = (time.perf_counter() - begun) * 1000

    async def _exchange(self, delivery: Delivery, body: bytes, headers: Mapping[str, str]) -> None:
        if self._session is None:
            raise RuntimeError("not open")
        async with self._session.post(
            self.url, data=body, headers=headers, timeout=self._timeout, allow_redirects=False
        ) as answer:
            delivery.body = await answer.text()
            delivery.status = answer.status
            if not 200 <= answer.status < 300:  # noqa: PLR2004 - what HTTP calls success
                delivery.error = "http_error"
                delivery.is_final = answer.headers.get("X-Slack-No-Retry") == "1"

    def _signature(self, body: bytes) -> dict[str, str]:
        # The wall clock, not the emulator's: the app compares it with its own.
        timestamp = int(time.time())
        return {
            "X-Slack-Request-Timestamp": str(timestamp),
            "X-Slack-Signature": sign(self._secret, timestamp, body),
            "User-Agent": _USER_AGENT,
        }
