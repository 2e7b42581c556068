"""A person's recent activity and remembered input: bounded, and with a lifetime.

Runs and conversations are written in the step that ends a turn (`bridge.engine.activity`), without a round trip of
their own. The only text stored is a workflow's input: while the person wants the form to remember it, or until they
answer a question about it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from bridge.ids import PersonKey, ThreadKey, TurnId
from bridge.queue.keys import RECENT, REMEMBERED, TYPED, milliseconds
from bridge.queue.records import Conversation, Write
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts
from bridge.slack.blockkit.modals import Carried

MOST = 10
"""How many runs and conversations are stored for each person."""


_SIGNS: Final = {  # the service's documentation lists no statuses
    "✅": {
        "completed",
        "complete",
        "succeeded",
        "success",
        "successful",
        "done",
        "finished",
        "ok",
        "passed",
    },
    "❌": {
        "failed",
        "failure",
        "error",
        "errored",
        "cancelled",
        "canceled",
        "aborted",
        "timeout",
        "timedout",
    },
    "⏳": {"running", "inprogress", "queued", "pending", "started", "waiting", "paused"},
    "⚠️": {"outcomeunknown", "unknown"},
}


class HomePages(Carried):
    """The pages shown of Home's two lists, from 0, stored as its private_metadata.

    *channel* is the person's direct message with the bot.
    """

    channel: str = ""
    workflows: int = 0
    agents: int = 0


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


@dataclass(frozen=True, slots=True)
class Remembered:
    """A workflow's input as a person *typed* it into the form, and its *kind*."""

    kind: str
    typed: str


class Recent:
    """Reads and writes both. Methods may raise `StoreUnavailable`; unreadable entries are left out."""

    def __init__(self, scripts: Scripts) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys

    async def of(self, team: str, user: str) -> RecentActivity:
        """Return a person's recent activity."""
        person = PersonKey(team, user)
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

    async def home(self, team: str, user: str) -> HomePages:
        """Return the pages of Home that a person last saw."""
        with translated():
            return HomePages.parse(str(await self._redis.get(self._keys.home(PersonKey(team, user))) or ""))

    async def store_home(self, team: str, user: str, pages: HomePages) -> None:
        """Store the pages of Home that a person sees."""
        key, text = self._keys.home(PersonKey(team, user)), pages.model_dump_json()
        with translated():
            await self._redis.set(key, text, px=milliseconds(RECENT))

    async def input_of(self, team: str, user: str, workflow: int) -> Remembered | None:
        """Return a person's remembered input for a workflow."""
        with translated():
            text = await self._redis.get(self._keys.input(PersonKey(team, user), workflow))
        match _loaded(text):
            case {"kind": str() as kind, "typed": str() as typed}:
                return Remembered(kind, typed)
        return None

    async def remember(self, team: str, user: str, workflow: int, remembered: Remembered | None) -> None:
        """Store a person's input for a month, or delete it with None."""
        key = self._keys.input(PersonKey(team, user), workflow)
        with translated():
            if remembered is None:
                await self._redis.delete(key)
                return
            value = json.dumps({"kind": remembered.kind, "typed": remembered.typed})
            await self._redis.set(key, value, px=milliseconds(REMEMBERED))

    async def store_typed(self, team: str, user: str, turn: TurnId, text: str) -> None:
        """Store a workflow's input for the buttons of the question that *turn* asks about it."""
        with translated():
            await self._redis.set(self._keys.typed(PersonKey(team, user), turn), text, px=milliseconds(TYPED))

    async def typed(self, team: str, user: str, turn: str) -> str | None:
        """Return the input stored by *turn*; None for anyone else, and after half an hour."""
        with translated():
            found = await self._redis.get(self._keys.typed(PersonKey(team, user), turn))
        return None if found is None else str(found)

    def typed_is_used(self, team: str, user: str, turn: str) -> Write:
        """Return the write that deletes the input stored by *turn*."""
        return ("delete", self._keys.typed(PersonKey(team, user), turn), 0)


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


def status_icon(status: str) -> str:
    """Return the emoji for a run's status."""
    word = "".join(letter for letter in status.casefold() if letter.isalpha())
    return next((sign for sign, statuses in _SIGNS.items() if word in statuses), "ℹ️")  # noqa: RUF001 - no letter
