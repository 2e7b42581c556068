"""A person's recent activity and remembered input: bounded, and with a lifetime.

Runs and conversations are written in the step that ends a turn (`bridge.features.activity`), at no extra round trip.
The only text stored is a workflow's input: while the person wants the form to remember it, or until they answer a
question about it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from bridge.ids import PersonKey, ThreadKey, TurnId
from bridge.queue.keys import REMEMBERED, SHOWN_LATELY, TYPED, TYPED_USED, milliseconds
from bridge.queue.records import Conversation
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


class Spot(Carried):
    """A place in Home, carried as its private_metadata: the pages of its two lists, from 0.

    *channel* is the person's direct message with the bot.
    """

    channel: str = ""
    workflows: int = 0
    agents: int = 0


@dataclass(frozen=True, slots=True)
class RecentRun:
    """A run that a person started: the *workflow*, its *name* then, how it *ended*, and when (*at*).

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
class RecentTalk:
    """A conversation that a person took part in; *agent* is None if its thread is no longer bound."""

    thread: ThreadKey
    agent: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Lately:
    """One person's recent activity, newest first."""

    runs: tuple[RecentRun, ...] = ()
    talks: tuple[RecentTalk, ...] = ()


@dataclass(frozen=True, slots=True)
class Remembered:
    """The input a person gave to a workflow, as *typed* into the form, and its *kind*."""

    kind: str
    typed: str


class Recent:
    """Reads and writes it. Methods may raise `StoreUnavailable`; unreadable entries are left out."""

    def __init__(self, scripts: Scripts) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys

    async def of(self, team: str, user: str) -> Lately:
        """List a person's recent activity."""
        person = PersonKey(team, user)
        with translated():
            async with self._redis.pipeline(transaction=False) as pipe:
                pipe.lrange(self._keys.recent_runs(person), 0, MOST - 1)
                pipe.zrevrange(self._keys.recent_threads(person), 0, MOST - 1, withscores=True)
                runs, scores = await pipe.execute()
                talks = [(ThreadKey.parse(str(thread)), _moment(score)) for thread, score in scores]
                for thread, _ in talks:
                    pipe.hgetall(self._keys.thread(thread))
                found = zip(talks, await pipe.execute(), strict=True)  # no round trip if there are none
        answered = [RecentTalk(thread, Conversation.from_redis(fields).agent, at) for (thread, at), fields in found]
        return Lately(_runs(runs), tuple(answered))

    async def home(self, team: str, user: str) -> Spot:
        """Return where a person was in Home when they last saw it."""
        with translated():
            return Spot.parse(str(await self._redis.get(self._keys.home(PersonKey(team, user))) or ""))

    async def keep_home(self, team: str, user: str, spot: Spot) -> None:
        """Store where in Home a person is."""
        key, text = self._keys.home(PersonKey(team, user)), spot.model_dump_json()
        with translated():
            await self._redis.set(key, text, px=milliseconds(SHOWN_LATELY))

    async def input_of(self, team: str, user: str, workflow: int) -> Remembered | None:
        """Return a person's remembered input for a workflow."""
        with translated():
            text = await self._redis.get(self._keys.input(PersonKey(team, user), workflow))
        match _loaded(text):
            case {"kind": str() as kind, "typed": str() as typed}:
                return Remembered(kind, typed)
        return None

    async def remember(self, team: str, user: str, workflow: int, remembered: Remembered | None) -> None:
        """Remember an input for a month, or forget it with None."""
        key = self._keys.input(PersonKey(team, user), workflow)
        with translated():
            if remembered is None:
                await self._redis.delete(key)
                return
            value = json.dumps({"kind": remembered.kind, "typed": remembered.typed})
            await self._redis.set(key, value, px=milliseconds(REMEMBERED))

    async def keep_typed(self, team: str, user: str, turn: TurnId, text: str) -> None:
        """Store a *turn*'s input for the buttons that ask its person about it."""
        with translated():
            await self._redis.set(self._keys.typed(PersonKey(team, user), turn), text, px=milliseconds(TYPED))

    async def typed(self, team: str, user: str, turn: str, *, is_last_use: bool = False) -> str | None:
        """Read that again; it's gone for anyone else, and after half an hour.

        After the *last use*, it's kept only as long as another process may need it.
        """
        with translated():
            lifetime = milliseconds(TYPED_USED) if is_last_use else None
            found = await self._redis.getex(self._keys.typed(PersonKey(team, user), turn), px=lifetime)
        return None if found is None else str(found)


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


def sign_of(status: str) -> str:
    """Return the sign for a run's status."""
    word = "".join(letter for letter in status.casefold() if letter.isalpha())
    return next((sign for sign, statuses in _SIGNS.items() if word in statuses), "ℹ️")  # noqa: RUF001 - no letter
