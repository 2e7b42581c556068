"""Finished turns: what the step that ends one appends about it, an entry for each. Never any text.

The script that ends a turn (`finish`) appends it, so none costs a round trip, and none is missing but that of a turn
that's given up after its message was deleted; refusals are turns too. Everything else about finished turns is derived
from these entries, off their path (`bridge.engine.finished_turns`): statistics, Home, the end of a ⏳ reaction. The
**audit** is the same stream, as people read it. Not included: what is still waiting, what wasn't for the bridge, and
what Redis couldn't store.

The heartbeat trims the stream by time, each entry by length. Without an audit (BRIDGE_AUDIT_DAYS=0), an entry is
deleted in the step that derives the rest from it, within seconds. Until then it needs its person, for their Home.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from bridge.ids import PersonKey, ThreadKey
from bridge.queue.scripting import Scripts, epoch_ms, from_epoch_ms

REFUSED: Final = frozenset({"NotAllowed", "TooOften", "TooManyRequests"})
"""Outcomes in which the person was refused: names of classes in `bridge.errors`."""

FACTS: Final = ("approval", "sha256", "rule")
"""More facts of an entry: its request for approval, the hash of that's input, and the rule that decided."""

AUDITED: Final = ("user", "channel", "thread", "did", "about", "outcome", "turn", "cause", "project", *FACTS)
_DERIVED: Final = ("kind", "team", "app", "ts", "of", "how", "name", "card")
_PAGE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedTurn:
    """A finished turn, as the audit shows it: *did* is ``message``, ``/workflows run``, ``click run:again`` or so.

    *about* is its subject: a kind, an ID and a name (``workflow 3 Daily digest``), or only the first one or two.
    *asked_at* is when the request arrived, *ended_at* when *outcome* was final. *cause* says why a call of the project
    service failed, if one did. *project* is the one that it was about, ``""`` for the default one. *approval* is a
    request for approval, *sha256* the hash of its input as canonical JSON, and *rule* the rule that decided.

    The others are for what's derived. *kind* is the input's (`bridge.inbound`), ``""`` if an earlier release wrote the
    entry, which derived everything itself. *team* and *app* are of who wrote it, and *ts* is its message. *of* is the
    agent or the workflow that ended (``agent 7``), *how* it ended (``""``: it answered), *name* the workflow's, and
    *took* how long the turn took. *card* is the channel and ``ts`` of a run's card. It *is_open* if a button can have
    it done again, and *has_reaction* if its message has a ⏳.
    """

    ended_at: datetime
    asked_at: datetime
    user: str
    channel: str
    thread: str
    did: str
    about: str
    is_allowed: bool
    outcome: str
    turn: str
    cause: str = ""
    project: str = ""
    approval: str = ""
    sha256: str = ""
    rule: str = ""
    kind: str = ""
    team: str = ""
    app: str = ""
    ts: str = ""
    of: str = ""
    how: str = ""
    name: str = ""
    card: str = ""
    took: timedelta = timedelta()
    is_open: bool = False
    has_reaction: bool = False

    @property
    def person(self) -> PersonKey:
        """The person, in the project that it was about."""
        return PersonKey(self.team, self.user, self.project)

    @property
    def in_thread(self) -> ThreadKey:
        """The thread of a message."""
        return ThreadKey(self.team, self.channel, self.thread or self.ts)

    @property
    def at(self) -> datetime:
        """When it ended, by the clock of the process."""
        return self.asked_at + self.took

    @classmethod
    def from_redis(cls, entry: str, fields: Mapping[str, str]) -> FinishedTurn:
        """Read an *entry* of the stream; its ID has the time."""
        ended = entry.partition("-")[0]
        asked, took = fields.get("at", ""), fields.get("ms", "")
        return cls(
            ended_at=from_epoch_ms(ended),
            asked_at=from_epoch_ms(asked if asked.isdecimal() else ended),
            is_allowed=fields.get("allowed") != "0",
            took=timedelta(milliseconds=int(took) if took.isdecimal() else 0),
            is_open="open" in fields,
            has_reaction="reaction" in fields,
            **{name: fields.get(name, "") for name in (*AUDITED, *_DERIVED)},
        )


async def page_of_finished_turns(scripts: Scripts, start: str) -> tuple[list[FinishedTurn], str]:
    """Return the first entries from *start* on, and the ID of the last. Raises `StoreUnavailable`."""
    entries: Any = await scripts.redis.xrange(scripts.keys.audit(), min=start, count=_PAGE) or []
    return [FinishedTurn.from_redis(*entry) for entry in entries], str(entries[-1][0]) if entries else ""


async def finished_turns_since(scripts: Scripts, moment: datetime) -> AsyncIterator[FinishedTurn]:
    """Read every entry that ended at *moment* or later, oldest first. Raises `StoreUnavailable`."""
    start = str(epoch_ms(moment))
    while start:
        turns, last = await page_of_finished_turns(scripts, start)
        for turn in turns:
            yield turn
        start = last and f"({last}"


def named(kind: str, id_: object, name: str = "") -> str:
    """Name the subject of an action: ``agent 7 Support``."""
    return f"{kind} {id_} {name}".rstrip()
