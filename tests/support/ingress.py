"""Slack's requests byte by byte: signed ASGI requests to the guard, and socket envelopes."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp
from redis.asyncio import Redis
from starlette.types import ASGIApp, Message

from bridge.door.listeners.app import dispatcher
from bridge.door.sockets import Sockets
from bridge.slack import EVENTS_PATH
from support.harness import Harness, open_harness
from support.sample_posts import US
from support.secrecy import SIGNING_SECRET
from support.waiting import wait_until

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


@dataclass
class Ingress:
    """The complete way into process ``a`` of a *harness*."""

    harness: Harness

    def __post_init__(self) -> None:
        app, metrics = self.harness.parts().app, self.harness.metrics
        self.sockets = Sockets(no_socket, dispatcher(app, metrics), metrics)

    def signed(self, body: bytes) -> Headers:
        """Slack's signature for *body*, by its clock."""
        return signed(body, self.harness.store.clock().timestamp())

    async def send(self, body: bytes, *headers: tuple[bytes, bytes]) -> Response:
        """Send *body* with exactly these *headers*."""
        return await request(self.harness.guard, [body], list(headers))

    async def event(self, event: dict[str, Any], *headers: tuple[bytes, bytes], **envelope: Any) -> Response:
        """Send one signed event; its message also exists in Slack."""
        self._write(event)
        body = json.dumps({"type": "event_callback", "team_id": US.team, "event": event, **envelope}).encode()
        return await self.send(body, JSON, *self.signed(body), *headers)

    def _write(self, event: dict[str, Any]) -> None:
        match event:
            case {
                "type": "message" | "app_mention",
                "ts": str(ts),
                "text": str(text),
                "user": str(user),
                "channel": str(),
            }:
                channel, thread_ts = event["channel"], event.get("thread_ts") or ""
                if thread_ts:
                    self.harness.write(thread_ts, "What is this?", channel=channel)
                self.harness.write(ts, text, user=user, channel=channel, thread_ts=thread_ts)

    async def form(self, fields: dict[str, Any]) -> Response:
        """Send a signed form."""
        body = urlencode(fields).encode()
        return await self.send(body, FORM, *self.signed(body))

    async def interaction(self, payload: dict[str, Any]) -> Response:
        """Send a signed interaction."""
        return await self.form({"payload": json.dumps(payload)})

    async def envelope(self, kind: str, payload: Any, **more: Any) -> dict[str, Any] | None:
        """Send a socket envelope; return its acknowledgement, or None. Its message also exists in Slack."""
        if isinstance(payload, dict) and isinstance(payload.get("event"), dict):
            self._write(payload["event"])
        return await self.sockets.acknowledgement({"type": kind, "envelope_id": "e1", "payload": payload, **more})

    async def wait_until_asked(self, count: int) -> None:
        """Wait until agents were asked *count* times."""
        await wait_until(lambda: len(self.harness.service.asked) >= count, f"agents were asked {count} times")

    async def keys(self) -> list[str]:
        """Every key in Redis."""
        return sorted([key async for key in self.harness.store.redis.scan_iter()])

    def counted(self, line: str) -> bool:
        """Whether the metrics have a line with this prefix."""
        return line in self.harness.metrics.exposition().decode()


@asynccontextmanager
async def open_ingress(redis: Redis, **environ: str) -> AsyncIterator[Ingress]:
    """Open a harness on *redis* with its ingress; *environ* changes its settings."""
    async with open_harness(redis, BRIDGE_AUDIT_DAYS="90", **environ) as harness:
        yield Ingress(harness)


async def no_socket() -> aiohttp.ClientWebSocketResponse:
    """Open no socket: `Ingress.envelope` passes envelopes in."""
    raise NotImplementedError
