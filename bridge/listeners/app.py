"""The Bolt app, for HTTP and Socket Mode.

``process_before_response=True`` runs a listener before Slack gets its answer, so everything is in Redis before it's
acknowledged; if a listener fails, ``@app.error`` answers. Slack retries events that weren't acknowledged, but never
commands, clicks or forms, so their sender gets a notice. https://docs.slack.dev/tools/bolt-python/concepts/lazy-listeners

A listener parses, checks access, stores, and acknowledges. `bridge.features.conversations` checks and stores messages
and stops, `Door` everything else.

What Bolt would repeat is turned off: the guard has checked the signature and answered ``url_verification``, and the
bot's identity is known since the start, so that no request waits for ``auth.test``. Bolt tries its listeners in order,
at 10 µs for each that doesn't match, so those for messages come first.
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
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bridge.errors import SlackError, StoreUnavailable
from bridge.features.access import Access
from bridge.features.activity import action_name
from bridge.features.registry import features
from bridge.inbound import SLACK_ITSELF, Inbound, Notice, to_json
from bridge.logs import new_reference
from bridge.metrics import Metrics
from bridge.queue.inbox import Duplicate, Inbox
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.payloads import Dispatch, Json

log = logging.getLogger(__name__)

IN_TIME = timedelta(seconds=2.3)
"""Slack waits 3 s for its answer, the way there and back included."""

KEPT_WITHIN = timedelta(seconds=1.5)
"""Redis stores nothing later than this: after 2 s without an answer, people are shown that a command was refused, so
it must not run later."""


class NotStored(Exception):
    """The inbox couldn't store an event in time. Slack repeats some kinds; people are notified of the others."""


@asynccontextmanager
async def in_time(kind: str, metrics: Metrics) -> AsyncIterator[None]:
    """Cancel the block while Slack still waits. Raises `NotStored` then, and if Redis or Slack is unavailable."""
    try:
        async with asyncio.timeout(IN_TIME.total_seconds()):
            yield
    except (StoreUnavailable, SlackError, TimeoutError) as exc:
        log.warning("event not accepted", extra={"kind": kind, "why": type(exc).__name__})
        metrics.event(kind, "not stored")
        raise NotStored from exc


@dataclass(frozen=True, slots=True)
class Door:
    """Stores commands, clicks, forms and opened tabs in the inbox."""

    inbox: Inbox
    access: Access
    metrics: Metrics

    async def take(self, inbound: Inbound, *, identity: str = "") -> None:
        """Store *inbound* once per *identity*, or a notice if its person has no access. Raises `NotStored`.

        The identity makes replays harmless, of signed requests as well as envelopes: it's stored in the same step, for
        longer than a signature is valid. A separate list of signatures would cost a round trip. By default it's Slack's
        trigger ID, or else a hash of the contents.
        """
        if inbound.user in SLACK_ITSELF:
            self.metrics.event(inbound.kind, "ignored")
            return
        if not identity and (trigger := getattr(inbound, "trigger_id", "")):
            identity = f"trigger:{trigger}"
        elif not identity:
            identity = f"contents:{hashlib.sha256(to_json(inbound).encode()).hexdigest()}"
        async with in_time(inbound.kind, self.metrics):
            refusal = await self.access.refusal(inbound)
            if refusal is not None and inbound.is_greeting:
                self.metrics.event(inbound.kind, "ignored")  # they get a notice when they write
                return
            kept = inbound if refusal is None else _refused(inbound, refusal)
            put = await self.inbox.put(kept, event=identity, within=KEPT_WITHIN)
        outcome = "queued" if refusal is None else "refused"
        self.metrics.event(inbound.kind, "duplicate" if isinstance(put, Duplicate) else outcome)


def _refused(inbound: Inbound, why: str) -> Inbound:
    """Return what is stored instead: a notice, or *inbound* with the reason if a notice can't reach the person."""
    fields = type(inbound).model_fields
    if "refusal" in fields:
        instead = {"refusal": why, "text": "", "parts": ()}
        return inbound.model_copy(update={name: value for name, value in instead.items() if name in fields})
    return Notice(
        team=inbound.team,
        channel=getattr(inbound, "opened_in", "") or inbound.channel,
        user=inbound.user,
        what=why,
        of=action_name(inbound, features.fixed_words),
        response_url=getattr(inbound, "response_url", ""),
        thread_ts=getattr(inbound, "thread_ts", ""),
    )


class Surface(Protocol):
    """Related listeners."""

    def register(self, app: AsyncApp) -> None:
        """Add them to *app*."""
        ...


def slack_app(
    web: SlackWeb,
    identity: Identity,
    metrics: Metrics,
    answer_not_stored: Callable[[Json], Awaitable[BoltResponse]],
    *surfaces: Surface,
) -> AsyncApp:
    """Make the app; *surfaces* are tried in order, and events without a listener are acknowledged.

    *answer_not_stored* answers what couldn't be stored.
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
        # Without a name, Bolt reads the source files of the whole call stack to find one. The logger of that name gets
        # the level of Bolt's.
        name="slack_bolt.app",
        logger=logging.getLogger("slack_bolt"),  # its loggers take this level: by default they print payloads
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
        if not isinstance(error, NotStored):
            log.error("a listener failed", exc_info=error, extra={"reference": new_reference()})
            metrics.rejected.labels("broken_inside").inc()
        return await answer_not_stored(body)

    return app


def dispatcher(app: AsyncApp, metrics: Metrics) -> Dispatch:
    """Run *app* for the guard and the sockets: whatever fails in it, Slack gets a valid answer."""

    async def dispatch(request: AsyncBoltRequest) -> BoltResponse:
        try:
            return await app.async_dispatch(request)
        except Exception:  # it must neither leave the request unanswered, nor end a socket and the bridge with it
            log.exception("request failed unexpectedly", extra={"reference": new_reference()})
            metrics.rejected.labels("broken_inside").inc()
            return BoltResponse(status=HTTPStatus.SERVICE_UNAVAILABLE, body="unavailable")

    return dispatch
