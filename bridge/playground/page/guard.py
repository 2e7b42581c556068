"""Protects the page from other web pages, and lets it load nothing from other servers.

The server listens on the loopback interface, but any web page in the same browser can send requests there. Those have
another Origin or, with DNS rebinding, another Host.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Guarded:
    """A protected ASGI application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it with a reason."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        problem = self._problem(scope["method"], Headers(scope=scope))
        app = PlainTextResponse(problem, status_code=403) if problem else self._app
        await app(scope, receive, send_with_headers)

    def _problem(self, method: str, headers: Headers) -> str:
        """Why the request is refused; empty if it isn't."""
        host = headers.get("host", "")
        if _hostname(host) not in _LOOPBACK:
            return "Unknown host. Open the playground at the address it printed."
        if method in {"GET", "HEAD"}:
            return ""
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return "Only the playground's own page can do that."
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return "Only JSON is accepted."
        return ""


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
