"""Limits of the operator's file, and of the settings that are limits in short: what a request counts for.

They are checked and counted in the step that records a request as sent (`QueuedTurn.once`), or, per
minute, in the one that queues what arrives (`bridge.queue.inbox.Inbox.put_message`).
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final

from bridge.config_tables import LimitTable
from bridge.engine.projects import ServedProjects
from bridge.engine.turn import Turn
from bridge.errors import SlackError
from bridge.inbound import InboundMessage
from bridge.policy.rules import is_listed, target_of
from bridge.project.connection import DEFAULT
from bridge.project.models import Agent, Workflow
from bridge.queue.inbox import Arrival
from bridge.queue.quotas import Quota
from bridge.slack.blockkit import kit
from bridge.slack.people import Directory
from bridge.slack.post import Poster

log = logging.getLogger(__name__)

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

    def quota(self, amount: int, *subject: str) -> Quota:
        """Return what counts for *subject*; its counter's name says nothing about whom it counts for.

        Another number, or another list of whom it's about, doesn't change the counter.
        """
        facts = json.dumps([self.per, *subject, self.every, self.unit])
        id_, is_own = hashlib.sha256(facts.encode()).hexdigest()[:32], self.unit == ARRIVALS and self.per != "thread"
        words = _in_words(self.per, self.most, self.unit, self.every)
        return Quota(id_, self.most, _WINDOWS[self.every], amount, words, self.called, in_project=is_own)


@lru_cache(maxsize=1000)
def _in_words(per: str, most: int, unit: str, every: str) -> str:
    """Name a limit for those whose it is."""
    return f"{_WHOSE.get(per, '')} limit of {kit.counted(most, _UNITS[unit])} per {every}"


def strictest(quotas: Iterable[Quota]) -> tuple[Quota, ...]:
    """Return the strictest quota of each counter: limits on the same thing share one, which counts once."""
    found: dict[str, Quota] = {}
    for quota in quotas:
        found[quota.id] = min(found.get(quota.id, quota), quota, key=lambda one: one.most)
    return tuple(found.values())


def limits_of(tables: Sequence[LimitTable]) -> tuple[Limit, ...]:
    """Return the limits of the operator's file."""
    return tuple(
        Limit(one.per, unit, most, one.every, one.only)
        for one in tables
        for unit, most in (("turns", one.turns), ("runs", one.runs), ("characters", one.characters))
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
    """Return what of *limits* an arrival counts for: an app's post for that app in its channel, and for no person."""
    inbound = arrival.inbound
    posted = inbound.posted
    rule, via = (posted.rule, posted.via) if posted else ("", "")
    app = rule or via
    subjects = {
        "thread": str(arrival.thread or ""),
        "app": f"{inbound.team}:{inbound.channel}:{app}" if app else "",
        "person": "" if rule else f"{inbound.team}:{inbound.user}",
    }
    return [one.quota(1, subjects[one.per]) for one in limits if one.unit == ARRIVALS and subjects[one.per]]


@dataclass(slots=True)
class Limiter:
    """The limits *listed* in the operator's file, which change when it's read again, and those *in_short*: settings."""

    directory: Directory
    projects: ServedProjects
    in_short: tuple[Limit, ...] = ()
    listed: tuple[Limit, ...] = ()

    async def of_question(self, turn: Turn, agent: Agent | None, text: str, *, person: str = "") -> tuple[Quota, ...]:
        """Return what a question for *agent* counts for; *person* is the owner of what asks it, if it's an app."""
        return strictest([one async for one in self._of(turn, "turns", len(text), agent, person or turn.user)])

    async def of_run(self, turn: Turn, workflow: Workflow, given: Any) -> tuple[Quota, ...]:
        """Return what a run of *workflow* with this input counts for."""
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        found = [one async for one in self._of(turn, "runs", len(text), workflow, turn.user)]
        mine = (turn.team, turn.user, turn.project_key)
        return strictest([*found, *(one.quota(1, *mine) for one in self.in_short if one.unit == "runs")])

    async def _of(
        self, turn: Turn, unit: str, characters: int, target: Workflow | Agent | None, person: str
    ) -> AsyncIterator[Quota]:
        amounts = {unit: 1, "characters": characters}
        for limit in self.listed:
            for subject in await self._subjects(limit, turn, target, person) if limit.unit in amounts else ():
                yield limit.quota(amounts[limit.unit], subject)

    async def _subjects(self, limit: Limit, turn: Turn, target: Workflow | Agent | None, person: str) -> list[str]:
        """Return what a request counts for under a limit: a person, a channel, …; none if it isn't about them."""
        only, project = limit.only, turn.project_key or DEFAULT
        match limit.per:
            case "person":
                is_theirs = bool(person) and (only is None or person in only or await self._in_one(person, only))
                return [person] if is_theirs else []
            case "group":
                return [one for one in only or () if person and await self._in_one(person, (one,))]
            case "channel":
                return [turn.channel] if turn.channel and (only is None or turn.channel in only) else []
            case "project":
                names = (project, self.projects.name_of(turn.project_key))
                return [project] if only is None or is_listed(only, *names) else []
        known = target_of(target)
        if known is None or known.kind != limit.per or not (only is None or is_listed(only, known.id, known.name)):
            return []
        return [f"{project}:{known.id}"]

    async def _in_one(self, person: str, groups: tuple[str, ...]) -> bool:
        """Whether a person is in one of these user groups; they count as if they were, if Slack doesn't say."""
        for group in (one for one in groups if one.startswith("S")):
            try:
                if await self.directory.in_group(person, group):
                    return True
            except SlackError as exc:
                log.warning("Slack doesn't list a limit's user group", extra={"detail": exc.detail})
                return True
        return False


async def say_if_near(slack: Poster, turn: Turn) -> None:
    """Tell *turn*'s person in private, once per period, that they're near a limit."""
    body = turn.body
    if turn.near is None or not body.is_request or (isinstance(body, InboundMessage) and body.app):
        return
    quota, left, wait = turn.near
    if quota.called:  # a setting's
        return
    start = f"You're near {quota.words}: {left:,} left." if left > 0 else f"This used up {quota.words}."
    text = f"{start} It starts again in {kit.spoken(wait)}."
    try:
        await slack.whisper(turn.destination.recipient, kit.reply(text))
    except SlackError as exc:
        log.info("a notice about a limit can't be shown", extra={"detail": exc.detail})
