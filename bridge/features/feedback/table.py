"""`bridge feedback`: reads the votes, and adds them up for people or writes each in a line of JSON for programs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from typing import Final

from bridge.features.feedback.votes import UP, Ballot, Vote
from bridge.queue.redis.connection import connect

NONE: Final = "Nobody has voted on an answer in this time."
_FORM: Final = "{:<12}  {:>5}  {:>5}  {}"
_LATEST: Final = 5


async def votes(url: str, namespace: str, since: datetime) -> AsyncIterator[Vote]:
    """Every vote of *since* or later. Raises `StoreUnavailable`."""
    redis = connect(url)
    try:
        async for vote in Ballot(redis, namespace).since(since):
            yield vote
    finally:
        await redis.aclose()


def table(found: Iterable[Vote]) -> list[str]:
    """Add the votes up for each agent, with the sessions of the latest answers that somebody found bad."""
    of_agents: defaultdict[int | None, list[Vote]] = defaultdict(list)
    for vote in found:
        of_agents[vote.agent].append(vote)
    if not of_agents:
        return [NONE]
    title = _FORM.format("agent", "good", "bad", "the latest bad ones are in the sessions")
    return [title, *(_line(agent, of_agents[agent]) for agent in sorted(of_agents, key=lambda agent: agent or 0))]


def to_json(vote: Vote) -> str:
    """Write *vote* for programs, in ASCII."""
    return json.dumps(vote.to_json())


def _line(agent: int | None, cast: list[Vote]) -> str:
    bad = sorted((vote for vote in cast if vote.vote != UP), key=lambda vote: vote.at, reverse=True)
    sessions = dict.fromkeys(str(vote.session) for vote in bad if vote.session is not None)
    return _FORM.format(str(agent or "-"), len(cast) - len(bad), len(bad), ", ".join(list(sessions)[:_LATEST])).rstrip()
