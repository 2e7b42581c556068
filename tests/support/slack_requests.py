"""Slack's requests byte by byte: signed ASGI requests to the guard."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from starlette.types import ASGIApp, Message

from bridge.slack import EVENTS_PATH
from support.secrecy import SIGNING_SECRET

SECRET = SIGNING_SECRET
JSON = (b"content-type", b"application/json")
FORM = (b"content-type", b"application/x-www-form-urlencoded")
Headers = list[tuple[bytes, bytes]]


def signed(body: bytes, at: float | None = None, secret: str = SECRET) -> Headers:
    """Slack's two signature headers for *body*, *at* a time (now)."""
    stamp = b"%d" % (time.time() if at is None else at)
    digest = hmac.new(secret.encode(), b"v0:%b:%b" % (stamp, body), hashlib.sha256).hexdigest()
    return [(b"x-slack-request-timestamp", stamp), (b"x-slack-signature", f"v0={digest}".encode())]


@dataclass
class Response:
    """The response; *statuses* has several if a request was answered twice."""

    statuses: list[int] = field(default_factory=list)
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""
    bytes_read: int = 0  # of the request

    @property
    def status(self) -> int:
        """The only status."""
        (status,) = self.statuses
        return status

    @property
    def json(self) -> Any:
        """The parsed body."""
        return json.loads(self.body)


async def request(
    app: ASGIApp,
    chunks: list[bytes],
    headers: Headers,
    method: str = "POST",
    *,
    is_whole: bool = True,
    is_left: bool = False,
) -> Response:
    """Send an ASGI request to *app*: a body in *chunks*, endless unless *is_whole*, or aborted if *is_left*."""
    response = Response()
    waiting: list[Message] = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    waiting[-1]["more_body"] = not is_whole or is_left
    if is_left:
        waiting.append({"type": "http.disconnect"})

    async def receive() -> Message:
        if not waiting:
            await asyncio.Event().wait()
        message = waiting.pop(0)
        response.bytes_read += len(message.get("body", b""))
        return message

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            response.statuses.append(message["status"])
            response.headers = dict(message["headers"])
        else:
            response.body += message["body"]

    scope = {"type": "http", "method": method, "path": EVENTS_PATH, "query_string": b"", "headers": headers}
    await app(scope, receive, send)
    return response


async def no_socket() -> aiohttp.ClientWebSocketResponse:
    """Open no socket: `Harness.envelope` passes envelopes in."""
    raise NotImplementedError
