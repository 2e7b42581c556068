"""Votes on answers, as they're stored: with the answer's turn, agent and session, but no text."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bridge.errors import ControlNotUnderstood
from bridge.features.buttons import FEEDBACK, Answered
from bridge.ids import TurnId
from bridge.queue.scripting import Scripts, epoch_ms, from_epoch_ms

UP, DOWN = "up", "down"
PERSON = "u:"
"""How the field of a person's vote begins."""

_PAGE = 200
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


def read_vote(value: str) -> tuple[bool, Answered]:
    """Parse a button's value: whether the vote is up, and the answer. Raises `ControlNotUnderstood`."""
    match = _VOTE.fullmatch(value)
    if match is None:
        raise ControlNotUnderstood(FEEDBACK)
    session = int(match["session"]) if match["session"] else None
    return match[1] == "up", Answered(TurnId(match["turn"]), int(match["agent"]), session)


async def votes_since(scripts: Scripts, moment: datetime) -> AsyncIterator[Vote]:
    """Yield all votes since *moment*, ordered by each answer's latest vote. Raises `StoreUnavailable`."""
    keys, redis = scripts.keys, scripts.redis
    start = 0
    while True:
        turns: Any = await redis.zrangebyscore(keys.voted(), epoch_ms(moment), "+inf", start=start, num=_PAGE)
        for turn in turns:
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
        if name.startswith(PERSON) and vote in {UP, DOWN} and at.isdecimal():
            found.append(
                Vote(
                    at=from_epoch_ms(at),
                    vote=vote,
                    user=name.removeprefix(PERSON),
                    agent=int(agent) if agent else None,
                    session=int(session) if session else None,
                    turn=turn,
                    project=fields.get("project", ""),
                )
            )
    return found
