"""`Requests`: HTTP to the project service, for reads, and for requests that mustn't be repeated.

A server may close an idle connection at any moment. If a request is on its way then, it's unknown whether it arrived,
and no check beforehand can exclude that. A read is simply repeated. A chat or a run isn't, so each has a connection of
its own. Measured on one machine, that takes 0.4 ms more (2.7 ms with TLS), and the network's two or three round trips,
of an answer that takes seconds.

aiohttp gets responses as `bridge.project.framing` frames them, so that an answer that arrived whole isn't lost.
"""

from __future__ import annotations

import asyncio
import functools
import os
import ssl
from collections.abc import Callable
from typing import Any, Protocol

import aiohttp
import certifi
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

from bridge import __version__
from bridge.errors import ConfigurationError
from bridge.project.framing import LONGEST_HEADER, MOST_HEADERS, Framing
from bridge.project.reading import ServiceResponse
from bridge.proxies import proxy_for

_KEEP_ALIVE = 4.0  # seconds; less than the 5 s after which Node and uvicorn close an idle connection
_ERROR_BODY_SECONDS = 2.0  # an error's status matters more than its body


class ServiceTransport(Protocol):
    """Sends requests: `Requests` does, and tests have another."""

    async def send(
        self, path: str, content: bytes | None, received: ServiceResponse, *, connect: float, read: float
    ) -> None:
        """Send a read, or a request with JSON *content*, and fill *received*. The time limits are in seconds.

        Raises aiohttp's errors, TimeoutError and OSError; what arrived before is in *received*.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


class Requests:
    """Sends requests to *base_url* with aiohttp.

    Raises `ConfigurationError` if the environment names a proxy or certificates that can't be used.
    """

    def __init__(self, base_url: str, api_key: str) -> None:
        self._base_url, self._proxy = base_url, proxy_for(base_url)
        self._trusted = _trusted(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")))
        self._of_read = {
            "Authorization": f"Bearer {api_key}",
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
            "User-Agent": f"slack-project-bridge/{__version__}",
        }
        self._of_json = {**self._of_read, "Content-Type": "application/json"}
        self._sessions: tuple[aiohttp.ClientSession, aiohttp.ClientSession] | None = None
        self._is_closed = False

    async def send(
        self, path: str, content: bytes | None, received: ServiceResponse, *, connect: float, read: float
    ) -> None:
        """See `ServiceTransport.send`."""
        if self._is_closed:
            raise RuntimeError("the client is closed")
        if self._sessions is None:  # they belong to the running loop
            reads = _session(self._trusted, keepalive_timeout=_KEEP_ALIVE)
            self._sessions = reads, _session(self._trusted, force_close=True)
        reads, changes = self._sessions
        session, verb, headers = (reads, "GET", self._of_read) if content is None else (changes, "POST", self._of_json)
        async with session.request(
            verb,
            f"{self._base_url}{path}",
            headers=headers,  # as the session's, they'd go to the proxy, too
            data=content,
            timeout=aiohttp.ClientTimeout(connect=connect, sock_read=read),
            proxy=self._proxy,
            allow_redirects=False,
        ) as response:
            received.begin(response.status, response.raw_headers)
            try:
                async with asyncio.timeout(None if received.is_success else _ERROR_BODY_SECONDS):
                    async for chunk in response.content.iter_any():
                        if received.add(chunk):
                            break
            except (aiohttp.ClientError, TimeoutError, OSError):
                if received.is_success:  # else its status is enough
                    raise

    async def aclose(self) -> None:
        """See `ServiceTransport.aclose`."""
        self._is_closed = True
        for session in self._sessions or ():
            await session.close()


def _session(trusted: ssl.SSLContext, **connector: Any) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=_Connector(ssl=trusted, limit=0, **connector),  # 0: no limit
        auto_decompress=False,  # `bridge.project.reading` does it by what it is, whatever the headers say
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
def _trusted(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Return the trusted certificates. Raises `ConfigurationError` if the environment names others that can't be read.

    Reading them takes 40 ms, so all projects have the same ones.
    """
    try:
        return ssl.create_default_context(cafile=file or (None if folder else certifi.where()), capath=folder)
    except OSError as exc:  # ssl.SSLError, too
        raise ConfigurationError(
            [f"SSL_CERT_FILE can't be read ({exc.strerror}): set it to a file of certificates (PEM), or remove it"]
        ) from None
