"""The local server's WebSocket protocol, in a separate module, as it needs the package ``websockets``."""

from __future__ import annotations

try:
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
except ModuleNotFoundError as missing:
    cure = "pip install 'slack-project-bridge[playground]'"
    raise ModuleNotFoundError(f"{missing.name} is missing: {cure}", name=missing.name) from None


class MutableWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket that can go silent but stay open, as if its other end hung."""

    is_muted = False

    def mute(self) -> None:
        """Neither send nor answer pings, and ignore the client; its disconnect is still noticed."""
        self.is_muted = True
        self.stop_keepalive()

    def data_received(self, data: bytes) -> None:
        """Process the client's data, unless muted."""
        if not self.is_muted:
            super().data_received(data)
