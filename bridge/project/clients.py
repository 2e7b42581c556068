"""The HTTP clients for the project service: one for reads, and one for requests that mustn't be repeated.

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
import ssl
from collections.abc import Callable
from http.cookiejar import CookieJar, DefaultCookiePolicy
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


def clients(
    base_url: str, api_key: str, transport: httpx.AsyncBaseTransport | None
) -> tuple[httpx.AsyncClient, httpx.AsyncClient]:
    """Return the clients for *base_url*, for reads and for other requests; *transport* is for tests.

    Raises `ConfigurationError` if the environment names a proxy or certificates that can't be used.
    """
    pooled = anew = transport
    if pooled is None or anew is None:
        proxy, trusted = proxy_for(base_url), _trusted()
        pooled = _Transport(trusted, proxy, keepalive_timeout=_KEEP_ALIVE)
        anew = _Transport(trusted, proxy, force_close=True)
    return _client(base_url, api_key, pooled), _client(base_url, api_key, anew)


def _client(base_url: str, api_key: str, transport: httpx.AsyncBaseTransport) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=base_url,
        headers={
            "Authorization": f"Bearer {api_key}",
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
            "User-Agent": f"slack-project-bridge/{__version__}",
        },
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # the key is enough; there's no session
        transport=transport,
        trust_env=False,  # proxies are read by `bridge.proxies`
    )


class _Transport(AiohttpTransport):
    """aiohttp's transport, with the options of its *connector*."""

    def __init__(self, trusted: ssl.SSLContext, proxy: str | None, **connector: Any) -> None:
        super().__init__(verify=trusted, trust_env=False, proxy=httpx.Proxy(proxy) if proxy else None)
        self._connector = connector

    def get_client(self) -> aiohttp.ClientSession:
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


def _trusted() -> ssl.SSLContext:
    """Return the trusted certificates. Raises `ConfigurationError` if the environment names others that can't be read.

    https://www.python-httpx.org/advanced/ssl/#working-with-ssl_cert_file-and-ssl_cert_dir
    """
    try:
        return httpx.create_ssl_context()
    except OSError as exc:  # ssl.SSLError, too
        raise ConfigurationError(
            [f"SSL_CERT_FILE can't be read ({exc.strerror}): set it to a file of certificates (PEM), or remove it"]
        ) from None
