"""Have Redis count what agents and workflows did, from finished turns (`bridge.engine.finished_turns`) and votes.

People and threads are counted without saying which, by HyperLogLogs.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from bridge.features.statistics import earlier
from bridge.features.statistics.work import (
    EndedTurn,
    Tally,
    key_of,
    outages_since,
    periods_of,
    periods_since,
    span_of,
    votes_of,
    with_outage,
)
from bridge.queue.finished_turns import FinishedTurn
from bridge.queue.inbox import Inbox
from bridge.queue.keys import BY_DAY, ENDED, ENDED_LENGTH, SNAPSHOTS, milliseconds
from bridge.queue.scripting import Scripts, epoch_ms, from_epoch_ms
from bridge.queue.writes import Append, Distinct, Write, only_if

OUTAGES: Final = "outages"
_SHORTEST_OUTAGE: Final = timedelta(minutes=1)
_AT_ONCE: Final = 2000
_EARLIER: Final = ("agent", "workflow", "vote")
"""The streams of the release before. Its sums have a field of each name, with the last entry that's counted."""


@dataclass(frozen=True, slots=True)
class WorkDone:
    """What the agents and workflows of a project did *since* the beginning of a day, by `key_of`, and *outages*."""

    since: datetime
    work: Mapping[str, Tally] = field(default_factory=dict)
    outages: list[tuple[datetime, datetime]] = field(default_factory=list)


