"""A project service that is a function, for tests of what lies behind HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any, cast

import aiohttp
import httpx

from bridge.project.reading import ServiceResponse

_KEY: Any = SimpleNamespace(host="project.example", port=80, ssl=None)
_RAISED: Mapping[type[httpx.HTTPError], Callable[[], Exception]] = MappingProxyType(
    {
        httpx.ConnectError: lambda: aiohttp.ClientConnectorError(_KEY, OSError("refused")),
        httpx.ConnectTimeout: aiohttp.ConnectionTimeoutError,
        httpx.ReadTimeout: aiohttp.SocketTimeoutError,
        httpx.ReadError: aiohttp.ServerDisconnectedError,
    }
)
"""What aiohttp raises where the function raises an error of httpx."""


class MockService:
    """Passes requests to *answer*, in place of `bridge.project.transport.Requests`."""

    def __init__(self, answer: Callable[[httpx.Request], httpx.Response | Awaitable[httpx.Response]]) -> None:
        self._transport = httpx.MockTransport(answer)  # type: ignore[arg-type]

    async def send(
        self, path: str, content: bytes | None, received: ServiceResponse, *, connect: float, read: float
    ) -> None:
        """Fill *received* with the answer."""
        del connect, read
        verb = "GET" if content is None else "POST"
        request = httpx.Request(verb, f"http://project.example/api/sdk/{path}", content=content)
        try:
            response = await self._transport.handle_async_request(request)
        except httpx.HTTPError as exc:
            error = _RAISED[type(exc)]()
            raise error from exc
        received.begin(response.status_code, ((name.lower(), value) for name, value in response.headers.raw))
        async for chunk in cast("httpx.AsyncByteStream", response.stream):
            received.add(chunk)

    async def aclose(self) -> None:
        """Nothing is open."""
