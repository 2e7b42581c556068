"""uvicorn's HTTP/1.1 with the bounds that it does not have.

Left alone, it keeps every header line that anybody sends, waits for ever for a request to be completed, and
resets a connection whose request was answered before it was read, so that the client never sees the answer.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 64 * 1024  # request line and headers; Slack's are about 1 KiB
HEAD_SECONDS = 10.0
LINGER_SECONDS = 2.0  # how long the rest of a request is thrown away after its answer
LINGER_BYTES = 32 * 1024 * 1024


class BoundedHttp(HttpToolsProtocol):
    """One connection, with a bound on the size and the time of a request's head, and on what follows an answer."""

    _head_bytes = 0
    _thrown_away = 0
    _is_in_head = True
    _is_lingering = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Expect a request's head, soon."""
        super().connection_made(transport)
        self._close_in(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer, which would keep the connection's objects alive."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what is not yet, or no longer, part of a request that is being read."""
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._timer is None:
                self._close_in(HEAD_SECONDS)
        elif self._is_lingering:
            self._thrown_away += len(data)
        super().data_received(data)
        is_head_too_large = self._is_in_head and self._head_bytes > LARGEST_HEAD
        if is_head_too_large or self._thrown_away > LINGER_BYTES:
            self.transport.close()

    def on_headers_complete(self) -> None:
        """Hand the request on; its body is the application's to bound."""
        self._is_in_head = False
        self._head_bytes = 0
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Expect the next head."""
        super().on_message_complete()
        self._is_in_head = True
        if self._is_lingering:
            self._is_lingering = False
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Throw the rest of an unread request away for a while: closing at once would reset the answer too."""
        super().on_response_complete()
        if self.cycle.more_body and not self.transport.is_closing():
            self._is_lingering = True
            self._close_in(LINGER_SECONDS)

    def _close_in(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