class WorkStore:
    """The counters of one namespace. Methods may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys

    def counts(self, turns: Sequence[FinishedTurn]) -> list[Write]:
        """Return the writes that count finished turns, and list them one by one for a day."""
        counted, writes = Counter[tuple[str, str, str]](), list[Write]()
        distinct = defaultdict[tuple[str, str, str], set[str]](set)
        for turn in (turn for turn in turns if turn.of):
            kind, took = turn.of.partition(" ")[0], turn.took.total_seconds()
            ended = EndedTurn(turn.at, turn.of, took, turn.how, turn.project)
            key, lives = self._keys.ended(kind), milliseconds(ENDED)
            at, ms, how, project = str(epoch_ms(turn.at)), str(round(1000 * took)), turn.how, turn.project
            facts = ["at", at, "of", turn.of, "took", ms, "how", how, "project", project]
            listed: Append = ("append", key, lives, ENDED_LENGTH, *facts)
            writes.append(listed)
            counted.update(_counted(ended))
            for period in periods_of(_day(turn.at)) if turn.kind == "message" else ():
                distinct["people", period, ended.key].add(self._token(turn.user or turn.app))
                distinct["threads", period, ended.key].add(self._token(str(turn.in_thread)))
        for (what, period, key), tokens in distinct.items():
            seen: Distinct = ("distinct", self._keys.distinct(what, period, key), _lives(period), *tokens)
            writes.append(seen)
        return writes + self._grow(counted)

    def vote(self, of: str, project: str, voted: str, before: str, at: datetime) -> list[Write]:
        """Return the writes that count a vote; before that, the person had voted *before*, or ``""``."""
        key, votes = key_of(of, project), votes_of(voted, before)
        return self._grow(Counter({(period, key, vote): n for period in periods_of(_day(at)) for vote, n in votes}))

    def _grow(self, counted: Mapping[tuple[str, str, str], int]) -> list[Write]:
        return [
            ("count", self._keys.did(period), _lives(period), f"{key} {what}", number)
            for (period, key, what), number in counted.items()
        ]

    def _token(self, value: str) -> str:
        """Return what stands for a *value* in a counter; in another namespace, it's another one."""
        return hashlib.blake2s(value.encode(), key=self._keys.namespace.encode()[:32], digest_size=8).hexdigest()

    async def since(self, moment: datetime, now: datetime, project: str) -> WorkDone:
        """Return what was done since a moment, in whole days, or weeks."""
        first, today = _day(moment), _day(now)
        periods = periods_since(first, today)
        async with self._redis.pipeline(transaction=False) as pipe:
            for period in periods:
                pipe.hgetall(self._keys.did(period))
            pipe.hgetall(self._keys.work())
            *tallies, stored = await pipe.execute()
        total, begins = earlier.from_texts(stored, first)
        spans = [span for period, fields in zip(periods, tallies, strict=True) if fields and (span := span_of(period))]
        begins = min([begins, *(span[0] for span in spans)])
        mine = dict[str, Tally]()
        for fields in tallies:
            for name, number in fields.items():
                key, _, what = name.partition(" ")
                if key.partition("@")[2] == project:
                    mine.setdefault(key, Tally()).count(what, int(number))
        keys = list(mine)
        async with self._redis.pipeline(transaction=False) as pipe:
            for key in keys:
                for members in ("people", "threads"):
                    pipe.pfcount(*(self._keys.distinct(members, period, key) for period in periods))
            numbers = iter(await pipe.execute() if keys else ())
        for key in keys:
            mine[key].people, mine[key].threads = next(numbers), next(numbers)
        for key, tally in total.items():
            if key.partition("@")[2] == project:
                people = max(tally.people, mine[key].people if key in mine else 0)  # mostly the same ones
                mine.setdefault(key, Tally()).add(tally)
                mine[key].people = people
        since = datetime(begins.year, begins.month, begins.day, tzinfo=UTC)
        work = {key.partition("@")[0]: tally for key, tally in mine.items()}
        return WorkDone(since, work, outages_since(stored.get(OUTAGES, ""), project, moment))

    async def failed_since(self, moment: datetime, now: datetime, project: str) -> int:
        """Return how many turns failed or ended unknown since a moment; if that's over a day ago, in whole days."""
        if now - moment > ENDED:
            work = (await self.since(moment, now, project)).work.values()
            return sum(tally.failed + tally.unknown for tally in work)
        ended = await self.ended(moment, "agent", "workflow")
        return sum(turn.project == project and turn.end in {"failed", "unknown"} for turn in ended)

    async def ended(self, moment: datetime, *kinds: str) -> list[EndedTurn]:
        """Return the turns of agents, of workflows or of both that ended since a moment, for a day."""
        turns = []
        for kind in kinds:
            entries: Any = await self._redis.xrange(self._keys.ended(kind), count=2 * ENDED_LENGTH)
            for _entry, fields in entries:
                with suppress(KeyError, ValueError):  # of another version
                    turns.append(EndedTurn.from_entry(fields))
        return [turn for turn in turns if turn.at >= moment]

    async def note_outage(self, inbox: Inbox, project: str, began: datetime, ended: datetime) -> None:
        """Record that a service couldn't be reached for a while."""
        if ended - began < _SHORTEST_OUTAGE:
            return
        key = self._keys.work()
        known = str(await self._redis.hget(key, OUTAGES) or "")
        text = with_outage(known, project, began, ended)
        await inbox.write(("field if", key, milliseconds(SNAPSHOTS), OUTAGES, text, known))

    async def count_earlier(self, inbox: Inbox) -> None:
        """Count what processes of the release before list, once, whichever process does: this one or one of those.

        Delete this in the next release, with what's only for `bridge.features.statistics.earlier`.
        """
        key, lives = self._keys.work(), milliseconds(SNAPSHOTS)
        for kind in _EARLIER:
            while True:
                last = str(await self._redis.hget(key, kind) or "")
                entries: Any = await self._redis.xrange(
                    self._keys.ended(kind), min=f"({last}" if last else "-", count=_AT_ONCE
                )
                if not entries:
                    break
                counted = Counter[tuple[str, str, str]]()
                for _entry, fields in entries:
                    with suppress(KeyError, ValueError):
                        counted.update(_counted_earlier(kind, fields))
                read: Write = ("field", key, lives, kind, str(entries[-1][0]))
                await inbox.write(*only_if(key, {kind: last}, read, *self._grow(counted)))


def _counted(ended: EndedTurn) -> Iterable[tuple[str, str, str]]:
    return [(period, ended.key, what) for period in periods_of(_day(ended.at)) for what in ended.counts]


def _counted_earlier(kind: str, fields: Mapping[str, str]) -> Mapping[tuple[str, str, str], int]:
    """Return what an entry of the release before counts for; nothing for one of this release."""
    if kind == "vote":
        key, day = key_of(fields["of"], fields.get("project", "")), _day(from_epoch_ms(fields["at"]))
        votes = votes_of(fields["how"], fields.get("before", ""))
        return {(period, key, vote): n for period in periods_of(day) for vote, n in votes}
    return Counter(_counted(EndedTurn.from_entry(fields)) if "ms" in fields else ())


def _day(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


def _lives(period: str) -> int:
    """Return how long a period's counters live after the last change (ms)."""
    return milliseconds(BY_DAY if period[0] == "d" else SNAPSHOTS)
