"""Who listens to what comes in, the same for HTTP and for Slack's socket: Bolt's `AsyncApp` with our surfaces.

What Bolt would do a second time is off: the guard has checked the signature and answered `url_verification`, and
who we are is known since the start, so that no request has to wait for `auth.test`.

Messages, nearly all that comes in, go past Bolt straight to their surface. Bolt would read them again, make a client
and a context for each, and ask one listener after the other, a third of what an acknowledgement costs, to find the
same function; without it the benchmark acknowledges 1.5 times as many in a second.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol, cast

from slack_bolt.adapter.asgi.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bridge.metrics import Metrics
from bridge.slack.door import Surface as Take
from bridge.slack.guard import PAYLOAD
from bridge.slack.payloads import RETRY, is_message, mapping
from bridge.slack.server import EVENTS_PATH
from bridge.slack.sockets import Dispatch
from bridge.slack.web import Identity, SlackWeb


class Surface(Protocol):
    """One kind of thing that comes in from Slack."""

    def register(self, app: AsyncApp) -> None:
        """Listen to it."""
        ...


def bolt_app(web: SlackWeb, identity: Identity, *surfaces: Surface) -> AsyncApp:
    """Build the app, in which every surface listens to its own payloads, in this order."""

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=identity.enterprise or None,
            team_id=identity.team,
            bot_user_id=identity.bot_user,
            bot_id=identity.bot_id,
            bot_token=web.client.token,
        )

    app = AsyncApp(
        # Without a name Bolt reads the source files of the whole call stack to find one; and the logger of that name
        # gets the level of Bolt's.
        name="slack_bolt.app",
        logger=logging.getLogger("slack_bolt"),  # whose level its loggers take: by themselves they print payloads
        client=web.client,
        authorize=authorize,
        signing_secret="checked by the guard",  # noqa: S106 - not a secret: Bolt wants a word here
        request_verification_enabled=False,
        url_verification_enabled=False,
        ssl_check_enabled=False,
        ignoring_self_events_enabled=False,  # `bridge.slack.messages` decides about bots, and says why
        attaching_conversation_kwargs_enabled=False,
    )
    for surface in surfaces:
        surface.register(app)
    return app


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who takes in what Slack sends: *on_message* the messages, *bolt* everything else."""

    bolt: AsyncApp
    on_message: Take


def over_socket(listeners: Listeners, metrics: Metrics, monotonic: Callable[[], float]) -> Dispatch:
    """*listeners* for `bridge.slack.sockets`: what comes in, and what is sent back with its acknowledgement."""

    async def dispatch(kind: str, payload: dict[str, Any]) -> dict[str, Any] | None:
        if kind not in _ENVELOPES:
            return {}
        began = monotonic()
        if is_message(payload):
            response = await listeners.on_message(payload)
        else:
            response = await listeners.bolt.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=payload))
        metrics.acked(_ENVELOPES[kind], monotonic() - began)
        if response.status != HTTPStatus.OK:
            return None
        return dict(mapping(json.loads(response.body))) if response.body else {}

    return dispatch


_ENVELOPES = {"events_api": "event", "slash_commands": "command", "interactive": "click"}
"""The kinds of envelopes that carry something, by what the metrics call them."""


def over_http(listeners: Listeners) -> ASGIApp:
    """*listeners* to stand behind the guard, which has read the messages already."""
    bolt = AsyncSlackRequestHandler(listeners.bolt, path=EVENTS_PATH)
    adapter = cast(ASGIApp, bolt)  # its own types are narrower than ASGI's

    async def front(scope: Scope, receive: Receive, send: Send) -> None:
        payload = scope.pop(PAYLOAD, None)  # popped: an idle connection keeps its last scope
        if payload is None:
            await adapter(scope, receive, send)
            return
        response = await listeners.on_message(_with_retry(payload, scope))
        await Response(response.body, response.status)(scope, receive, send)

    return front


def _with_retry(payload: dict[str, Any], scope: Scope) -> dict[str, Any]:
    """Give *payload* as the socket would have it: https://docs.slack.dev/apis/events-api/#retries."""
    for name, value in scope["headers"]:
        if name == b"x-slack-retry-num":
            return {**payload, RETRY: value.decode("latin-1")}
    return payload
