"""Bolt's `AsyncApp` with our surfaces: clicks, forms, menus, shortcuts, and every event but messages.

What Bolt would do a second time is off: the guard has checked the signature and answered `url_verification`, and
who we are is known since the start, so that no request has to wait for `auth.test`.

Bolt acknowledges an event *before* its listener runs, so a listener that fails loses it. What runs before the
acknowledgement is listener middleware: every surface is one, and its return value is Slack's answer.
https://docs.slack.dev/tools/bolt-python/concepts/listener-middleware
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from typing import Any, Protocol, cast

from slack_bolt.adapter.asgi.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bridge.metrics import Metrics
from bridge.slack.door import Body, Response, Surface, ok
from bridge.slack.payloads import mapping
from bridge.slack.server import EVENTS_PATH
from bridge.slack.web import Identity, SlackWeb


class Registers(Protocol):
    """Has surfaces for one kind of thing that comes in from Slack."""

    def register(self, app: AsyncApp) -> None:
        """Listen to it."""
        ...


def listen(register: Callable[..., Any], surface: Surface) -> None:
    """Let *surface* answer what *register* (``app.event("reaction_added")`` and its like) matches."""

    async def before_the_ack(body: Body) -> BoltResponse:
        response = await surface(body)
        return BoltResponse(status=response.status, body=response.body or "")

    async def nothing_is_left_to_do() -> None:
        """Bolt wants a listener behind its middleware."""

    register(middleware=[before_the_ack])(nothing_is_left_to_do)


class Bolt:
    """The app, in which each of *surfaces* listens to its own payloads, in this order; other events are let pass."""

    def __init__(self, web: SlackWeb, identity: Identity, metrics: Metrics, *surfaces: Registers) -> None:
        self._app = app = _app(web, identity)
        # Bolt's types are narrower than ASGI's.
        self._http = cast(ASGIApp, AsyncSlackRequestHandler(app, path=EVENTS_PATH))
        for surface in surfaces:
            surface.register(app)

        async def on_other(_: Body) -> Response:
            metrics.event("event", "ignored")
            return ok()

        listen(lambda **how: app.event(re.compile(".*"), **how), on_other)

    async def over_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request that the guard has let pass."""
        await self._http(scope, receive, send)

    async def over_socket(self, payload: Body) -> Response:
        """Answer what one envelope carries."""
        response = await self._app.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=payload))
        return Response(response.status, dict(mapping(json.loads(response.body))) if response.body else None)


def _app(web: SlackWeb, identity: Identity) -> AsyncApp:
    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=identity.enterprise or None,
            team_id=identity.team,
            bot_user_id=identity.bot_user,
            bot_id=identity.bot_id,
            bot_token=web.client.token,
        )

    return AsyncApp(
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
