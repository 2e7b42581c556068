"""Signed requests to the app's request URL: https://docs.slack.dev/apis/events-api/using-http-request-urls."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Final

import aiohttp

from bridge.playground.emulator.deliver import AppDelivery

_USER_AGENT: Final = "Slackbot 1.0 (+https://api.slack.com/robots)"
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
_PORTS: Final = {"http": 80, "https": 443}
_LOOKS_EVERY: Final = 0.2  # seconds
_JSON: Final = {"Content-Type": "application/json"}


def sign(secret: str, timestamp: int, body: bytes) -> str:
    """The ``v0`` signature: https://docs.slack.dev/authentication/verifying-requests-from-slack."""
    base = b"v0:%d:%s" % (timestamp, body)
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()


def _request(delivery: AppDelivery) -> tuple[bytes, Mapping[str, str]]:
    """The body and headers, in one of Slack's three forms."""
    match delivery.kind:
        case "command":
            return urllib.parse.urlencode(delivery.payload).encode(), _FORM
        case "interaction":
            return urllib.parse.urlencode({"payload": json.dumps(delivery.payload)}).encode(), _FORM
        case _:
            return json.dumps(delivery.payload).encode(), {**_JSON, **_retry(delivery)}


def _retry(delivery: AppDelivery) -> dict[str, str]:
    if delivery.repeats is None:
        return {}
    return {"X-Slack-Retry-Num": str(delivery.retry), "X-Slack-Retry-Reason": delivery.repeats.error}


class OverHttp:
    """Sends to *url*, which can be set later; each request is signed, with the time by *clock*."""

    def __init__(self, *, url: str, signing_secret: str, ack_seconds: float, clock: Callable[[], float]) -> None:
        self.url = url
        self._clock = clock
        self._secret = signing_secret
        self._timeout = aiohttp.ClientTimeout(total=ack_seconds)
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def opened(self) -> None:
        """Return at once: a request shows whether the app listens."""

    async def reached(self) -> None:
        while not await self._accepts_connections():  # noqa: ASYNC110 - another process can only be polled
            await asyncio.sleep(_LOOKS_EVERY)

    async def _accepts_connections(self) -> bool:
        address = urllib.parse.urlsplit(self.url)
        if not address.hostname:
            return False
        try:
            _, writer = await asyncio.open_connection(address.hostname, address.port or _PORTS.get(address.scheme, 80))
        except OSError:
            return False
        writer.close()
        return True

    async def carry(self, delivery: AppDelivery) -> None:
        try:
            await self._exchange(delivery)
        except TimeoutError:
            delivery.error = "http_timeout"
        except (aiohttp.ClientConnectionError, aiohttp.InvalidURL):
            delivery.error = "connection_failed"
        except aiohttp.ClientError:
            delivery.error = "unknown_error"

    async def _exchange(self, delivery: AppDelivery) -> None:
        if self._session is None:
            raise RuntimeError("not open")
        body, headers = _request(delivery)
        async with self._session.post(
            self.url,
            data=body,
            headers={**self._signature(body), **headers},
            timeout=self._timeout,
            allow_redirects=False,
        ) as answer:
            delivery.body = await answer.text()
            delivery.status = answer.status
            if not 200 <= answer.status < 300:  # noqa: PLR2004 - what HTTP calls success
                delivery.error = "http_error"
                delivery.is_final = answer.headers.get("X-Slack-No-Retry") == "1"

    def _signature(self, body: bytes) -> dict[str, str]:
        timestamp = int(self._clock())
        return {
            "X-Slack-Request-Timestamp": str(timestamp),
            "X-Slack-Signature": sign(self._secret, timestamp, body),
            "User-Agent": _USER_AGENT,
        }
