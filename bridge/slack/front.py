"""Who takes in what Slack sends, the same over HTTP and over Slack's socket: Bolt, but for messages and commands.

These, nearly all that comes in, go past Bolt straight to their surface. Bolt would read them again, make a client
and a context for each, and ask one listener after the other, a third of what an acknowledgement costs, to find the
same function; without it the benchmark acknowledges 1.5 times as many messages in a second. (Nor does Bolt 1.30 know
a command whose text has the word "payload" in it.)

And they can be taken in before Bolt, what commands do and the layouts are even read from the disk, which is half of
what a start costs: whatever is for Bolt waits for that fraction of a second.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

from starlette.responses import JSONResponse, Response as HttpResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bridge.logs import new_reference
from bridge.metrics import Metrics
from bridge.slack.door import Body, Response, Surface
from bridge.slack.guard import PAYLOAD
from bridge.slack.payloads import RETRY, is_message
from bridge.slack.reading import Malformed, kind_in_envelope
from bridge.slack.sockets import Dispatch

log = logging.getLogger(__name__)


class Rest(Protocol):
    """Takes in whatever is no message and no command: `bridge.slack.bolt.Bolt`."""

    async def over_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        ...

    async def over_socket(self, payload: Body) -> Response:
        """Answer what one envelope carries."""
        ...


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who takes in what Slack sends: its messages, its commands, and *rest* everything else, as soon as it is there."""

    on_message: Surface
    on_command: Surface
    rest: asyncio.Future[Rest]

    async def surface(self, payload: Body, *, is_command: bool) -> Surface:
        """Say who takes *payload* in."""
        if is_message(payload):
            return self.on_message
        return self.on_command if is_command else (await self.once_whole()).over_socket

    async def once_whole(self) -> Rest:
        """Wait for the rest."""
        # Shielded: a future that is awaited by itself is cancelled, for everybody, with the first of those who wait.
        return await asyncio.shield(self.rest)


def over_socket(listeners: Listeners, metrics: Metrics, *, monotonic: Callable[[], float] = time.monotonic) -> Dispatch:
    """*listeners* for `bridge.slack.sockets`: what comes in, and what is sent back with its acknowledgement."""

    async def dispatch(envelope: str, payload: dict[str, Any]) -> dict[str, Any] | None:
        began = monotonic()
        try:
            kind = kind_in_envelope(envelope, payload)
            take = await listeners.surface(payload, is_command=kind == "command")
            response = await take(payload)
        except Malformed as exc:
            metrics.rejected(exc.reason)
            return {}  # it would be no better the next time
        except Exception:  # as in the guard: whatever broke inside must not end the socket, and the bridge with it
            log.exception("an envelope broke inside", extra={"reference": new_reference()})
            metrics.rejected("broken_inside")
            return None
        metrics.acked(kind, monotonic() - began)
        return (response.body or {}) if response.status == HTTPStatus.OK else None

    return dispatch


def over_http(listeners: Listeners) -> ASGIApp:
    """*listeners* to stand behind the guard, which has read messages and commands already."""

    async def front(scope: Scope, receive: Receive, send: Send) -> None:
        payload = scope.pop(PAYLOAD, None)  # popped: an idle connection keeps its last scope
        if payload is None:
            await (await listeners.once_whole()).over_http(scope, receive, send)
            return
        take = await listeners.surface(payload, is_command=True)  # if it is no message: the guard reads nothing else
        response = await take(_with_retry(payload, scope))
        await _answer(response)(scope, receive, send)

    return front


def _answer(response: Response) -> HttpResponse:
    return JSONResponse(response.body, response.status) if response.body else HttpResponse("", response.status)


def _with_retry(payload: dict[str, Any], scope: Scope) -> dict[str, Any]:
    """Give *payload* as the socket would have it: https://docs.slack.dev/apis/events-api/#retries."""
    for name, value in scope["headers"]:
        if name == b"x-slack-retry-num":
            return {**payload, RETRY: value.decode("latin-1")}
    return payload
