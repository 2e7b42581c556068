"""Limits of the operator's file, and of the settings that are limits in short: what a request counts for.

They are checked and counted in the step that records a request as sent (`TakenTurn.once`), or, per
minute, in the one that queues what arrives (`bridge.queue.inbox.Inbox.put_arrival`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from bridge.config_tables import LimitTable
from bridge.policy.rules import Asked, is_listed
from bridge.queue.inbox import Arrival
from bridge.queue.quotas import Quota
from bridge.slack.blockkit import kit

_WINDOWS: Final = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}
_WHOSE: Final = {
    "person": "your",
    "group": "your group's",
    "channel": "this channel's",
    "agent": "this agent's",
    "workflow": "this workflow's",
    "project": "this project's",
}
ARRIVALS: Final = "arrivals"
"""The unit of messages to agents, and of apps' posts, counted when they arrive; the others are counted when sent."""

_UNITS: Final = {
    "turns": "message", "runs": "workflow run", "characters": "character", ARRIVALS: "message",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Limit:
    """How many of a *unit* each of those it's *per* may have, or *only* some of them; a setting's is *called* so."""

    per: str
    unit: str
    most: int
    every: str
    only: tuple[str, ...] | None = None
    called: str = ""
    words: str = field(init=False)

    def __post_init__(self) -> None:
        """Name the limit for those whose it is."""
        words = f"{_WHOSE.get(self.per, '')} limit of {kit.counted(self.most, _UNITS[self.unit])} per {self.every}"
        object.__setattr__(self, "words", words)

    def quota(self, amount: int, *subject: str) -> Quota:
        """Return what counts for *subject*; its counter's name says nothing about whom it counts for.

        Another number, or another list of whom it's about, doesn't change the counter.
        """
        facts = json.dumps([self.per, *subject, self.every, self.unit])
        id_, is_own = hashlib.sha256(facts.encode()).hexdigest()[:32], self.unit == ARRIVALS and self.per != "thread"
        return Quota(id_, self.most, _WINDOWS[self.every], amount, self.words, self.called, in_project=is_own)

    def amount(self, content: Any) -> int:
        """Return what a request with this input, any JSON value, counts as."""
        if self.unit != "characters":
            return 1
        return len(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))

    def subject(self, asked: Asked) -> str:
        """Return what the request that's *asked* counts for: a channel, an agent, …; ``""`` if it isn't about them.

        People and user groups are told apart by who's in them (`bridge.policy.policy.Policy.quotas`).
        """
        match self.per:
            case "channel":
                return asked.channel if self.only is None or asked.channel in self.only else ""
            case "project":
                names = (asked.project, asked.project_name)
                return asked.project if self.only is None or is_listed(self.only, *names) else ""
        target = asked.target
        if target is None or target.kind != self.per:
            return ""
        is_theirs = self.only is None or is_listed(self.only, target.id, target.name)
        return f"{asked.project}:{target.id}" if is_theirs else ""


class Limits:
    """The limits *listed* in the operator's file, and those *in_short*: settings.

    They're compiled once, for each file that's loaded, to those for which a question *asks* and a workflow *runs*.
    """

    def __init__(self, listed: Sequence[Limit] = (), in_short: Sequence[Limit] = ()) -> None:
        self.asks = tuple(limit for limit in listed if limit.unit in {"turns", "characters"})
        self.runs = (
            *(limit for limit in listed if limit.unit in {"runs", "characters"}),
            *(limit for limit in in_short if limit.unit == "runs"),
        )


def limits_of(tables: Sequence[LimitTable]) -> tuple[Limit, ...]:
    """Return the limits of the operator's file."""
    return tuple(
        Limit(table.per, unit, most, table.every, table.only)
        for table in tables
        for unit, most in (("turns", table.turns), ("runs", table.runs), ("characters", table.characters))
        if most
    )


def limits_in_short(*, thread_turns: int, app_turns: int, user_turns: int, user_runs: int) -> tuple[Limit, ...]:
    """Return the limits of the settings; 0: none. See `Quota` for what they're called."""
    return tuple(
        Limit(per, unit, most, every, called=called)
        for per, unit, most, every, called in (
            ("thread", ARRIVALS, thread_turns, "minute", "thread"),
            ("app", ARRIVALS, app_turns, "minute", "person"),
            ("person", ARRIVALS, user_turns, "minute", "person"),
            ("person", "runs", user_runs, "hour", "runs"),
        )
        if most
    )


def of_arrival(limits: Sequence[Limit], arrival: Arrival) -> list[Quota]:
    """Return what an arrival counts for, of *limits* on arrivals.

    An app's post counts for that app in its channel, and for no person.
    """
    inbound = arrival.inbound
    message = inbound.as_message
    rule, via = (message.rule, message.via) if message else ("", "")
    app = rule or via
    subjects = {
        "thread": str(arrival.thread or ""),
        "app": f"{inbound.team}:{inbound.channel}:{app}" if app else "",
        "person": "" if rule else f"{inbound.team}:{inbound.user}",
    }
    return [limit.quota(1, subject) for limit in limits if (subject := subjects[limit.per])]
