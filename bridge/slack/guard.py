"""The door for what Slack sends over HTTP: nothing gets past it that is not Slack's, whole and well-formed.

A pure ASGI application around another one (Bolt's), which may then leave verification to it. Bolt by itself reads
and parses a body before it checks the signature: anybody could make it answer 500, keep megabytes, or log a body.
Here the order is size, signature on the raw bytes, form; whatever is turned away is counted, not logged, since
anybody may send it. Of the inner application's mistakes people see 503, which Slack repeats, never 500.

https://docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bridge.logs import new_reference
from bridge.metrics import Metrics
from bridge.slack.reading import Malformed, Understood, understand

log = logging.getLogger(__name__)

LARGEST_BODY = 4 * 1024 * 1024  # an edit of a 40,000-character message in Chinese, old and new text, has 0.9 MB
OLDEST_SIGNATURE = 300  # seconds; Slack's own advice against replays
PAYLOAD = "bridge.payload"  # where in the scope the inner application finds the body, parsed
BODY_SECONDS = 10.0  # Slack gives up after 3 s: whoever needs longer for the body is not Slack


class _TurnedAway(Exception):
    """The request is answered with *status* for *reason*, and goes no further."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class _ClientLeft(Exception):
    """The client is gone; there is nobody to answer."""


@dataclass(slots=True)
class _Head:
    """The headers that matter here; a signature must not come twice."""

    signature: bytes = b""
    timestamp: bytes = b""
    length: bytes = b""
    content_type: bytes = b""
    is_doubled: bool = False


class Guard:
    """Lets through to *inner* what is signed with *signing_secret*, not too old, not too large and well-formed."""

    def __init__(
        self,
        inner: ASGIApp,
        signing_secret: str,
        metrics: Metrics,
        *,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.perf_counter,
        body_seconds: float = BODY_SECONDS,
        new_reference: Callable[[], str] = new_reference,
    ) -> None:
        self._inner = inner
        self._secret = signing_secret.encode()
        self._metrics = metrics
        self._now = now
        self._monotonic = monotonic
        self._body_seconds = body_seconds
        self._new_reference = new_reference

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or let *inner* answer it."""
        began = self._monotonic()
        try:
            understood = await self._admit(scope, receive)
        except _TurnedAway as away:
            self._metrics.rejected(away.reason)
            await _answer(send, away.status, away.reason.encode())
        except _ClientLeft:
            self._metrics.rejected("client_left")
        else:
            if understood.answer is None:
                await self._pass_on(understood.payload, scope, receive, send)
            else:
                await _answer(send, 200, understood.answer)
            self._metrics.acked(understood.kind, self._monotonic() - began)

    async def _admit(self, scope: Scope, receive: Receive) -> Understood:
        if scope["method"] != "POST":
            raise _TurnedAway(405, "method")
        head = _read_head(scope["headers"])
        if head.length.isdigit() and int(head.length[:20]) > LARGEST_BODY:
            raise _TurnedAway(413, "too_large")
        body = await self._read_body(receive)
        self._check_signature(head, body)
        try:
            understood = understand(body, head.content_type)
        except Malformed as exc:
            raise _TurnedAway(400, exc.reason) from None
        if understood.kind == "rate_limited":
            log.warning("slack holds events back: more than 30,000 in an hour")
        return understood

    async def _read_body(self, receive: Receive) -> bytes:
        try:
            async with asyncio.timeout(self._body_seconds):
                return await _whole_body(receive)
        except TimeoutError:
            raise _TurnedAway(408, "too_slow") from None

    def _check_signature(self, head: _Head, body: bytes) -> None:
        """Compare bytes with bytes, so that no header, however odd, can raise."""
        if head.is_doubled or not head.signature or not head.timestamp:
            raise _TurnedAway(401, "unsigned")
        if not (head.timestamp.isdigit() and len(head.timestamp) <= 12):  # noqa: PLR2004 - enough until the year 33658
            raise _TurnedAway(401, "timestamp")
        if abs(self._now() - int(head.timestamp)) > OLDEST_SIGNATURE:
            raise _TurnedAway(401, "too_old")
        digest = hmac.new(self._secret, b"v0:%b:%b" % (head.timestamp, body), hashlib.sha256).hexdigest()
        if not hmac.compare_digest(b"v0=" + digest.encode(), head.signature):
            raise _TurnedAway(401, "signature")

    async def _pass_on(self, payload: dict[str, Any], scope: Scope, receive: Receive, send: Send) -> None:
        reply = _Reply(send)
        try:
            scope[PAYLOAD] = payload
            await self._inner(scope, receive, reply.send)
        except Exception:  # the one place: whatever broke inside, Slack must get an answer that it understands
            log.exception("a request broke inside", extra={"reference": self._new_reference()})
        if not reply.is_begun:
            self._metrics.rejected("broken_inside")
            await _answer(send, 503, b"unavailable")


class _Reply:
    """The inner application's answer on its way out; one with an error status other than 503 is kept back."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self.is_begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = None if message["status"] >= 500 and message["status"] != 503 else message  # noqa: PLR2004
            return
        if self._start is not None and not self.is_begun:
            self.is_begun = True
            await self._send(self._start)
        if self.is_begun:
            await self._send(message)


def _read_head(headers: list[tuple[bytes, bytes]]) -> _Head:
    head = _Head()
    for name, value in headers:
        if name == b"x-slack-signature":
            head.is_doubled |= bool(head.signature)
            head.signature = value
        elif name == b"x-slack-request-timestamp":
            head.is_doubled |= bool(head.timestamp)
            head.timestamp = value
        elif name == b"content-length":
            head.length = value
        elif name == b"content-type":
            head.content_type = value
    return head


async def _whole_body(receive: Receive) -> bytes:
    """Collect the body; stop as soon as it is too large."""
    message = await receive()
    body = bytearray()
    while message["type"] == "http.request":
        body += message.get("body", b"")
        _check_size(body)
        if not message.get("more_body", False):
            return bytes(body)
        message = await receive()
    raise _ClientLeft


def _check_size(body: bytes | bytearray) -> None:
    if len(body) > LARGEST_BODY:
        raise _TurnedAway(413, "too_large")


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
    if status == 405:  # noqa: PLR2004
        headers.append((b"allow", b"POST"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
