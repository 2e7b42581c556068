"""Everything that a person does is put into the inbox before Slack gets its acknowledgement.

A listener (`bridge.listeners.app`) parses, checks access, puts, and acknowledges. For messages and stops,
`bridge.features.conversations` checks and puts; everything else goes through `Door`.
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
from bridge.features.activity import action_name
from bridge.features.registry import features
from bridge.inbound import SLACK_ITSELF, HomeOpened, Inbound, MessagesTabOpened, Notice, Shortcut, to_json
from bridge.metrics import Metrics
from bridge.queue.inbox import Duplicate, Inbox

log = logging.getLogger(__name__)

IN_TIME = timedelta(seconds=2.3)
"""Slack waits 3 s for its answer, the way there and back included."""

KEPT_WITHIN = timedelta(seconds=1.5)
"""Redis keeps nothing later than this. It has to be over well before anybody is told that a command was not taken,
which is when Redis has not answered for 2 s: what was refused must not happen after all."""


class NotTaken(Exception):
    """The inbox did not have it in time; `bridge.listeners.app` decides what Slack is told."""


@asynccontextmanager
async def in_time(kind: str, metrics: Metrics) -> AsyncIterator[None]:
    """Give up the block while Slack still waits. Raises `NotTaken` then, and where Redis or Slack is unavailable."""
    try:
        async with asyncio.timeout(IN_TIME.total_seconds()):
            yield
    except (StoreUnavailable, SlackError, TimeoutError) as exc:
        log.warning("something could not be taken in", extra={"kind": kind, "why": type(exc).__name__})
        metrics.event(kind, "not taken")
        raise NotTaken from exc


@dataclass(frozen=True, slots=True)
class Door:
    """Puts commands, clicks, forms and opened tabs into the inbox."""

    inbox: Inbox
    access: Access
    metrics: Metrics

    async def take(self, inbound: Inbound, *, identity: str = "") -> None:
        """Put *inbound* once for each *identity*, or a notice where its person has no access. Raises `NotTaken`.

        The identity makes a replay harmless, of a signed request as much as of an envelope: it is stored for longer
        than a signature is valid, in the same step that stores *inbound*. So there is no list of signatures beside it,
        which would cost a round trip. By default it is Slack's trigger id, or else a hash of the contents.
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
            if refusal is not None and isinstance(inbound, MessagesTabOpened):
                self.metrics.event(inbound.kind, "ignored")  # they are told when they write
                return
            kept = inbound if refusal is None else _refused(inbound, refusal)
            put = await self.inbox.put(kept, event=identity, within=KEPT_WITHIN)
        outcome = "queued" if refusal is None else "refused"
        self.metrics.event(inbound.kind, "duplicate" if isinstance(put, Duplicate) else outcome)


def _refused(inbound: Inbound, why: str) -> Inbound:
    """What is put instead: a notice for the person, or *inbound* with the reason where a notice can't reach them."""
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
        of=action_name(inbound, features.fixed_words),
        response_url=getattr(inbound, "response_url", ""),
        thread_ts=getattr(inbound, "thread_ts", ""),
    )
