"""Feedback on answers: one vote per person and answer, which can be changed.

A vote is stored with the answer's turn, agent and session, but no text, for `bridge.queue.keys.VOTES`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bridge.engine.feature import Feature
from bridge.engine.results import Result, shown
from bridge.engine.turn import Turn
from bridge.errors import ControlNotUnderstood
from bridge.features.buttons import FEEDBACK, Answered
from bridge.features.deps import Deps
from bridge.ids import TurnId
from bridge.inbound import Click
from bridge.queue.audit import named
from bridge.queue.keys import ENDED, ENDED_LENGTH, VOTED_LENGTH, VOTES, milliseconds
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts, epoch_ms, from_epoch_ms, or_empty
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Reply

feedback = Feature("feedback")
feedback.outcomes |= {"vote new": "voted", "vote same": "voted the same again"}

UP, DOWN = "up", "down"

_PAGE = 200
_PERSON = "u:"
_VOTE = re.compile(r"(up|down):(?P<turn>[\w-]{1,64}):(?P<agent>-?[0-9]{1,1000}):(?P<session>(?:-?[0-9]{1,1000})?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """A *user*'s *vote*, ``up`` or ``down``, *at* a time, on the answer of *agent* in *session*, given by *turn*.

    Both are of *project* (``""``: the default one).
    """

    at: datetime
    vote: str
    user: str
    agent: int | None
    session: int | None
    turn: str
    project: str = ""


@feedback.button(FEEDBACK, label="feedback buttons")
async def vote(deps: Deps, turn: Turn, click: Click) -> Result:
    """Store a person's vote on an answer."""
    is_up, of = read_vote(click.value)
    given, now, lives = UP if is_up else DOWN, epoch_ms(deps.now()), milliseconds(VOTES)
    key, voted, mine = deps.scripts.keys.votes(of.turn), deps.scripts.keys.voted(), f"{_PERSON}{turn.user}"
    with translated():
        before = str(await deps.scripts.redis.hget(key, mine) or "").partition(" ")[0]
        await deps.scripts.redis.zremrangebyscore(voted, "-inf", now - lives)
    how = "same" if before == given else "changed" if before else "new"
    if how != "same":
        fields = {"v": "1", "agent": of.agent, "session": or_empty(of.session), mine: f"{given} {now}"}
        if turn.project_key:
            fields["project"] = turn.project_key
        turn.stage(*(("field", key, lives, name, str(value)) for name, value in fields.items()))
        turn.stage(("rank", voted, lives, of.turn, now, VOTED_LENGTH))
        facts = ("at", str(now), "of", f"agent {of.agent}", "how", given, "before", before, "project", turn.project_key)
        turn.stage(("append", deps.scripts.keys.ended("vote"), milliseconds(ENDED), ENDED_LENGTH, *facts))
    deps.metrics.feedback.labels(given, how).inc()
    return shown(thanks(is_up=is_up), f"vote {how}", named("agent", of.agent))


def read_vote(value: str) -> tuple[bool, Answered]:
    """Parse a button's value: whether the vote is up, and the answer. Raises `ControlNotUnderstood`."""
    match = _VOTE.fullmatch(value)
    if match is None:
        raise ControlNotUnderstood(FEEDBACK)
    session = int(match["session"]) if match["session"] else None
    return match[1] == "up", Answered(TurnId(match["turn"]), int(match["agent"]), session)


def thanks(*, is_up: bool) -> Reply:
    """Thank for a vote."""
    more = "" if is_up else " Reply in this thread to say what was missing."
    return kit.reply(f"Thanks for the feedback.{more}")


async def votes_since(scripts: Scripts, moment: datetime) -> AsyncIterator[Vote]:
    """Yield all votes since *moment*, ordered by each answer's latest vote. Raises `StoreUnavailable`."""
    keys, redis = scripts.keys, scripts.redis
    start = 0
    while True:
        with translated():
            turns: Any = await redis.zrangebyscore(keys.voted(), epoch_ms(moment), "+inf", start=start, num=_PAGE)
        for turn in turns:
            with translated():
                fields: Any = await redis.hgetall(keys.votes(turn))
            for vote in sorted(_votes(turn, fields), key=lambda vote: vote.at):
                if vote.at >= moment:
                    yield vote
        start += len(turns)
        if not turns:
            return


def _votes(turn: str, fields: dict[str, str]) -> list[Vote]:
    agent, session = fields.get("agent", ""), fields.get("session", "")
    found = []
    for name, value in fields.items():
        vote, _, at = value.partition(" ")
        if name.startswith(_PERSON) and vote in {UP, DOWN} and at.isdecimal():
            found.append(
                Vote(
                    at=from_epoch_ms(at),
                    vote=vote,
                    user=name.removeprefix(_PERSON),
                    agent=int(agent) if agent else None,
                    session=int(session) if session else None,
                    turn=turn,
                    project=fields.get("project", ""),
                )
            )
    return found
