"""What people think of answers: one vote for each person and answer, which they may change. Never what was said.

A vote is kept with the answer's turn, its agent and its session, for `bridge.queue.keys.VOTES`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bridge.ids import TurnId
from bridge.metrics import Metrics
from bridge.queue.keys import VOTED_LENGTH, VOTES, milliseconds
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts, epoch_ms, or_empty

UP, DOWN = "up", "down"

_PAGE = 200
_PERSON = "u:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What *user* thinks, since *at*, of the answer that an *agent* gave in a *session* with a *turn*."""

    at: datetime
    vote: str
    user: str
    agent: int | None
    session: int | None
    turn: str


class Votes:
    """Keeps the votes, and counts them."""

    def __init__(self, scripts: Scripts, metrics: Metrics, *, now: Callable[[], datetime]) -> None:
        self._scripts = scripts
        self._metrics = metrics
        self._now = now

    async def cast(self, turn: TurnId, user: str, *, is_up: bool, agent: int, session: int | None) -> str:
        """Keep what *user* thinks. Returns ``new``, ``changed`` or ``same``. Raises `StoreUnavailable`."""
        vote, now = UP if is_up else DOWN, epoch_ms(self._now())
        how = str(
            await self._scripts.run(
                "vote", turn, user, vote, now, agent, or_empty(session), milliseconds(VOTES), VOTED_LENGTH
            )
        )
        self._metrics.feedback(vote, how)
        return how


async def votes_since(scripts: Scripts, moment: datetime) -> AsyncIterator[Vote]:
    """Read every vote of *moment* or later, by the time of each answer's last one. Raises `StoreUnavailable`."""
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
    """Read the votes on one answer."""
    agent, session = fields.get("agent", ""), fields.get("session", "")
    found = []
    for name, value in fields.items():
        vote, _, at = value.partition(" ")
        if name.startswith(_PERSON) and vote in {UP, DOWN} and at.isdecimal():
            found.append(
                Vote(
                    at=datetime.fromtimestamp(int(at) / 1000, UTC),
                    vote=vote,
                    user=name.removeprefix(_PERSON),
                    agent=int(agent) if agent else None,
                    session=int(session) if session else None,
                    turn=turn,
                )
            )
    return found
