"""One request to the project service and its answer: the only place that knows httpx and aiohttp.

httpx's own pool looks through all its connections for each request, which is slow beyond some hundred calls in
flight; so aiohttp's connector carries them (``httpx-aiohttp``). Its transport raises `ConnectTimeout` both for a
refused connection and for a server that hung up after it had read everything, so the cause decides what happened:
only aiohttp's connector errors and its connection time-out mean that nothing was sent.

aiohttp repeats a GET once by itself when the server hangs up without a word (RFC 9112, 9.3.1); a POST never.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from datetime import timedelta
from http.cookiejar import CookieJar, DefaultCookiePolicy

import aiohttp
import httpx
from httpx_aiohttp import HttpxAiohttpClient

from bridge import __version__
from bridge.errors import CannotConnect, ConfigurationError, ConnectionLost, NotUnderstood, ProjectError, TimedOut
from bridge.project.answers import Answer

LARGEST_BODY = 16 * 1024 * 1024

_KEEP_ALIVE = 4.0
"""Seconds. Below the 5 s after which Node and uvicorn close an idle connection: a POST that meets a connection
which is just being closed is lost without anybody knowing whether it arrived."""

_NO_HTTP = 0  # the status of an answer that has none

_ERROR_BODY_PATIENCE = 2.0  # seconds; the status has said what matters

_LAST_PORT = 65_535

_FOREIGN = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, aiohttp.ClientError, TimeoutError, OSError)


@dataclass(frozen=True, slots=True)
class Call:
    """A request: *operation* is the client's method name, *path* comes after ``/api/sdk/``, *body* is JSON."""

    operation: str
    method: str
    path: str
    timeout: timedelta
    body: bytes | None = None

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing and may be repeated freely."""
        return self.method == "GET"


def open_http(
    base_url: str, api_key: str, connect_timeout: timedelta, transport: httpx.AsyncBaseTransport | None = None
) -> httpx.AsyncClient:
    """Open the client of one service, for the life of the process; paths are relative to ``/api/sdk/``."""
    connect = connect_timeout.total_seconds()
    return HttpxAiohttpClient(
        base_url=f"{base_url}/api/sdk/",
        headers={
            "Authorization": f"Bearer {api_key}",
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",  # nothing that a small body can make endless
            "User-Agent": f"slack-project-bridge/{__version__}",
        },
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # the key says who we are; nobody's session is ours
        # pool: the transport takes it for all that comes before the request, DNS included.
        timeout=httpx.Timeout(None, connect=connect, pool=connect),
        limits=httpx.Limits(max_connections=0, keepalive_expiry=_KEEP_ALIVE),  # 0: no limit; None would mean 100
        transport=transport,
    )


async def exchange(http: httpx.AsyncClient, call: Call) -> Answer:
    """Send *call* once and read the whole answer, of whatever status. Raises `ProjectError`."""
    seconds, timeout = call.timeout.total_seconds(), http.timeout
    headers = {} if call.body is None else {"Content-Type": "application/json"}
    cause: BaseException | None
    try:
        async with (
            asyncio.timeout((timeout.connect or 0.0) + seconds),  # for an answer that comes drop by drop
            http.stream(
                call.method,
                call.path,
                content=call.body,
                headers=headers,
                timeout=httpx.Timeout(seconds, connect=timeout.connect, pool=timeout.pool),
            ) as response,
        ):
            return Answer(response.status_code, response.headers, await _read_body(response, call))
    except _FOREIGN as exc:
        problem = translate(exc, call)
        # aiohttp's response errors carry the request's headers, and with them the key, in their repr.
        leaks = isinstance(exc, aiohttp.ClientResponseError) or isinstance(exc.__cause__, aiohttp.ClientResponseError)
        cause = None if leaks else exc
    raise problem from cause


def check_configuration(base_url: str, api_key: str) -> str:
    """Check both, and return *base_url* without trailing slashes. Raises `ConfigurationError`, never with a value."""
    problems = []
    if not _is_usable(base_url):
        problems.append("base_url: an http:// or https:// address without user name, query or fragment is needed")
    if not api_key or not all("!" <= c <= "~" for c in api_key):
        problems.append("api_key: visible ASCII characters without spaces are needed")
    if problems:
        raise ConfigurationError(problems)
    return base_url.rstrip("/")


def translate(error: BaseException, call: Call) -> ProjectError:
    """Tell what a foreign exception means for the call: above all, whether anything was sent."""
    cause = error.__cause__ if isinstance(error.__cause__, aiohttp.ClientError) else error
    name = type(cause).__name__
    match cause:
        case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError() | aiohttp.ClientHttpProxyError():
            return CannotConnect(call.operation, name)
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError() | httpx.InvalidURL():
            return CannotConnect(call.operation, name)
        case aiohttp.ClientResponseError():
            return NotUnderstood(call.operation, _NO_HTTP, "not HTTP")
        # These only from another transport than ours, which means by them what httpx documents.
        case httpx.ConnectError() | httpx.ConnectTimeout() | httpx.PoolTimeout() | httpx.UnsupportedProtocol():
            return CannotConnect(call.operation, name)
        case TimeoutError() | httpx.TimeoutException():
            return TimedOut(call.operation, call.timeout)
        case _:
            return ConnectionLost(call.operation, name)


async def _read_body(response: httpx.Response, call: Call) -> bytes:
    if response.is_success:
        return await _read_whole(response, call)
    # How an error's body ends does not change what the status says.
    try:
        async with asyncio.timeout(_ERROR_BODY_PATIENCE):
            return await _read_whole(response, call)
    except (NotUnderstood, *_FOREIGN):
        return b""


async def _read_whole(response: httpx.Response, call: Call) -> bytes:
    body = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > LARGEST_BODY:
                raise NotUnderstood(call.operation, response.status_code, "larger than 16 MiB")
    except httpx.DecodingError as exc:
        raise NotUnderstood(call.operation, response.status_code, "not compressed as it says") from exc
    return bytes(body)


def _is_usable(base_url: str) -> bool:
    try:
        url = httpx.URL(base_url)
        url.host.encode("idna")  # else the resolver does it, deep inside, and fails with a UnicodeError
    except (httpx.InvalidURL, UnicodeError):
        return False
    has_extras = bool(url.userinfo) or "?" in base_url or "#" in base_url
    is_host = re.fullmatch(r"[\w.:-]+", url.host) is not None
    return (
        url.scheme in {"http", "https"}
        and is_host
        and not has_extras
        and (url.port is None or 0 < url.port <= _LAST_PORT)
    )
