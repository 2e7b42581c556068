"""What a turn means for its person's Home tab: the run that they started, the thread in which they were answered."""

from __future__ import annotations

from datetime import datetime

from bridge.features.outcome import Outcome
from bridge.inbound import InboundMessage
from bridge.queue.lanes import Taken
from bridge.queue.recent import Did, RecentRun


def did(taken: Taken, outcome: Outcome, posted: str, now: datetime) -> Did:
    """Say what is to be kept of a turn that ended with *outcome*, shown in the message *posted*."""
    body = taken.turn.body
    if outcome.workflow is not None and outcome.ended:
        card = (body.channel, posted) if posted else ("", "")
        return Did(run=RecentRun(outcome.workflow, outcome.ran, outcome.ended, now, *card))
    if isinstance(body, InboundMessage) and outcome.session is not None:
        return Did(talk=body.thread)
    return Did()
