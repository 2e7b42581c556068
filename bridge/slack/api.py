"""Slack's Web API: one HTTP session per process, and the one place that translates its failures.

Calls use aiohttp directly, not `AsyncWebClient.api_call`, which follows redirects with the token, puts whole answers
into exceptions and the debug log, breaks on JSON that isn't an object, and costs 50 µs more. Bolt gets an
`AsyncWebClient` on the same session (`SlackWeb.client`).

`bridge.errors` says what each failure means for the call. Slack certainly didn't accept a call only if no connection
was made (aiohttp's `ClientConnectorError`, `ConnectionTimeoutError`), or on a 429. After a broken connection, a 5xx, a
time-out, or an answer that isn't Slack's, it may have accepted the call.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient
from yarl import URL

from bridge.common_clock import CommonClock, http_date
from bridge.errors import SlackAmbiguous, SlackError, SlackRefused, SlackTokenRefused, SlackUnreachable
from bridge.json_reader import Json, read_json
from bridge.metrics import Metrics
from bridge.proxies import proxy_for
from bridge.slack.blockkit import kit
from bridge.slack.payloads import items, mapping

log = logging.getLogger(__name__)

_PREFIXED: Final = json.dumps(kit.PREFIXED)[1:-1]
RESPONSE_URL = "response_url"
"""The method named in a `SlackError` about a post by response_url."""
UPLOAD_URL = "upload_url"
DOWNLOAD = "file"

CALL_SECONDS = 10.0  # also what Slack may take for a call whose caller no longer waits
_CONNECT_SECONDS = 3.0
_CHUNK = 65_536
_OPEN_SOCKET = "apps.connections.open"
_SOCKET_MESSAGE = 4 * 1024 * 1024  # bytes; Slack's payloads are far smaller
_DEFAULT_RETRY_AFTER = timedelta(seconds=1)
_LONGEST_RETRY_AFTER = timedelta(hours=1)
_CLOCK_WRONG = timedelta(minutes=5)  # what Slack's signatures tolerate
_CLOCK_ASKED_EVERY = 1.0  # seconds; only signed requests ask, but someone may repeat one
_CLOCK_SECONDS = 2.0  # Slack waits at most 3 s for an answer

REFUSALS: Final = frozenset({"account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"})
"""Slack's errors for a token it doesn't accept: https://docs.slack.dev/reference/methods/auth.test#errors."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The bridge's own IDs in Slack, according to ``auth.test``.

    *enterprise* and *app_id* may be ``""``; *scopes* are the token's; *workspace* is its address.
    """

    team: str
    enterprise: str
    bot_user: str
    bot_id: str
    app_id: str = ""
    is_org_wide: bool = False
    scopes: frozenset[str] = frozenset()
    workspace: str = ""

    @property
    def home(self) -> frozenset[str]:
        """Return the IDs of the bridge's own workspace and, if there is one, its organization."""
        return frozenset({self.team, self.enterprise} - {""})

    def wrote(self, message: Mapping[str, Any]) -> bool:
        """Whether the bot wrote *message*, from Slack's history; other apps could copy its metadata, or its name.

        A message with an agent's name has no ``user``.
        """
        if self.bot_id and message.get("bot_id"):
            return bool(message["bot_id"] == self.bot_id)
        if self.app_id and message.get("app_id"):
            return bool(message["app_id"] == self.app_id)
        return bool(self.bot_user and message.get("user") == self.bot_user)


@dataclass(frozen=True, slots=True)
class Hello:
    """What ``auth.test`` returns about the bot. *answered_at* is by Slack's clock (None if the header is missing)."""

    identity: Identity
    team_name: str
    bot_name: str
    answered_at: datetime | None


class Answer(dict[str, Any]):
    """A JSON response of Slack's, with its *headers*."""

    def __init__(self, answer: Json, headers: Mapping[str, str]) -> None:
        super().__init__(answer)
        self.headers = headers


