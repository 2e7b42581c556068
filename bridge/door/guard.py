"""The guard in front of HTTP: only requests signed by Slack, complete and well-formed, get in.

Bolt reads and parses a body before checking its signature: anyone could make it answer 500, hold megabytes in memory,
or log a body. Here the order is size, signature of the raw bytes, age, shape. Anyone can send requests that are
rejected, so those are counted, and the log has one line about them per minute. Failures behind the guard are answered
with 503, which Slack retries.

A request's age is measured by Slack's clock. If that can't be asked just when a signed request seems too old or too
new, this machine's clock may be wrong, and all of Slack's requests would be refused: `Guard.refuses_by_clock` says so,
and `Guard.refused` tells which time to catch up on. If Slack's clock is known, the request is a replay.

https://docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from starlette.types import Receive, Scope, Send

from bridge.metrics import Metrics
from bridge.slack.payloads import Dispatch, Malformed, read_body

log = logging.getLogger(__name__)

LARGEST_BODY = 4 * 1024 * 1024  # an edit of a 40,000-character message in Chinese, old and new text, has 0.9 MB
SMALL_BODY = 256 * 1024  # nearly all of Slack's are smaller
MOST_HELD = 64 * 1024 * 1024  # of all bodies being read; beyond that, one larger than `SMALL_BODY` gets 503
OLDEST_SIGNATURE = 300  # seconds; Slack recommends this against replays
BODY_SECONDS = 10.0  # Slack gives up after 3 s, so a slower body isn't Slack's

_SIGNATURE, _TIMESTAMP = b"x-slack-signature", b"x-slack-request-timestamp"
_LOG_EVERY: Final = 60.0  # seconds
_RECENT: Final = 600.0  # seconds
_SEVERAL: Final = 3
_LIKELY: Final = {  # the most telling reason first
    "signature": "SLACK_SIGNING_SECRET is another app's: copy it again (your Slack app's page → Basic Information)",
    "clock": "this machine's clock is wrong, and Slack can't be asked for the time: synchronize it (NTP)",
    "too_old": "someone repeats an old request of Slack's",
    "timestamp": "someone is scanning this address; Slack signs its requests",
    "unsigned": "someone is scanning this address; Slack signs its requests",
}
_REFUSES_FOR: Final = 300.0  # seconds after such a refusal; then a load balancer may try again


class _Rejected(Exception):
    """The request is rejected for *reason*, and answered with *status* unless the client has left (None)."""

    def __init__(self, status: HTTPStatus | None, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


async def _is_known(_stamp: int) -> bool:
    return True


async def starting(_request: AsyncBoltRequest) -> BoltResponse:
    """Answer 503, so that Slack retries, until the bridge has reached Slack's Web API."""
    return BoltResponse(status=HTTPStatus.SERVICE_UNAVAILABLE, body="starting")


