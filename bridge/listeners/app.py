"""The Bolt app: every surface registers its listeners here, for HTTP and Socket Mode alike.

``process_before_response=True`` lets a listener finish before Slack gets its answer, so what comes in is in Redis
before it is acknowledged; a listener that fails answers through ``@app.error``. Slack repeats an event that was not
acknowledged, and never a command, a click or a form: whoever sent one of those is told.
https://docs.slack.dev/tools/bolt-python/concepts/lazy-listeners

Bolt gets the body that `bridge.slack.reading` has parsed, over HTTP too: its own parser takes a command whose text
has the word "payload" in it for an interaction. What it would do a second time is off: the guard has checked the
signature and answered ``url_verification``, and who we are is known since the start, so that no request has to wait
for ``auth.test``.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Protocol

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bridge.listeners import shortcuts
from bridge.listeners.actions import first_field, parse_click
from bridge.listeners.door import NOT_TAKEN, Body, NotTaken, tell
from bridge.logs import new_reference
from bridge.metrics import Metrics
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.guard import PAYLOAD
from bridge.slack.payloads import RETRY, mapping
from bridge.slack.post import Recipient, Say
from bridge.slack.reading import Malformed, kind_in_envelope
from bridge.slack.sockets import Dispatch

log = logging.getLogger(__name__)


class Surface(Protocol):
    """Has listeners for one kind of thing that comes in from Slack."""

    def register(self, app: AsyncApp) -> None:
        """Add them to *app*."""
        ...


def slack_app(web: SlackWeb, identity: Identity, metrics: Metrics, say: Say, *surfaces: Surface) -> AsyncApp:
    """Make the app; *surfaces* listen in their order, and an event that is nobody's is acknowledged."""

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
        process_before_response=True,
        client=web.client,
        authorize=authorize,
        signing_secret="checked by the guard",  # noqa: S106 - not a secret: Bolt wants a word here
        request_verification_enabled=False,
        url_verification_enabled=False,
        ssl_check_enabled=False,
        ignoring_self_events_enabled=False,  # `bridge.listeners.messages` decides about bots, and says why
        attaching_conversation_kwargs_enabled=False,
    )
    for surface in surfaces:
        surface.register(app)

    @app.event(re.compile(".*"))
    async def on_other_event() -> None:
        metrics.event("event", "ignored")

    @app.error
    async def on_error(error: Exception, body: Body) -> BoltResponse:
        if not isinstance(error, NotTaken):  # as in the guard: whatever broke inside, Slack gets an answer
            log.error("a listener failed", exc_info=error, extra={"reference": new_reference()})
            metrics.rejected("broken_inside")
        return await _not_taken(body, identity, say)

    return app


async def _not_taken(body: Body, identity: Identity, say: Say) -> BoltResponse:
    """Have Slack send an event again; tell whoever sent what Slack doesn't repeat."""
    if "command" in body:
        return BoltResponse(status=HTTPStatus.OK, body={"response_type": "ephemeral", "text": NOT_TAKEN.text})
    match body.get("type"):
        case "view_submission":
            problem = {"response_action": "errors", "errors": {first_field(body): NOT_TAKEN.text}}
            return BoltResponse(status=HTTPStatus.OK, body=problem)
        case "block_suggestion":
            return BoltResponse(status=HTTPStatus.OK, body={"options": []})
        case "block_actions":
            click = parse_click(body, identity)
            await tell(say, Recipient(click.channel, click.user, click.thread_ts, click.response_url), NOT_TAKEN)
        case "shortcut" | "message_action":
            shortcut = shortcuts.parse(body, identity)
            await tell(say, Recipient(shortcut.channel, shortcut.user, response_url=shortcut.response_url), NOT_TAKEN)
        case _:
            return BoltResponse(status=HTTPStatus.SERVICE_UNAVAILABLE)
    return BoltResponse(status=HTTPStatus.OK)


def over_http(app: AsyncApp) -> ASGIApp:
    """*app* behind the guard, which has parsed the body."""

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        payload: Body = scope.pop(PAYLOAD)  # popped: an idle connection keeps its last scope
        for name, value in scope["headers"]:
            if name == b"x-slack-retry-num":  # https://docs.slack.dev/apis/events-api/#retries
                payload = {**payload, RETRY: value.decode("latin-1")}
        answer = await _dispatched(app, payload)
        await Response(answer.body, answer.status, answer.first_headers())(scope, receive, send)

    return endpoint


def over_socket(app: AsyncApp, metrics: Metrics, *, monotonic: Callable[[], float] = time.monotonic) -> Dispatch:
    """*app* for `bridge.slack.sockets`: an envelope's payload in, out what its acknowledgement carries."""

    async def dispatch(envelope: str, payload: dict[str, Any]) -> dict[str, Any] | None:
        began = monotonic()
        try:
            kind = kind_in_envelope(envelope, payload)
        except Malformed as exc:
            metrics.rejected(exc.reason)
            return {}  # it would be no better the next time
        try:
            answer = await _dispatched(app, payload)
        except Exception:  # as in the guard: whatever broke inside must not end the socket, and the bridge with it
            log.exception("an envelope broke inside", extra={"reference": new_reference()})
            metrics.rejected("broken_inside")
            return None
        metrics.acked(kind, monotonic() - began)
        if answer.status != HTTPStatus.OK:
            return None
        return dict(mapping(json.loads(answer.body))) if answer.body else {}

    return dispatch


async def _dispatched(app: AsyncApp, payload: Body) -> BoltResponse:
    return await app.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=payload))