class BotToken:
    """The bot token's *value*, and whether Slack accepted it last.

    *refused_because* is Slack's error, or ``""``. After a refusal, no call uses the token until
    `bridge.door.listeners.token_watch` finds that it works again, or gets another one.
    """

    def __init__(self, value: str) -> None:
        self.value = value
        self.refused_because = ""
        self.accepted, self.refused = asyncio.Event(), asyncio.Event()  # exactly one is set
        self.accepted.set()

    def refuse(self, value: str, because: str) -> None:
        """Record that Slack rejects the token *value*, unless it was replaced meanwhile; logged once."""
        if value != self.value or self.refused_because:
            return
        log.error(
            "Slack rejected the bot token: work is queued until it accepts one",
            extra={"error": because},
        )
        self.refused_because = because
        self.accepted.clear()
        self.refused.set()

    def accept(self, value: str) -> None:
        """Record that Slack accepts the token *value*, which is used from now on."""
        self.value, self.refused_because = value, ""
        self.refused.clear()
        self.accepted.set()


class SlackWeb:
    """Calls the Web API with one bot token; create it with `opened`."""

    def __init__(
        self, session: aiohttp.ClientSession, base_url: str, token: str, metrics: Metrics, clock: CommonClock
    ) -> None:
        self._session = session
        self.clock = clock
        self._base_url = base_url if base_url.endswith("/") else f"{base_url}/"
        self._metrics = metrics
        self.token = BotToken(token)
        self.command_prefix = ""  # of the commands that texts name (`kit.command`)
        self.lacking: dict[str, str] = {}
        """The scopes that Slack last missed, by method."""
        self._last_date = ""  # the last answer's Date header
        self._is_clock_known = False
        self._ask_clock_at = time.monotonic()
        self._asking_clock = asyncio.Lock()
        self._proxies: dict[str, str | None] = {}  # by origin
        self.client = AsyncWebClient(
            token, base_url=self._base_url, timeout=int(CALL_SECONDS), session=session, retry_handlers=[]
        )
        self.client.proxy = self._proxy(self._base_url)

    def now(self) -> datetime:
        """Return the time; Slack's answers correct it."""
        return self.clock.now()

    async def ask_clock(self, stamp: int = 0) -> bool:
        """Ask Slack for its time, unless that was just done. Returns whether it's known.

        It's asked at once if Slack has signed a time, *stamp*, in the future, which nobody can repeat.
        """
        async with self._asking_clock:
            is_ahead = self._is_clock_known and stamp > (self.now() + _CLOCK_WRONG).timestamp()
            if is_ahead or time.monotonic() >= self._ask_clock_at:
                self._ask_clock_at = time.monotonic() + _CLOCK_ASKED_EVERY
                self._is_clock_known, self._last_date = False, ""
                with suppress(SlackError):  # its answer has a date, even if it refuses the token
                    await self.call("auth.test", {}, token=self.token.value, seconds=_CLOCK_SECONDS)
            return self._is_clock_known

    async def call(
        self,
        method: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        seconds: float = CALL_SECONDS,
        token: str = "",
        url: str = "",
        verb: str = "POST",
        **request: Any,
    ) -> Answer:
        """Make a call, once, with *arguments* as JSON (except those that are None), and return Slack's answer.

        The call carries *token*, or else the bot's; none if it goes to another *url*. Raises `SlackError`.
        """
        if arguments is not None:
            given = {name: value for name, value in arguments.items() if value is not None}
            request["data"] = aiohttp.JsonPayload(given, dumps=self._dumps)
        is_as_bot = not token and not url
        if is_as_bot and not self.token.accepted.is_set():
            raise SlackTokenRefused(method, self.token.refused_because)
        used = token or self.token.value
        headers = {} if url else {"Authorization": f"Bearer {used}"}
        timeout = aiohttp.ClientTimeout(total=seconds, connect=min(_CONNECT_SECONDS, seconds))
        asked_at = self.clock.elapsed()
        address, proxy = (url, self._proxy(url)) if url else (self._base_url + method, self.client.proxy)
        try:
            try:
                async with self._session.request(
                    verb, address, headers=headers, timeout=timeout, proxy=proxy, **request
                ) as response:
                    body = await response.read()
            except (aiohttp.ClientError, OSError) as exc:
                raise _translated(method, exc, self.clock.elapsed() - asked_at) from exc
            if not url and response.status == HTTPStatus.OK:
                self._follow_clock(response.headers.get("Date", ""), asked_at)
            answer = _judge(method, response.status, response.headers, body, is_api=not url)
        except SlackError as exc:
            self._count_failure(method, exc)
            if is_as_bot and isinstance(exc, SlackRefused) and exc.error in REFUSALS:
                self.token.refuse(used, exc.error)
                raise SlackTokenRefused(method, exc.error) from exc
            if is_as_bot and isinstance(exc, SlackRefused) and exc.needed:
                self.lacking[method] = exc.needed
            raise
        if self.lacking:
            self.lacking.pop(method, None)
        self._metrics.slack_calls.labels(method, "ok").inc()
        return answer

    def _dumps(self, arguments: Json) -> str:
        """Return *arguments* as JSON, with the commands' prefix where the bridge names one."""
        body = json.dumps(arguments)
        return json.dumps(kit.as_typed(arguments, self.command_prefix)) if _PREFIXED in body else body

    def _count_failure(self, method: str, error: SlackError) -> None:
        match error:
            case SlackRefused():
                outcome = "refused"
            case SlackUnreachable(retry_after=timedelta()):
                outcome = "rate_limited"
            case SlackUnreachable():
                outcome = "unreachable"
            case _:
                outcome = "ambiguous"
        self._metrics.slack_calls.labels(method, outcome).inc()
        if isinstance(error, SlackUnreachable) and error.retry_after:
            self._metrics.slack_pauses.labels(method).inc(error.retry_after.total_seconds())

    def _follow_clock(self, date: str, asked_at: float) -> None:
        """Compare the clock with the *date* of one of Slack's answers, which was asked for at *asked_at*."""
        if date == self._last_date:  # it has whole seconds, and parsing it takes 10 µs
            return
        self._last_date, moment = date, http_date(date)
        self._is_clock_known = moment is not None
        if moment is not None:
            self.clock.hear_slack(moment, asked_at)

    def _proxy(self, url: str) -> str | None:
        origin = "/".join(url.split("/", 3)[:3])
        if origin not in self._proxies:  # reading the environment takes 30 µs
            self._proxies[origin] = proxy_for(origin)
        return self._proxies[origin]

    async def read(self, method: str, arguments: Mapping[str, str], *, seconds: float = CALL_SECONDS) -> Json:
        """Call a method that reads, by GET: those don't accept JSON. Raises `SlackError`."""
        return await self.call(method, seconds=seconds, verb="GET", params=arguments)

    def use(self, token: str) -> None:
        """Switch to *token*, which Slack accepts."""
        self.client.token = token
        self.token.accept(token)

    async def hello(self, token: str = "") -> Hello:
        """Call ``auth.test`` with *token*, or the current one. Raises `SlackError`.

        https://docs.slack.dev/reference/methods/auth.test
        """
        answer = await self.call("auth.test", {}, token=token or self.token.value)
        granted = answer.headers.get("x-oauth-scopes", "")
        identity = Identity(
            team=str(answer.get("team_id") or ""),
            enterprise=str(answer.get("enterprise_id") or ""),
            bot_user=str(answer.get("user_id") or ""),
            bot_id=str(answer.get("bot_id") or ""),
            app_id=str(answer.get("app_id") or ""),
            workspace=str(answer.get("url") or ""),
            is_org_wide=answer.get("is_enterprise_install") is True,
            scopes=frozenset(scope.strip() for scope in granted.split(",") if scope.strip()),
        )
        answered_at = http_date(answer.headers.get("Date", ""))
        return Hello(identity, str(answer.get("team") or ""), str(answer.get("user") or ""), answered_at)

    async def respond(self, response_url: str, body: Json, *, seconds: float = CALL_SECONDS) -> None:
        """Post to a ``response_url``. Raises `SlackError`: `SlackRefused` if the URL is used up or expired."""
        await self.call(RESPONSE_URL, body, seconds=seconds, url=response_url)

    async def upload(self, upload_url: str, content: bytes, *, seconds: float = CALL_SECONDS) -> None:
        """Send a file's bytes to the address from ``files.getUploadURLExternal``. Raises `SlackError`."""
        await self.call(UPLOAD_URL, seconds=seconds, url=upload_url, data=io.BytesIO(content))

    async def download(
        self, address: URL, most: int, *, seconds: float = CALL_SECONDS
    ) -> tuple[bytes, Mapping[str, str]]:
        """Download a file up to *most* bytes; returns them and the response's headers. Raises `SlackError`.

        The request carries the token: `bridge.slack.files` checks the address.
        """
        if self.token.refused_because:
            raise SlackTokenRefused(DOWNLOAD, self.token.refused_because)
        # Without compression, a small response can't expand into a huge one.
        headers = {"Authorization": f"Bearer {self.token.value}", "Accept-Encoding": "identity"}
        timeout = aiohttp.ClientTimeout(total=seconds, connect=min(_CONNECT_SECONDS, seconds))
        content = bytearray()
        try:
            try:
                async with self._session.get(
                    address, headers=headers, timeout=timeout, proxy=self._proxy(str(address))
                ) as response:
                    _judge(DOWNLOAD, response.status, response.headers, b"", is_api=False)
                    async for chunk in response.content.iter_chunked(_CHUNK):
                        content += chunk
                        if len(content) >= most:
                            break
            except (aiohttp.ClientError, OSError) as exc:
                raise _translated(DOWNLOAD, exc) from exc
        except SlackError as exc:
            self._count_failure(DOWNLOAD, exc)
            raise
        self._metrics.slack_calls.labels(DOWNLOAD, "ok").inc()
        del content[most:]  # in place: a slice would be one more copy of up to 10 MB
        return bytes(content), response.headers

    async def open_socket(self, app_token: str) -> aiohttp.ClientWebSocketResponse:
        """Open a Socket Mode WebSocket with an app-level token. Raises `SlackError`.

        https://docs.slack.dev/reference/methods/apps.connections.open
        """
        url = await self.socket_url(app_token)
        try:
            async with asyncio.timeout(CALL_SECONDS):
                return await self._session.ws_connect(
                    url, autoping=False, max_msg_size=_SOCKET_MESSAGE, proxy=self._proxy(url)
                )
        except (aiohttp.ClientError, OSError, ValueError) as exc:
            raise SlackUnreachable(_OPEN_SOCKET, type(exc).__name__) from exc

    async def socket_url(self, app_token: str) -> str:
        """Request the address of a Socket Mode WebSocket. Raises `SlackError`."""
        return str((await self.call(_OPEN_SOCKET, token=app_token)).get("url"))


