"""`Requests`: HTTP to the project service, for reads, and for requests that mustn't be repeated.

httpx's own pool scans all connections for each request, which is slow beyond a few hundred calls in flight, so requests
go through aiohttp (``httpx-aiohttp``).

A server may close an idle connection at any moment. If a request is on its way then, it's unknown whether it arrived,
and no check beforehand can exclude that. A read is simply repeated. A chat or a run isn't, so each has a connection of
its own. Measured on one machine, that takes 0.4 ms more (2.7 ms with TLS), and the network's two or three round trips,
of an answer that takes seconds.

aiohttp gets responses as `bridge.project.framing` frames them, so that an answer that arrived whole isn't lost.
"""

from __future__ import annotations

import functools
import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError
from httpx_aiohttp import AiohttpTransport

from bridge import __version__
from bridge.errors import ConfigurationError
from bridge.project.framing import LONGEST_HEADER, MOST_HEADERS, Framing
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
            pooled = _Transport(trusted, proxy, keepalive_timeout=_KEEP_ALIVE)
            anew = _Transport(trusted, proxy, force_close=True)
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
        self._of_json = httpx.Headers({**headers, "Content-Type": "application/json"})

    @asynccontextmanager
    async def send(
        self,
        path: str,
        content: bytes | None,
        more_headers: Mapping[str, str] | None = None,
        *,
        connect: float,
        read: float,
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
        if more_headers:
            headers = headers.copy()
            headers.update(more_headers)
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


class _Transport(AiohttpTransport):
    """aiohttp's transport, with the options of its *connector*."""

    def __init__(self, trusted: ssl.SSLContext, proxy: str | None, **connector: Any) -> None:
        super().__init__(verify=trusted, trust_env=False, proxy=httpx.Proxy(proxy) if proxy else None)
        self._connector = connector

    def get_client(self) -> aiohttp.ClientSession:  # AiohttpTransport calls it
        return aiohttp.ClientSession(
            connector=_Connector(ssl=self.ssl_context, limit=0, **self._connector),  # 0: no limit
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=LONGEST_HEADER,
            max_field_size=LONGEST_HEADER,
            max_headers=MOST_HEADERS,
        )


class _Connector(aiohttp.TCPConnector):
    """Connections whose responses are framed anew."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        handler: Callable[..., ResponseHandler] = _ResponseHandler
        self._factory = functools.partial(handler, loop=self._loop)


class _ResponseHandler(ResponseHandler):
    """The protocol of a connection."""

    def set_response_params(self, **params: Any) -> None:
        self._framing = Framing()
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        if not data or self._parser is None or self._upgraded:  # aiohttp goes on with what it has
            super().data_received(data)
            return
        try:
            if self._framing.is_complete:  # the server has more to say than it was asked
                raise ValueError  # noqa: TRY301 - not part of a response
            framed = self._framing.feed(data)
        except ValueError as exc:
            self.set_exception(HttpProcessingError(message="not HTTP"), exc)
            if self.transport is not None:
                self.transport.close()
            return
        if self._framing.has_surplus:
            self.force_close()
        if framed:
            super().data_received(framed)


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
