"""Taking in: everything that a person does goes into the inbox before Slack is told that it was taken.

Each surface is a set of Bolt listeners (`bridge.listeners.app`), which parse, ask who may, keep, and acknowledge.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bridge.errors import SlackError, StoreUnavailable
from bridge.features.access import Access
from bridge.features.conversations import notices
from bridge.inbound import SLACK_ITSELF, HomeOpened, Inbound, Notice, Shortcut, to_json
from bridge.metrics import Metrics
from bridge.queue.audit import deed
from bridge.queue.inbox import Duplicate, Inbox
from bridge.slack.blockkit.reply import Reply
from bridge.slack.post import Recipient, Say

log = logging.getLogger(__name__)

Body = dict[str, Any]


class NotTaken(Exception):
    """What came in could not be kept in time: `bridge.listeners.app` answers for it."""


IN_TIME = timedelta(seconds=2.3)
"""Slack waits 3 s for its answer, the way there and back included."""

KEPT_WITHIN = timedelta(seconds=1.5)
"""Redis keeps nothing later than this. It has to be over well before anybody is told that a command was not taken,
which is when Redis has not answered for 2 s: what was refused must not happen after all."""


@dataclass(frozen=True, slots=True)
class Door:
    """Takes in what is not a message: commands, clicks, forms. Slack never repeats these."""

    inbox: Inbox
    access: Access
    metrics: Metrics

    async def take(self, inbound: Inbound, *, identity: str) -> None:
        """Keep *inbound*, once for each *identity*; a person who may not is told so instead. Raises `NotTaken`.

        The identity is what makes a replay harmless, of a signed request as much as of an envelope: it is kept for
        longer than a signature is good, in the very step that keeps what came in. So there is no list of signatures
        beside it, which would cost a round trip. Where Slack gave none, the contents stand in for it.
        """
        if inbound.user in SLACK_ITSELF:
            self.metrics.event(inbound.kind, "ignored")
            return
        try:
            async with asyncio.timeout(IN_TIME.total_seconds()):
                taken = await self._keep(inbound, identity)
        except (StoreUnavailable, SlackError, TimeoutError) as exc:
            log.warning("something could not be taken in", extra={"kind": inbound.kind, "why": type(exc).__name__})
            self.metrics.event(inbound.kind, "not taken")
            raise NotTaken from exc
        self.metrics.event(inbound.kind, taken)

    async def _keep(self, inbound: Inbound, identity: str) -> str:
        """Returns ``queued``, ``duplicate`` or ``refused``."""
        refusal = await self.access.refusal(inbound)
        kept = inbound if refusal is None else _refused(inbound, refusal)
        put = await self.inbox.put(kept, event=identity or _contents(inbound), within=KEPT_WITHIN)
        if isinstance(put, Duplicate):
            return "duplicate"
        return "queued" if refusal is None else "refused"


def _contents(inbound: Inbound) -> str:
    return f"contents:{hashlib.sha256(to_json(inbound).encode()).hexdigest()}"


def _refused(inbound: Inbound, why: str) -> Inbound:
    """What is kept instead: a line for its person, or where none would reach them, what they did with the reason."""
    if isinstance(inbound, HomeOpened | Shortcut):
        return inbound.model_copy(
            update={"refusal": why, "text": ""} if isinstance(inbound, Shortcut) else {"refusal": why}
        )
    return _told(inbound, why)


def _told(inbound: Inbound, what: str) -> Notice:
    return Notice(
        team=inbound.team,
        channel=getattr(inbound, "opened_in", "") or inbound.channel,
        user=inbound.user,
        what=what,
        of=deed(inbound),
        response_url=getattr(inbound, "response_url", ""),
        thread_ts=getattr(inbound, "thread_ts", ""),
    )


async def tell(say: Say, recipient: Recipient, reply: Reply) -> None:
    """Tell a person in private, where there is a way to them, in what is left of Slack's three seconds."""
    if not recipient.can_be_told:
        return
    try:
        async with asyncio.timeout(0.5):
            await say.whisper(recipient, reply)
    except (SlackError, TimeoutError):
        log.warning("a person could not be told that something was not taken")


NOT_TAKEN = notices.not_taken()
