"""A small app connected by Slack's own Socket Mode client, for the emulated Slack."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import Connection, EmulatedSlack
from support.waiting import wait_until

APP_TOKEN = "xapp-1-A0BRIDGE-a-token"
PING_SECONDS = 0.5


class SocketApp:
    """Records envelopes and other messages; *answer* returns an ack's payload, unless *is_deaf*."""

    def __init__(self, slack: EmulatedSlack) -> None:
        self.envelopes: list[SocketModeRequest] = []
        self.messages: list[dict[str, Any]] = []
        self.answer: Callable[[SocketModeRequest], dict[str, Any] | None] = lambda _: None
        self.is_deaf = False
        web_client = AsyncWebClient(base_url=slack.api_url, retry_handlers=[])
        self.client = SocketModeClient(APP_TOKEN, web_client=web_client, ping_interval=PING_SECONDS)
        self.client.message_listeners.append(self._message)
        self.client.socket_mode_request_listeners.append(self._take)

    @property
    def texts(self) -> list[str]:
        """The texts of the messages it received."""
        return [one.payload["event"]["text"] for one in self.envelopes if one.type == "events_api"]

    async def _message(self, _: AsyncBaseSocketModeClient, message: dict[str, Any], __: str | None) -> None:
        self.messages.append(message)

    async def _take(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        self.envelopes.append(request)
        if not self.is_deaf:
            await client.send_socket_mode_response(SocketModeResponse(request.envelope_id, self.answer(request)))


@asynccontextmanager
async def connected(slack: EmulatedSlack, count: int = 1) -> AsyncIterator[list[SocketApp]]:
    """That many apps, each with an open socket, in the order of `EmulatedSlack.sockets`."""
    async with AsyncExitStack() as stack:
        apps: list[SocketApp] = []
        for _ in range(count):
            apps.append(app := SocketApp(slack))
            stack.push_async_callback(app.client.close)
            await app.client.connect()  # type: ignore[no-untyped-call]
            await wait_until(lambda: apps[-1].messages, "Slack says hello")
        yield apps


def envelopes(connection: Connection) -> list[dict[str, Any]]:
    """The envelopes sent on a connection that need an ack."""
    return [message for message in connection.sent if "envelope_id" in message]
