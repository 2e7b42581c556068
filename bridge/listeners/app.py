"""The Bolt app, for HTTP and Socket Mode alike.

``process_before_response=True`` runs a listener before Slack gets its answer, so everything is in Redis before it is
acknowledged; for a listener that fails, ``@app.error`` answers. Slack retries an event that was not acknowledged, but
never a command, a click or a form: the person who sent one of those is told.
https://docs.slack.dev/tools/bolt-python/concepts/lazy-listeners

What Bolt would do a second time is turned off: the guard has checked the signature and answered ``url_verification``,
and the bot's identity is known since the start, so that no request waits for ``auth.test``. Bolt asks its listeners one
after the other, at 10 µs for each that doesn't match: those for messages come first.
"""

from __future__ import annotations

import asyncio
import logging
import re
from http import HTTPStatus
from typing import Final, Protocol

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bridge.errors import SlackError
from bridge.features import notices
from bridge.inbound import Click, Shortcut
from bridge.listeners.door import NotTaken
from bridge.listeners.interactions import first_field, parse_click, parse_shortcut
from bridge.logs import new_reference
from bridge.metrics import Metrics
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.payloads import Dispatch, Json
from bridge.slack.post import Recipient, Say

log = logging.getLogger(__name__)

_NOT_TAKEN: Final = notices.not_taken()


class Surface(Protocol):
    """Listeners that belong together."""

    def register(self, app: AsyncApp) -> None:
        """Add them to *app*."""
        ...


def slack_app(web: SlackWeb, identity: Identity, metrics: Metrics, say: Say, *surfaces: Surface) -> AsyncApp:
    """Make the app; *surfaces* are asked in their order, and an event without a listener is acknowledged."""

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
        attaching_function_token_enabled=False,
    )
    for surface in surfaces:
        surface.register(app)

    @app.event(re.compile(".*"))
    async def on_other_event() -> None:
        metrics.event("event", "ignored")

    @app.error
    async def on_error(error: Exception, body: Json) -> BoltResponse:
        if not isinstance(error, NotTaken):
            log.error("a listener failed", exc_info=error, extra={"reference": new_reference()})
            metrics.rejected("broken_inside")
        return await _not_taken(body, identity, say)

    return app


async def _not_taken(body: Json, identity: Identity, say: Say) -> BoltResponse:
    """Have Slack retry an event; tell the person who sent anything that Slack doesn't retry."""
    if "command" in body:
        return BoltResponse(status=HTTPStatus.OK, body={"response_type": "ephemeral", "text": _NOT_TAKEN.text})
    sent: Click | Shortcut
    match body.get("type"):
        case "view_submission":
            problem = {"response_action": "errors", "errors": {first_field(body): _NOT_TAKEN.text}}
            return BoltResponse(status=HTTPStatus.OK, body=problem)
        case "block_suggestion":
            return BoltResponse(status=HTTPStatus.OK, body={"options": []})
        case "block_actions":
            sent = parse_click(body, identity)
        case "shortcut" | "message_action":
            sent = parse_shortcut(body, identity)
        case _:
            return BoltResponse(status=HTTPStatus.SERVICE_UNAVAILABLE)
    recipient = Recipient(sent.channel, sent.user, sent.thread_ts if isinstance(sent, Click) else "", sent.response_url)
    if recipient.can_be_told:
        try:
            async with asyncio.timeout(0.5):  # what is left of Slack's three seconds
                await say.whisper(recipient, _NOT_TAKEN)
        except (SlackError, TimeoutError):
            log.warning("a person could not be told that something was not taken")
    return BoltResponse(status=HTTPStatus.OK)


def dispatcher(app: AsyncApp, metrics: Metrics) -> Dispatch:
    """*app* for the guard and the sockets: whatever fails in it, Slack gets an answer that it understands."""

    async def dispatch(request: AsyncBoltRequest) -> BoltResponse:
        try:
            return await app.async_dispatch(request)
        except Exception:  # it must end neither the request without an answer, nor a socket, and the bridge with it
            log.exception("a request broke inside", extra={"reference": new_reference()})
            metrics.rejected("broken_inside")
            return BoltResponse(status=HTTPStatus.SERVICE_UNAVAILABLE, body="unavailable")

    return dispatch
