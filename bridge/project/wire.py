"""One request and its answer on the wire: the only place that knows httpx and aiohttp.

httpx's own pool looks through all its connections for each request, which is slow beyond some hundred calls in
flight; so aiohttp's connector carries the requests (``httpx-aiohttp``). Requests are handed to that transport without
an `httpx.AsyncClient` around it: of what a client adds (redirects, cookies, credentials from files, hooks) nothing is
wanted here, and it took a third of a call's time. The transport says `ConnectTimeout`
both for a refused connection and for a server that hung up after it had read everything, so that what happened
is told by the cause instead: only aiohttp's connector errors and its connection time-out mean that nothing
was sent.

aiohttp repeats a GET once by itself when the server hangs up without a word (RFC 9112, 9.3.1); a POST never.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from bridge import __version__
from bridge.errors import CannotConnect, ConfigurationError, ConnectionLost, NotUnderstood, ProjectError, TimedOut
from bridge.project.answers import Answer

LARGEST_BODY = 16 * 1024 * 1024

_KEEP_ALIVE = 4.0
"""Seconds. Below the 5 s after which Node and uvicorn close an idle connection: a POST that meets a connection
which is just being closed is lost without anybody knowing whether it arrived."""

_ADDRESSES = 512

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


class Wire:
    """The way to one service, kept open for the life of the process."""

    def __init__(
        self, transport: httpx.AsyncBaseTransport, base_url: str, api_key: str, connect_timeout: timedelta
    ) -> None:
        self._transport = transport
        # To read an address takes a fiftieth of a turn, and there are few.
        self._address = lru_cache(maxsize=_ADDRESSES)(lambda path: httpx.URL(f"{base_url}/api/sdk/{path}"))
        self._connect_timeout = connect_timeout
        headers = {
            "Authorization": f"Bearer {api_key}",
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",  # nothing that a small body can make endless
            "User-Agent": f"slack-project-bridge/{__version__}",
        }
        self._headers = httpx.Headers(headers)
        self._headers_with_json = httpx.Headers({**headers, "Content-Type": "application/json"})

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    async def send(self, call: Call) -> Answer:
        """Send once and read the whole answer, of whatever status. Raises `ProjectError`."""
        cause: BaseException | None
        try:
            return await self._exchange(call)
        except _FOREIGN as exc:
            problem = translate(exc, call)
            # aiohttp's response errors carry the request's headers, and with them the key, in their repr.
            leaks = isinstance(exc, aiohttp.ClientResponseError) or isinstance(
                exc.__cause__, aiohttp.ClientResponseError
            )
            cause = None if leaks else exc
        raise problem from cause

    async def _exchange(self, call: Call) -> Answer:
        connect, answer = self._connect_timeout.total_seconds(), call.timeout.total_seconds()
        # pool: the transport takes it for all that comes before the request, DNS included; no call ever waits for a
        # free connection. read: between two reads.
        timeout = {"connect": connect, "pool": connect, "read": answer, "write": answer}
        async with asyncio.timeout(connect + answer):  # for an answer that comes drop by drop
            response = await self._transport.handle_async_request(self._request(call, timeout))
            try:
                return Answer(response.status_code, response.headers, await _read_body(response, call))
            finally:
                await response.aclose()

    def _request(self, call: Call, timeout: dict[str, float]) -> httpx.Request:
        request = httpx.Request(
            call.method,
            self._address(call.path),
            headers=self._headers if call.body is None else self._headers_with_json,
            # As a stream, which httpx leaves as it is; around a content it writes the headers once more, and aiohttp
            # does that in any case.
            stream=httpx.ByteStream(call.body or b""),
            extensions={"timeout": timeout},
        )
        request.read()
        return request


def open_wire(
    base_url: str,
    api_key: str,
    connect_timeout: timedelta,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Wire:
    """Open the way; call it where an event loop runs."""
    return Wire(transport or _open_transport(base_url), base_url, api_key, connect_timeout)


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


def _open_transport(base_url: str) -> AiohttpTransport:
    url = httpx.URL(base_url)
    proxy = _find_proxy(url)
    # To read all certificate authorities takes 20 ms; where there is no TLS, a context that trusts nobody will do.
    needs_tls = url.scheme == "https" or proxy is not None
    tls = httpx.create_ssl_context() if needs_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    connector = aiohttp.TCPConnector(limit=0, ssl=tls, keepalive_timeout=_KEEP_ALIVE)
    session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
    return AiohttpTransport(client=session, verify=tls, proxy=proxy)


def _find_proxy(url: httpx.URL) -> httpx.Proxy | None:
    """Find the proxy that the environment names for the service, as httpx does where it brings its own transport."""
    if url.host in {"localhost", "127.0.0.1", "::1"} or proxy_bypass(url.host):
        return None
    proxies = getproxies()
    address = proxies.get(url.scheme) or proxies.get("all")
    if not address:
        return None
    return httpx.Proxy(address if "://" in address else f"http://{address}")


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
