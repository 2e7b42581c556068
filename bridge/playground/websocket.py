"""The WebSocket protocol of the local server. It needs the package ``websockets``, which the rest does without."""

from __future__ import annotations

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


class MutableWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket that can fall silent and stay open, as one does whose other end has hung."""

    is_muted = False

    def mute(self) -> None:
        """Answer no ping, send none, and hear nothing that the client says; that it leaves is still noticed."""
        self.is_muted = True
        self.stop_keepalive()

    def data_received(self, data: bytes) -> None:
        """Take what the client sends, unless nothing shall be heard any more."""
        if not self.is_muted:
            super().data_received(data)
