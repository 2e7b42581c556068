"""What becomes of something that's put into the queue: it's `Queued`, or `NotQueued` because of an end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Literal

from bridge.ids import TurnId
from bridge.queue.quotas import Quota

How = Literal["queued", "showing", "asking"]


@dataclass(frozen=True, slots=True)
class Queued:
    """Stored as *turn*, after *waiting* other turns. *ahead* also counts the turn being worked on.

    *how* differs for a dead letter only: it's ``showing`` its recorded outcome, or ``asking`` again although its
    request may have arrived.
    """

    end: ClassVar[Literal["queued"]] = "queued"
    turn: TurnId
    waiting: int
    ahead: int = 0
    how: How = "queued"


WhyNotQueued = Literal[
    "duplicate",  # it was received before, and became turn *fact*
    "full",  # too many are waiting in this thread
    "muted",  # the thread is muted
    "paused",  # its thread or person (*fact*) reached a limit for *wait*; *is_first*: it's the first that this refuses
    "deleted",  # the message was deleted
    "edited",  # it was edited, and its later text isn't for an agent
    "newer",  # Slack will resend a refused message that must arrive first: this one's newer text
    "early",  # the same: the thread's root
    "deferred",  # the thread is unread: the reply is found there, below its refused root, in Slack's history
    "unbound",  # the thread isn't bound
    "others",  # it needs a mention, as people talk among themselves; *is_first*: its author got no notice of that yet
    "stale",  # the ``if`` that the writes start with no longer holds
    "menu",  # the thread waits for a choice in the menu *fact* (a ``ts``), and the message may be one
    "already",  # the draft was put before
    "gone",  # the draft's text is gone
    "unknown",  # there's no such dead letter
]


@dataclass(frozen=True, slots=True)
class NotQueued:
    """Nothing was stored, because of *end*; its facts are beside each."""

    end: WhyNotQueued
    fact: str = ""
    wait: timedelta = timedelta(0)
    is_first: bool = False


Put = Queued | NotQueued


def not_queued(limits: Sequence[Quota], answer: Sequence[Any]) -> NotQueued:
    """Read a script's answer: an end, and its facts. *limits* are those that it counted for."""
    facts: list[Any] = [*answer, *("", "", 0, 0)[len(answer) :]]
    end, fact, wait, is_first = facts
    fact = limits[int(fact) - 1].called if end == "paused" else str(fact)
    return NotQueued(end, fact, timedelta(milliseconds=max(0, int(wait))), is_first=int(is_first) == 1)
