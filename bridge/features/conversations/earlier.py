"""What was decided earlier about a message that comes again: as an edit, or from Slack's history."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from bridge.ends.decisions import NOT_QUEUED, Received
from bridge.ends.messages import Reason
from bridge.inbound import InboundMessage
from bridge.queue.inbox import Inbox
from bridge.queue.keys import TRACE
from bridge.queue.put import Put, Queued

YOUNG: Final = timedelta(minutes=10)  # Slack's last retry comes about six minutes after the event
REMEMBERED: Final = TRACE - timedelta(hours=1)  # how long seen messages are known; the hour is for edits on their way
SETTLED: Final = Received("ignored", Reason.SETTLED)
_SETTLING = frozenset(
    {
        Reason.NO_RULE,
        Reason.OTHER_NAME,
        Reason.NOT_ADDRESSED,
        Reason.NEEDS_MENTION,
        Reason.OTHERS_WRITE,
        Reason.NO_ACCESS,
        Reason.MUTED,
        Reason.APP_TOO_FAST,
        Reason.RULE_PAUSED,
    }
)
"""Reasons that depend on settings: changing those doesn't send messages of the past."""


async def was_settled(inbox: Inbox, message: InboundMessage) -> bool:
    """Whether *message*, found in Slack's history or edited, was delivered before, and wasn't for an agent then.

    That counts for this text if it was found, and for an earlier one if this is its edit; an edit that mentions the
    bot is decided about anew.
    """
    if not (message.was_found or message.edited_ts) or (message.is_mention and not message.was_found):
        return False
    passed = await inbox.passed_over(message.key)
    written_at = float(message.edited_ts or 0) if message.was_found else 0.0
    return any(Reason.of(decision.why) in _SETTLING and decision.at.timestamp() > written_at for decision in passed)


def received(put: Put) -> Received:
    """Return the decision that the inbox made."""
    return Received("queued") if isinstance(put, Queued) else NOT_QUEUED[put.end]
