"""The guard in front of HTTP: only requests signed by Slack, complete and well-formed, get in.

Bolt reads and parses a body before checking its signature: anyone could make it answer 500, hold megabytes in memory,
or log a body. Here the order is size, signature of the raw bytes, shape. Rejected requests are counted, not logged,
since anyone can send them. Failures behind the guard are answered with 503, which Slack retries.

https://docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Callable
from http import HTTPStatus

from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from starlette.types import Receive, Scope, Send

from bridge.metrics import Metrics
from bridge.slack.payloads import Dispatch, Malformed, read_body

log = logging.getLogger(__name__)

LARGEST_BODY = 4 * 1024 * 1024  # an edit of a 40,000-character message in Chinese, old and new text, has 0.9 MB
OLDEST_SIGNATURE = 300  # seconds; Slack recommends this against replays
BODY_SECONDS = 10.0  # Slack gives up after 3 s, so a slower body isn't Slack's

_SIGNATURE, _TIMESTAMP = b"x-slack-signature", b"x-slack-request-timestamp"


class _Rejected(Exception):
    """The request is rejected for *reason*, and answered with *status* unless the client has left (None)."""

    def __init__(self, status: HTTPStatus | None, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


async def starting(_request: AsyncBoltRequest) -> BoltResponse:
    """Answer 503, so that Slack retries, until the bridge has reached Slack's Web API and Redis."""
    return BoltResponse(status=HTTPStatus.SERVICE_UNAVAILABLE, body="starting")


class Guard:
    """An ASGI application; *dispatch* answers recent, small, valid requests signed with *signing_secret*."""

    def __init__(
        self,
        signing_secret: str,
        metrics: Metrics,
        dispatch: Dispatch = starting,
        *,
        now: Callable[[], float] = time.time,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self.dispatch = dispatch
        self._secret = signing_secret.encode()
        self._metrics = metrics
        self._now = now
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began, kind = time.perf_counter(), ""
        try:
            kind, request = await self._admit(scope, receive)
        except _Rejected as rejected:
            self._metrics.rejected.labels(rejected.reason).inc()
            if rejected.status is None:
                return
            response = BoltResponse(status=rejected.status, body=rejected.reason)
        else:
            response = request if isinstance(request, BoltResponse) else await self.dispatch(request)
        body = response.body.encode(errors="replace")
        headers = [(name.encode(), value.encode()) for name, value in response.first_headers().items()]
        headers.append((b"content-length", b"%d" % len(body)))
        if response.status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers.append((b"allow", b"POST"))
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        if kind:
            self._metrics.acked(kind, time.perf_counter() - began)

    async def _admit(self, scope: Scope, receive: Receive) -> tuple[str, AsyncBoltRequest | BoltResponse]:
        """Check a request and read it (`read_body`). Raises `_Rejected`.

        Headers are compared as bytes, so that none can raise an error.
        """
        if scope["method"] != "POST":
            raise _Rejected(HTTPStatus.METHOD_NOT_ALLOWED, "method")
        given = list(scope["headers"])  # as they are before the body: a server may add its trailers
        headers = dict(given)
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length[:20]) > LARGEST_BODY:
            raise _Rejected(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large")
        collected, is_whole = bytearray(), False
        try:
            async with asyncio.timeout(self._body_seconds):
                while not is_whole:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise _Rejected(None, "client_left")
                    collected += message.get("body", b"")
                    if len(collected) > LARGEST_BODY:
                        raise _Rejected(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large")
                    is_whole = not message.get("more_body", False)
        except TimeoutError:
            raise _Rejected(HTTPStatus.REQUEST_TIMEOUT, "too_slow") from None
        body = bytes(collected)

        names = [name for name, _ in given]
        if names.count(_SIGNATURE) != 1 or names.count(_TIMESTAMP) != 1:
            raise _Rejected(HTTPStatus.UNAUTHORIZED, "unsigned")
        stamp = headers[_TIMESTAMP]
        if not (stamp.isdigit() and len(stamp) <= 12):  # noqa: PLR2004 - enough until the year 33658
            raise _Rejected(HTTPStatus.UNAUTHORIZED, "timestamp")
        if abs(self._now() - int(stamp)) > OLDEST_SIGNATURE:
            raise _Rejected(HTTPStatus.UNAUTHORIZED, "too_old")
        digest = hmac.digest(self._secret, b"v0:%b:%b" % (stamp, body), "sha256")
        if not hmac.compare_digest(b"v0=" + digest.hex().encode(), headers[_SIGNATURE]):
            raise _Rejected(HTTPStatus.UNAUTHORIZED, "signature")

        try:
            kind, request = read_body(body, headers)
        except Malformed as exc:
            raise _Rejected(HTTPStatus.BAD_REQUEST, exc.reason) from None
        if kind == "rate_limited":
            log.warning("Slack is dropping events: more than 30,000 in an hour")
        return kind, request
