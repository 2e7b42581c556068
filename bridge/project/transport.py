"""`Requests`: HTTP to the project service, for reads, and for requests that mustn't be repeated.

httpx's own pool scans all connections for each request, which is slow beyond a few hundred calls in flight, so
connections are aiohttp's.

A server may close an idle connection at any moment. If a request is on its way then, it's unknown whether it arrived,
and no check beforehand can exclude that. A read is simply repeated. A chat or a run isn't, so each has a connection of
its own. Measured on one machine, that takes 0.4 ms more (2.7 ms with TLS), and the network's two or three round trips,
of an answer that takes seconds.

Responses are read by `bridge.project.framing`, so that an answer that arrived whole isn't lost.
"""

from __future__ import annotations

import asyncio
import functools
import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import aiohttp
import httpx
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import EofStream
from yarl import URL

from bridge import __version__
from bridge.errors import ConfigurationError
from bridge.project.framing import Framing, Head
from bridge.proxies import proxy_for

_KEEP_ALIVE = 4.0  # seconds; less than the 5 s after which Node and uvicorn close an idle connection
_MOST_URLS = 256


class Requests:
    """Sends requests to *base_url*; *transport* is for tests.

    They go straight to httpx's transport: merging URLs, headers and cookies, which its client does for each, takes
    0.18 ms of processor time, 9 % of a turn.

    Raises `ConfigurationError` if the environment names a proxy or certificates that can't be used.
    """

    def __init__(self, base_url: str, api_key: str, transport: httpx.AsyncBaseTransport | None) -> None:
        pooled = anew = transport
        if pooled is None or anew is None:
            proxy, trusted = proxy_for(base_url), _trusted(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")))
            pooled = SocketTransport(base_url, trusted, proxy, keepalive_timeout=_KEEP_ALIVE)
            anew = SocketTransport(base_url, trusted, proxy, force_close=True)
        self._pooled, self._anew = pooled, anew
        self._is_closed = False
        self._url = functools.lru_cache(_MOST_URLS)(lambda path: httpx.URL(f"{base_url}{path}"))
        headers = {
            "Authorization": f"Bearer {api_key}",
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
            "User-Agent": f"slack-project-bridge/{__version__}",
        }
        # Built once, so that httpx only copies them.
        self._of_read = httpx.Headers(headers)
        self._of_json = httpx.Headers({**headers, "Content-Type": "application/json", "Connection": "close"})

    @asynccontextmanager
    async def send(
        self, path: str, content: bytes | None, *, connect: float, read: float
    ) -> AsyncIterator[httpx.Response]:
        """Send a read, or a request with JSON *content*, and yield the response, whose body hasn't been read.

        The time limits are in seconds.
        """
        if self._is_closed:
            raise RuntimeError("the client is closed")
        # The transport applies the pool timeout to everything before the request, including DNS.
        limits = {"connect": connect, "pool": connect, "read": read, "write": read}
        if content is None:
            method, transport, headers = "GET", self._pooled, self._of_read
        else:
            method, transport, headers = "POST", self._anew, self._of_json
        request = httpx.Request(
            method, self._url(path), headers=headers, content=content, extensions={"timeout": limits}
        )
        response = await transport.handle_async_request(request)
        try:
            yield response
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        self._is_closed = True
        await self._anew.aclose()
        await self._pooled.aclose()


class SocketTransport(httpx.AsyncBaseTransport):
    """Sends requests over connections of aiohttp's *connector*, which knows name servers, TLS and proxies.

    Its client would add a fifth to the processor time of a turn: for a stream, a parser, a task and a timer each.
    """

    def __init__(self, base_url: str, trusted: ssl.SSLContext, proxy: str | None, **connector: Any) -> None:
        self._base_url, self._trusted, self._proxy, self._options = base_url, trusted, proxy, connector
        self._opened: tuple[_Connector, aiohttp.ClientRequest] | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, again if the server had closed the connection, and return the response, without its body."""
        if self._opened is None:  # both belong to the running loop
            url, proxy = URL(self._base_url), self._proxy and URL(self._proxy)
            place = aiohttp.ClientRequest(
                "GET",
                url,
                proxy=proxy.with_user(None) if proxy else None,
                proxy_auth=aiohttp.BasicAuth.from_url(proxy) if proxy else None,
                loop=asyncio.get_running_loop(),
            )
            self._opened = _Connector(ssl=self._trusted, limit=0, **self._options), place  # 0: no limit
        connector, place = self._opened
        limits = request.extensions["timeout"]
        while True:
            try:
                connection = await connector.connect(place, [], aiohttp.ClientTimeout(connect=limits["connect"]))
            except TimeoutError as exc:
                raise aiohttp.ConnectionTimeoutError from exc
            protocol = cast("_Protocol", connection.protocol)
            is_used = protocol.is_used
            try:
                protocol.ask(_written(request, place), limits["read"])
                head = cast("Head", await protocol.read())
            except HttpProcessingError as exc:
                connection.close()
                raise aiohttp.ClientResponseError(place.request_info, (), message=exc.message) from exc
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                connection.close()
                if not is_used:
                    raise
            except BaseException:
                connection.close()
                raise
            else:
                return httpx.Response(head.status, headers=head.fields, stream=_Body(connection, protocol))

    async def aclose(self) -> None:
        """Close all connections."""
        if self._opened is not None:
            await self._opened[0].close()


def _written(request: httpx.Request, place: aiohttp.ClientRequest) -> bytes:
    """Return a request's bytes; one over HTTP to a proxy names the whole address."""
    target, fields = request.url.raw_path, request.headers.raw
    if place.proxy and not place.is_ssl():
        target = str(request.url).encode()
        if authorization := place.headers.get("Proxy-Authorization"):  # aiohttp has put it there
            fields = [*fields, (b"Proxy-Authorization", authorization.encode())]
    lines = [b"%b %b HTTP/1.1" % (request.method.encode(), target), *(b"%b: %b" % field for field in fields)]
    return b"\r\n".join([*lines, b"", request.content])


class _Connector(aiohttp.TCPConnector):
    """Opens connections for our protocol."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        handler: Callable[..., ResponseHandler] = _Protocol
        self._factory = functools.partial(handler, loop=self._loop)


class _Protocol(ResponseHandler):
    """Reads the service's responses with `Framing`, into aiohttp's queue; a proxy's first one is read by aiohttp."""

    _framing: Framing | None = None

    @property
    def is_used(self) -> bool:
        """Whether the connection had an earlier request."""
        return self._framing is not None

    def ask(self, request: bytes, seconds: float) -> None:
        """Send a *request*; its response may pause for so many *seconds*."""
        if self.transport is None:
            raise aiohttp.ServerDisconnectedError
        self._framing, self._eof, self._read_timeout = Framing(), False, seconds
        self.transport.write(request)
        self.start_timeout()

    @property
    def is_free(self) -> bool:
        """Whether the response is complete, and another request may follow."""
        return self._framing is not None and self._framing.is_complete and not self._framing.is_last

    def data_received(self, data: bytes) -> None:
        """Pass on what has arrived."""
        framing = self._framing
        if framing is None:
            super().data_received(data)
            return
        self._reschedule_timeout()
        try:
            if framing.is_complete:  # the server has more to say than it was asked
                raise ValueError  # noqa: TRY301 - not part of a response
            for piece in framing.feed(data):
                self.feed_data(piece)  # type: ignore[arg-type]  # not aiohttp's own
        except ValueError as exc:
            self.set_exception(HttpProcessingError(message="not HTTP"), exc)
            if self.transport is not None:
                self.transport.close()
            return
        if framing.has_surplus:
            self.force_close()
        if framing.is_complete:
            self._drop_timeout()
            self.feed_eof()

    def connection_lost(self, exc: BaseException | None) -> None:
        """End a response that has no other end."""
        if exc is None and self._framing is not None and self._framing.ends_with_connection:
            self.feed_eof()
        super().connection_lost(exc)


class _Body(httpx.AsyncByteStream):
    """A response's body, as it arrives."""

    def __init__(self, connection: Connection, protocol: _Protocol) -> None:
        self._connection, self._protocol = connection, protocol

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            try:
                yield cast("bytes", await self._protocol.read())
            except EofStream:
                return

    async def aclose(self) -> None:
        if self._protocol.is_free:
            self._connection.release()
        else:
            self._connection.close()


@functools.cache
def _trusted(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Return the trusted certificates. Raises `ConfigurationError` if the environment names others that can't be read.

    Reading them takes 40 ms, so all projects have the same ones.
    https://www.python-httpx.org/advanced/ssl/#working-with-ssl_cert_file-and-ssl_cert_dir
    """
    try:
        return httpx.create_ssl_context()
    except OSError as exc:  # ssl.SSLError, too
        raise ConfigurationError(
            [f"SSL_CERT_FILE can't be read ({exc.strerror}): set it to a file of certificates (PEM), or remove it"]
        ) from None
