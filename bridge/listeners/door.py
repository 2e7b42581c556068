"""Taking in: everything that a person does goes into the inbox before Slack is told that it was taken.

Listeners (`bridge.listeners.app`) parse, ask who may, keep, and acknowledge. For messages and stops
`bridge.features.conversations` asks and keeps; the rest goes through `Door`.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from bridge.errors import SlackError, StoreUnavailable
from bridge.features.access import Access
from bridge.inbound import SLACK_ITSELF, HomeOpened, Inbound, MessagesTabOpened, Notice, Shortcut, to_json
from bridge.metrics import Metrics
from bridge.queue.audit import deed
from bridge.queue.inbox import Duplicate, Inbox

log = logging.getLogger(__name__)

IN_TIME = timedelta(seconds=2.3)
"""Slack waits 3 s for its answer, the way there and back included."""

KEPT_WITHIN = timedelta(seconds=1.5)
"""Redis keeps nothing later than this. It has to be over well before anybody is told that a command was not taken,
which is when Redis has not answered for 2 s: what was refused must not happen after all."""


class NotTaken(Exception):
    """What came in could not be kept in time: `bridge.listeners.app` answers for it."""


@asynccontextmanager
async def in_time(kind: str, metrics: Metrics) -> AsyncIterator[None]:
    """Give up the block while Slack still waits. Raises `NotTaken` then, and where Redis or Slack is not there."""
    try:
        async with asyncio.timeout(IN_TIME.total_seconds()):
            yield
    except (StoreUnavailable, SlackError, TimeoutError) as exc:
        log.warning("something could not be taken in", extra={"kind": kind, "why": type(exc).__name__})
        metrics.event(kind, "not taken")
        raise NotTaken from exc


@dataclass(frozen=True, slots=True)
class Door:
    """Takes in commands, clicks, forms and what people look at."""

    inbox: Inbox
    access: Access
    metrics: Metrics

    async def take(self, inbound: Inbound, *, identity: str = "") -> None:
        """Keep *inbound*, once for each *identity*; a person who may not is told so instead. Raises `NotTaken`.

        The identity is what makes a replay harmless, of a signed request as much as of an envelope: it is kept for
        longer than a signature is good, in the very step that keeps what came in. So there is no list of signatures
        beside it, which would cost a round trip. Where none is given it is Slack's trigger, or else the contents.
        """
        outcome = "ignored"
        if inbound.user not in SLACK_ITSELF:
            async with in_time(inbound.kind, self.metrics):
                outcome = await self._keep(inbound, identity)
        self.metrics.event(inbound.kind, outcome)

    async def _keep(self, inbound: Inbound, identity: str) -> str:
        if not identity:
            trigger = getattr(inbound, "trigger_id", "")
            contents = hashlib.sha256(to_json(inbound).encode()).hexdigest()
            identity = f"trigger:{trigger}" if trigger else f"contents:{contents}"
        refusal = await self.access.refusal(inbound)
        if refusal is not None and isinstance(inbound, MessagesTabOpened):
            return "ignored"  # they find nothing there, and are told when they write
        kept = inbound if refusal is None else _refused(inbound, refusal)
        put = await self.inbox.put(kept, event=identity, within=KEPT_WITHIN)
        if isinstance(put, Duplicate):
            return "duplicate"
        return "queued" if refusal is None else "refused"


def _refused(inbound: Inbound, why: str) -> Inbound:
    """What is kept instead: a line for its person, or where none would reach them, what they did with the reason."""
    match inbound:
        case Shortcut():
            return inbound.model_copy(update={"refusal": why, "text": ""})
        case HomeOpened():
            return inbound.model_copy(update={"refusal": why})
    return Notice(
        team=inbound.team,
        channel=getattr(inbound, "opened_in", "") or inbound.channel,
        user=inbound.user,
        what=why,
        of=deed(inbound),
        response_url=getattr(inbound, "response_url", ""),
        thread_ts=getattr(inbound, "thread_ts", ""),
    )