class Guard:
    """An ASGI application; *dispatch* answers recent, small, valid requests signed with *signing_secret*.

    *now* is the time by Slack's clock, as far as it's known; *ask_clock* corrects it because of a signed
    timestamp, and returns whether it's known.
    """

    def __init__(
        self,
        signing_secret: str,
        metrics: Metrics,
        dispatch: Dispatch = starting,
        *,
        now: Callable[[], float] = time.time,
        ask_clock: Callable[[int], Awaitable[bool]] = _is_known,
        body_seconds: float = BODY_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.dispatch = dispatch
        self._secret = signing_secret.encode()
        self._metrics = metrics
        self._now = now
        self._ask_clock = ask_clock
        self._body_seconds = body_seconds
        self._monotonic = monotonic
        self._unlogged = Counter[str]()
        self._unauthorized = deque[tuple[float, str]](maxlen=1000)  # when, and why
        self._log_again_at = monotonic()
        self._held = 0  # bytes of the bodies being read
        self._refused: list[int] = []  # the first and the last timestamp refused because of the clock
        self._has_refused = asyncio.Event()
        self._refuses_until = monotonic()
        self._off = 0.0  # seconds, between Slack's clock and the last signed timestamp

    @property
    def refuses_by_clock(self) -> bool:
        """Whether signed requests are refused because of this machine's clock."""
        return self._monotonic() < self._refuses_until

    @property
    def unauthorized(self) -> str:
        """Say why requests were refused with 401 in the last ten minutes; ``""`` if there were fewer than three."""
        begins = self._monotonic() - _RECENT
        reasons = {reason for at, reason in self._unauthorized if at >= begins}
        if sum(at >= begins for at, _reason in self._unauthorized) < _SEVERAL:
            return ""
        return next(likely for reason, likely in _LIKELY.items() if reason in reasons)

    async def refused(self) -> tuple[datetime, datetime]:
        """Wait for requests refused because of the clock; return when Slack sent the first and the last of them."""
        await self._has_refused.wait()
        self._has_refused.clear()
        first, last = (datetime.fromtimestamp(stamp, UTC) for stamp in self._refused)
        self._refused = []
        return first, last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began, kind = time.perf_counter(), ""
        try:
            kind, request = await self._admit(scope, receive)
        except _Rejected as rejected:
            self._metrics.rejected.labels(rejected.reason).inc()
            if rejected.status is None:
                return
            if rejected.status is HTTPStatus.UNAUTHORIZED:
                self._log_refusals(rejected.reason)
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
        pairs = list(scope["headers"])  # as they are before the body: a server may add its trailers
        headers = dict(pairs)
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
                    chunk = message.get("body", b"")
                    collected += chunk
                    self._held += len(chunk)
                    if len(collected) > LARGEST_BODY:
                        raise _Rejected(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large")
                    if len(collected) > SMALL_BODY and self._held > MOST_HELD:
                        raise _Rejected(HTTPStatus.SERVICE_UNAVAILABLE, "too_many")
                    is_whole = not message.get("more_body", False)
        except TimeoutError:
            raise _Rejected(HTTPStatus.REQUEST_TIMEOUT, "too_slow") from None
        finally:
            self._held -= len(collected)
        body = bytes(collected)

        names = [name for name, _ in pairs]
        if names.count(_SIGNATURE) != 1 or names.count(_TIMESTAMP) != 1:
            raise _Rejected(HTTPStatus.UNAUTHORIZED, "unsigned")
        stamp = headers[_TIMESTAMP]
        if not (stamp.isdigit() and len(stamp) <= 10):  # noqa: PLR2004 - enough until the year 2286
            raise _Rejected(HTTPStatus.UNAUTHORIZED, "timestamp")
        digest = hmac.digest(self._secret, b"v0:%b:%b" % (stamp, body), "sha256")
        if not hmac.compare_digest(b"v0=" + digest.hex().encode(), headers[_SIGNATURE]):
            raise _Rejected(HTTPStatus.UNAUTHORIZED, "signature")
        self._off = self._now() - int(stamp)
        if abs(self._off) > OLDEST_SIGNATURE:
            await self._ask_its_age(int(stamp))
        self._refuses_until = self._monotonic()

        try:
            kind, request = read_body(body, headers)
        except Malformed as exc:
            raise _Rejected(HTTPStatus.BAD_REQUEST, exc.reason) from None
        if kind == "rate_limited":
            log.warning("Slack is dropping events: more than 30,000 in an hour")
        return kind, request

    async def _ask_its_age(self, stamp: int) -> None:
        """Check a signed timestamp by Slack's own time, as this machine's clock may be wrong. Raises `_Rejected`."""
        is_known = await self._ask_clock(stamp)
        self._off = self._now() - stamp
        if abs(self._off) <= OLDEST_SIGNATURE:
            return
        if is_known:
            raise _Rejected(HTTPStatus.UNAUTHORIZED, "too_old")
        self._refused = [min([stamp, *self._refused]), max([stamp, *self._refused])]
        self._has_refused.set()
        self._refuses_until = self._monotonic() + _REFUSES_FOR
        raise _Rejected(HTTPStatus.UNAUTHORIZED, "clock")

    def _log_refusals(self, reason: str) -> None:
        """Log what was refused since the last such line, at most once a minute, with the likely cause."""
        self._unlogged[reason] += 1
        self._unauthorized.append((self._monotonic(), reason))
        if self._monotonic() < self._log_again_at:
            return
        worst = next(likely for likely in _LIKELY if likely in self._unlogged)
        off = {"seconds_off": round(self._off)} if worst in {"clock", "too_old"} else {}
        log.warning("refused requests with 401", extra={**self._unlogged, **off, "likely": _LIKELY[worst]})
        self._unlogged.clear()
        self._log_again_at = self._monotonic() + _LOG_EVERY
