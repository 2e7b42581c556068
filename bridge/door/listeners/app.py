"""The Bolt app, for HTTP and Socket Mode.

``process_before_response=True`` runs a listener before Slack gets its answer, so every input is in Redis before it's
acknowledged; if a listener fails, ``@app.error`` answers. Slack retries events that weren't acknowledged, but never
commands, clicks or forms, so their sender gets a notice. https://docs.slack.dev/tools/bolt-python/concepts/lazy-listeners

A listener parses, checks access, stores, and acknowledges. `bridge.features.conversations` checks and stores messages
and stops, `Intake` all other inputs.

Bolt's own checks are off: the guard has checked the signature and answered ``url_verification``, and the bot's identity
is known from the start, so no request waits for ``auth.test``. Bolt tries its listeners in order, at 10 µs for each
that doesn't match, so those for messages come first.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Protocol

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bridge.ends.failures import failure
from bridge.engine.addressing import Addressing
from bridge.engine.finished_turns import action_name
from bridge.errors import NotAllowed, ProjectError, SlackError, StoreUnavailable
from bridge.features.registry import features
from bridge.inbound import SLACK_ITSELF, Inbound, Interaction, Notice, to_json
from bridge.json_reader import Json
from bridge.logs import new_reference
from bridge.metrics import Metrics
from bridge.policy.policy import Policy
from bridge.queue.inbox import Inbox
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.payloads import DELETED, MESSAGES, Dispatch, mapping

log = logging.getLogger(__name__)

IN_TIME = timedelta(seconds=2.3)
"""Slack waits 3 s for an answer, including the time on the network."""

STORE_WITHIN = timedelta(seconds=1.5)
"""After this time, Redis stores nothing: after 2 s without an answer, Slack shows people that their command failed, so
it mustn't run later."""


class NotStored(Exception):
    """The inbox couldn't store an input in time. Slack retries events; the sender of any other input is notified."""


@asynccontextmanager
async def in_time(kind: str, metrics: Metrics) -> AsyncIterator[None]:
    """Cancel the block while Slack still waits. Raises `NotStored` then, and if what's needed is unavailable."""
    try:
        async with asyncio.timeout(IN_TIME.total_seconds()):
            yield
    except (StoreUnavailable, SlackError, ProjectError, TimeoutError) as exc:
        denied = {"denied": exc.denied} if isinstance(exc, StoreUnavailable) and exc.denied else {}
        log.warning("event not accepted", extra={"kind": kind, "why": type(exc).__name__, **denied})
        metrics.event(kind, "not stored")
        raise NotStored from exc


@dataclass(frozen=True, slots=True)
class Intake:
    """Stores commands, clicks, forms and opened tabs in the inbox, each with its project."""

    inbox: Inbox
    policy: Policy
    metrics: Metrics
    addressing: Addressing

    async def accept(self, inbound: Inbound, *, identity: str = "") -> None:
        """Store *inbound* once per *identity*, or a notice if its person has no access. Raises `NotStored`.

        The identity makes replays of signed requests and of envelopes harmless: it's stored in the same step, for
        longer than a signature is valid. A separate list of signatures would cost a round trip. By default, the
        identity is Slack's trigger ID, or else a hash of the contents.
        """
        if inbound.user in SLACK_ITSELF:
            self.metrics.event(inbound.kind, "ignored")
            return
        if not identity and isinstance(inbound, Interaction) and (trigger := inbound.trigger_id):
            identity = f"trigger:{trigger}"
        elif not identity:
            identity = f"contents:{hashlib.sha256(to_json(inbound).encode()).hexdigest()}"
        async with in_time(inbound.kind, self.metrics):
            inbound = await self.addressing.assign(inbound)
            refusal = await self.policy.refusal(inbound)
            if refusal is not None and inbound.is_greeting:
                self.metrics.event(inbound.kind, "ignored")  # the person gets a notice when they write
                return
            stored: Inbound = inbound
            if refusal is not None and "refusal" in (fields := type(inbound).model_fields):
                instead = {"refusal": refusal, "text": "", "parts": ()}
                stored = inbound.model_copy(update={name: value for name, value in instead.items() if name in fields})
            elif refusal is not None:
                of = action_name(inbound, features.commands.fixed_words)
                stored = Notice.about(inbound, refusal, failure(NotAllowed(refusal)).stored(), of=of)
            put = await self.inbox.put(stored, event=identity, within=STORE_WITHIN)
        outcome = "queued" if refusal is None else "refused"
        self.metrics.event(inbound.kind, "duplicate" if put.end == "duplicate" else outcome)