@asynccontextmanager
async def opened(
    base_url: str, token: str, metrics: Metrics, *, clock: CommonClock | None = None, kind: type[SlackWeb] = SlackWeb
) -> AsyncIterator[SlackWeb]:
    """Open the session, and close it at the end."""
    # Running turns bound the number of calls. Slack closes a connection after a minute without a request; keep-alive
    # is shorter, so that a request rarely meets a closing connection.
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=30)
    async with aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        middlewares=(_refuse_redirect,),
    ) as session:
        yield kind(session, base_url, token, metrics, clock or CommonClock())


class _Redirected(aiohttp.ClientResponseError):
    """The server, which isn't Slack's Web API, sent a redirect."""


async def _refuse_redirect(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keep every call, Bolt's too, from following a redirect with the token or a body."""
    response = await handler(request)
    if response.status in {301, 302, 303, 307, 308}:
        response.close()
        raise _Redirected(response.request_info, (), status=response.status)
    return response


def _translated(method: str, exc: aiohttp.ClientError | OSError, after: float = CALL_SECONDS) -> SlackError:
    """Return what the failure of a call means, so many seconds *after* it began."""
    match exc:
        case _Redirected():  # SLACK_API_URL isn't Slack's address, or a proxy wants people to sign in
            return SlackRefused(method, f"http_{exc.status}")
        case (
            aiohttp.ClientConnectorError()
            | aiohttp.ConnectionTimeoutError()
            | aiohttp.InvalidURL()
            | aiohttp.ClientHttpProxyError()
        ):  # the request didn't reach Slack
            return SlackUnreachable(method, type(exc).__name__)
    return SlackAmbiguous(method, type(exc).__name__, timedelta(seconds=max(0.0, CALL_SECONDS - after)))


_MAY_HAVE_HAPPENED = ("internal_error", "fatal_error", "service_unavailable", "request_timeout")
"""Errors after which, says Slack's reference, "some aspect of the operation may have succeeded"."""


def _judge(method: str, status: int, headers: Mapping[str, str], body: bytes, *, is_api: bool) -> Answer:
    """Parse a response: JSON from the API, otherwise a status and perhaps Slack's error. Raises `SlackError`.

    https://docs.slack.dev/apis/web-api/#responses
    """
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise SlackUnreachable(method, "ratelimited", _retry_after(headers))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise SlackAmbiguous(method, str(status))
    if not is_api:
        # Slack's error (``expired_url``), as text or in JSON; any other body is ignored.
        text = body[:2000].decode(errors="replace").strip()
        if text.startswith("{") and text.endswith("}"):
            match = re.search(r'"error"\s*:\s*"([a-z_]{2,60})"', text)
        else:
            match = re.fullmatch(r"([a-z_]{2,60})", text)
        word = match[1] if match else ""
        if status >= HTTPStatus.BAD_REQUEST or word not in {"", "ok"}:
            raise SlackRefused(method, word if word not in {"", "ok"} else f"http_{status}")
        return Answer({}, headers)
    try:
        answer = read_json(body)
    except ValueError as exc:
        raise SlackAmbiguous(method, f"{status}, not JSON") from exc
    match answer:
        case {"ok": True}:
            return Answer(answer, headers)
        case {"ok": False, "error": "ratelimited" | "rate_limited" | "message_limit_exceeded" as word}:
            raise SlackUnreachable(method, word, _retry_after(headers))
        case {"ok": False, "error": "team_added_to_org" | "org_login_required" as word}:  # the workspace is migrating
            raise SlackUnreachable(method, word)
        case {"ok": False, "error": str() as word}:
            if word in _MAY_HAVE_HAPPENED:
                raise SlackAmbiguous(method, word)
            raise SlackRefused(method, word, str(answer.get("needed") or ""), problems_in(answer))
    raise SlackAmbiguous(method, f"{status}, not in Slack's format")


def problems_in(answer: Json) -> list[str]:
    """List the problems Slack found in blocks or a manifest, each with its JSON pointer.

    https://docs.slack.dev/reference/methods/blocks.validate#validation-errors
    """
    problems = [*items(answer.get("errors")), *items(mapping(answer.get("response_metadata")).get("messages"))]
    return [
        problem
        if isinstance(problem, str)
        else f"{problem.get('pointer') or '/'}: {problem.get('message') or problem.get('code')}"
        for problem in problems
        if isinstance(problem, str | dict)
    ]


def _retry_after(headers: Mapping[str, str]) -> timedelta:
    seconds = headers.get("Retry-After", "")
    if not (seconds.isascii() and seconds.isdigit() and len(seconds) < 10):  # noqa: PLR2004
        return _DEFAULT_RETRY_AFTER
    return min(timedelta(seconds=int(seconds)), _LONGEST_RETRY_AFTER)
