"""A person's recent runs and conversations, for their Home tab: bounded, and with a lifetime.

They're written in the step that ends a turn (`bridge.engine.activity`), without a round trip of their own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from bridge.ids import PersonKey, ThreadKey
from bridge.queue.records import Conversation
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts

MOST = 10
"""How many runs and conversations are stored for each person."""


@dataclass(frozen=True, slots=True)
class RecentRun:
    """A run that a person started: the *workflow*'s ID, its *name* at the time, how the run *ended*, and when (*at*).

    Its card is the message *ts* in *channel*, if the bot itself could post it.
    """

    workflow: int
    name: str
    ended: str
    at: datetime
    channel: str = ""
    ts: str = ""

    def to_line(self) -> str:
        """Return the stored form."""
        return json.dumps({**asdict(self), "at": int(self.at.timestamp() * 1000)})


@dataclass(frozen=True, slots=True)
class RecentConversation:
    """A conversation that a person took part in; *agent* is None if its thread is no longer bound."""

    thread: ThreadKey
    agent: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class RecentActivity:
    """One person's recent activity, newest first."""

    runs: tuple[RecentRun, ...] = ()
    conversations: tuple[RecentConversation, ...] = ()


class Recent:
    """Reads both. Methods may raise `StoreUnavailable`; unreadable entries are left out."""

    def __init__(self, scripts: Scripts) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys

    async def of(self, person: PersonKey) -> RecentActivity:
        """Return a person's recent activity in a project."""
        with translated():
            async with self._redis.pipeline(transaction=False) as pipe:
                pipe.lrange(self._keys.recent_runs(person), 0, MOST - 1)
                pipe.zrevrange(self._keys.recent_threads(person), 0, MOST - 1, withscores=True)
                runs, scores = await pipe.execute()
                threads = [(ThreadKey.parse(str(thread)), _moment(score)) for thread, score in scores]
                for thread, _ in threads:
                    pipe.hgetall(self._keys.thread(thread))
                found = zip(threads, await pipe.execute(), strict=True)  # no round trip if there are none
        conversations = (
            RecentConversation(thread, Conversation.from_redis(fields).agent, at) for (thread, at), fields in found
        )
        return RecentActivity(_runs(runs), tuple(conversations))


def _runs(lines: Sequence[str]) -> tuple[RecentRun, ...]:
    found: list[RecentRun] = []
    for line in lines:
        match _loaded(line):
            case {
                "workflow": int() as workflow,
                "name": str() as name,
                "ended": str() as ended,
                "at": int() as at,
                "channel": str() as channel,
                "ts": str() as ts,
            }:
                found.append(RecentRun(workflow, name, ended, _moment(at), channel, ts))
    return tuple(found)


def _loaded(text: str | bytes | None) -> Any:
    try:
        return json.loads(text or "null")
    except ValueError:
        return None


def _moment(milliseconds_: float) -> datetime:
    return datetime.fromtimestamp(milliseconds_ / 1000, UTC)