class Surface(Protocol):
    """Related listeners."""

    def register(self, app: AsyncApp) -> None:
        """Add the listeners to *app*."""
        ...


class OwnMessages(AsyncMiddleware):
    """Acknowledges the bot's own messages and edits, which Slack sends back, before Bolt looks for a listener.

    They are up to half of all events.
    """

    def __init__(self, identity: Identity, metrics: Metrics) -> None:
        self._identity = identity
        self._metrics = metrics

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,  # noqa: ARG002 - Bolt's signature
        next: Callable[[], Awaitable[BoltResponse]],  # noqa: A002 - Bolt's name for it
    ) -> BoltResponse | None:
        """Answer the request, or let it pass."""
        event = mapping(req.body.get("event"))
        kind = event.get("type")
        message = mapping(event.get("message")) if event.get("subtype") == "message_changed" else event
        if kind not in MESSAGES or message.get("subtype") in DELETED or not self._identity.wrote(message):
            return await next()
        self._metrics.event(str(kind), "ignored")
        return BoltResponse(status=HTTPStatus.OK)


def slack_app(
    web: SlackWeb,
    identity: Identity,
    metrics: Metrics,
    answer_not_stored: Callable[[Json], Awaitable[BoltResponse]],
    *surfaces: Surface,
) -> AsyncApp:
    """Return the app; *surfaces* are tried in order, and events without a listener are acknowledged.

    *answer_not_stored* answers requests whose input couldn't be stored.
    """

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=identity.enterprise or None,
            team_id=identity.team,
            bot_user_id=identity.bot_user,
            bot_id=identity.bot_id,
            bot_token=web.client.token,
        )

    app = AsyncApp(
        # Without a name, Bolt reads the source files of the whole call stack to find one. The logger with this name
        # gets the level of Bolt's logger.
        name="slack_bolt.app",
        logger=logging.getLogger("slack_bolt"),  # sets the level of Bolt's loggers, which print payloads by default
        process_before_response=True,
        client=web.client,
        before_authorize=OwnMessages(identity, metrics),
        authorize=authorize,
        signing_secret="checked by the guard",  # noqa: S106 - not a secret: Bolt requires one
        request_verification_enabled=False,
        url_verification_enabled=False,
        ssl_check_enabled=False,
        ignoring_self_events_enabled=False,  # `bridge.door.listeners.messages` decides about bots, and says why
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
        if not isinstance(error, NotStored):
            log.error("a listener failed", exc_info=error, extra={"reference": new_reference()})
            metrics.rejected.labels("broken_inside").inc()
        return await answer_not_stored(body)

    return app


def dispatcher(answer: Dispatch, metrics: Metrics) -> Dispatch:
    """Return *answer* for the guard and the sockets, such that Slack is answered even if it fails."""

    async def dispatch(request: AsyncBoltRequest) -> BoltResponse:
        try:
            return await answer(request)
        except Exception:  # else the request stays unanswered, or the socket and the bridge end
            log.exception("request failed unexpectedly", extra={"reference": new_reference()})
            metrics.rejected.labels("broken_inside").inc()
            return BoltResponse(status=HTTPStatus.SERVICE_UNAVAILABLE, body="unavailable")

    return dispatch
