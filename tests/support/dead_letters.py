"""Dead letters of a store."""

from __future__ import annotations

from bridge.ids import TurnId
from bridge.queue.dead import DeadLetters
from bridge.queue.records import Step
from support.store import Store


def letters(store: Store) -> DeadLetters:
    return DeadLetters(store.scripts, store.clock)


async def bury(store: Store, step: Step, what: str = "answered") -> TurnId:
    """Make the next turn a dead letter at *step*."""
    process = store.process()
    taken = await process.take()
    if step is not Step.QUEUED:
        await process.journal.sent(taken)
    if step is Step.POSTING:
        await process.journal.outcome(taken, "{}", what=what)
    await process.journal.bury(taken.held, taken.record.id, reason="Slack: not_in_channel")
    return taken.record.id
