"""What the end of a turn leaves behind: an entry of the audit, and what its person did lately, for their Home tab.

Both are written by the step that ends the turn, so that neither is missing and neither costs a round trip.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from bridge.features.results import Outcome
from bridge.features.routing import Features
from bridge.features.shared.recent import MOST, RecentRun
from bridge.ids import PersonKey, TurnId
from bridge.inbound import HomeOpened, InboundMessage
from bridge.queue.audit import facts
from bridge.queue.inbox import Inbox
from bridge.queue.keys import AUDIT_LENGTH, SHOWN_LATELY, milliseconds
from bridge.queue.records import Append, Record, Write
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts, epoch_ms
from bridge.queue.turn import Turn

LOOKS: Final = timedelta(hours=1)
"""Whoever has opened Home within that time may be looking at it."""

_SHOWN_MS: Final = milliseconds(SHOWN_LATELY)
_AUDITED = ("user", "channel", "thread", "did", "about", "allowed")


class Activity:
    """Says what is to be written. *audit_lifetime* is how long the audit is kept; none is where that is zero."""

    def __init__(
        self,
        scripts: Scripts,
        inbox: Inbox,
        features: Features,
        *,
        audit_lifetime: timedelta,
        now: Callable[[], datetime],
    ) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys
        self._inbox = inbox
        self._features = features
        self._audit_lifetime = audit_lifetime
        self._now = now

    def writes(
        self,
        turn: TurnId,
        record: Record | None,
        what: str,
        *,
        about: str = "",
        outcome: Outcome | None = None,
        posted: str = "",
    ) -> list[Write]:
        """List what *turn* leaves that ended with *what*, shown in the message *posted* (``ts``).

        Its person's activity comes first, if there is any. A *record* is missing where it could not be read.
        """
        found: list[Write] = []
        if record is not None and outcome is not None:
            body, person = record.body, PersonKey(record.body.team, record.body.user)
            if outcome.workflow is not None and outcome.ended:
                card = (body.channel, posted) if posted else ("", "")
                run = RecentRun(outcome.workflow, outcome.ran, outcome.ended, self._now(), *card)
                found.append(("push", self._keys.recent_runs(person), _SHOWN_MS, run.to_line(), MOST))
            elif isinstance(body, InboundMessage) and outcome.session is not None:
                score, thread = epoch_ms(self._now()), str(body.thread)
                found.append(("rank", self._keys.recent_threads(person), _SHOWN_MS, thread, score, MOST))
        if self._audit_lifetime:
            fields = dict(zip(_AUDITED, facts(record, about, what, self._features.fixed_words), strict=True))
            asked_at = str(epoch_ms(record.accepted_at)) if record else ""
            entry = {"v": "1", "at": asked_at, **fields, "outcome": what, "turn": turn}
            flat = tuple([part for field in entry.items() for part in field])
            kept: Append = ("append", self._keys.audit(), milliseconds(self._audit_lifetime), AUDIT_LENGTH, *flat)
            found.append(kept)
        return found

    @staticmethod
    def changes_home(writes: list[Write], answers: list[str]) -> bool:
        """Whether *writes* have changed what Home shows; *answers* is what Redis said to each of them."""
        how = writes[0][0] if writes else ""
        return how == "push" or (how == "rank" and answers[0] == "1")

    async def refresh_home(self, turn: Turn) -> None:
        """Draw the Home tab of the turn's person anew, once for each turn, if they may be looking at it."""
        with translated():
            left = int(await self._redis.pttl(self._keys.home(PersonKey(turn.team, turn.user))))
        if left > milliseconds(SHOWN_LATELY - LOOKS):
            opened = HomeOpened(team=turn.team, channel="", user=turn.user, user_team=turn.body.user_team)
            await self._inbox.put(opened, event=f"home:{turn.id}")
