"""Add up what agents and workflows did, as it happens: from short streams of ended turns and votes, once a minute.

The step that writes the sums also records how far the streams were read, if that's still as it was. So each turn is
counted once, whichever process dies.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from bridge.features.statistics.work import (
    EndedTurn,
    Tally,
    add,
    field_of,
    folded,
    from_text,
    outages_since,
    period_of,
    span_of_field,
    with_outage,
)
from bridge.queue.inbox import Inbox
from bridge.queue.keys import ENDED, ENDED_LENGTH, SNAPSHOTS, milliseconds
from bridge.queue.records import Write, only_if
from bridge.queue.scripting import Scripts

KINDS: Final = ("agent", "workflow", "vote")
"""The streams. The sums have a field of each name, with the last entry that's counted."""

OUTAGES: Final = "outages"
_SHORTEST_OUTAGE: Final = timedelta(minutes=1)
_AT_ONCE: Final = 2000


@dataclass(frozen=True, slots=True)
class WorkDone:
    """What the agents and workflows of a project did *since* the beginning of a day, by `key_of`, and *outages*."""

    since: datetime
    work: Mapping[str, Tally] = field(default_factory=dict)
    outages: list[tuple[datetime, datetime]] = field(default_factory=list)


class WorkStore:
    """The sums of one namespace. Methods may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys

    async def aggregate(self, inbox: Inbox, now: datetime) -> None:
        """Add up what has ended since the last time."""
        key, today = self._keys.work(), now.astimezone(UTC).date()
        while True:
            stored = await self._stored()
            news, read = await self._news(stored)
            changed = folded(stored, news, today)
            if not changed and read == {name: stored.get(name, "") for name in KINDS}:
                return
            fields = {**changed, **read}
            lives = milliseconds(SNAPSHOTS)
            writes: list[Write] = [("field", key, lives, name, text) for name, text in fields.items()]
            await inbox.write(*only_if(key, {name: stored.get(name, "") for name in KINDS}, *writes))
            if gone := [name for name, text in changed.items() if not text]:
                await self._redis.hdel(key, *gone)

    async def since(self, moment: datetime, now: datetime, project: str) -> WorkDone:
        """Return what was done since a moment, in whole days, or weeks, with what isn't added up yet."""
        stored = await self._stored()
        news, _read = await self._news(stored)
        today, first = now.astimezone(UTC).date(), moment.astimezone(UTC).date()
        total, begins = dict[str, Tally](), first
        for name, text in stored.items():
            span = span_of_field(name)
            if span is not None and span[1] >= first:
                begins = min(begins, span[0])
                add(total, from_text(text))
        for day, period in news.items():
            span = span_of_field(field_of(day, today))
            if span is not None and span[1] >= first:
                add(total, period)
        mine = {key.partition("@")[0]: work for key, work in total.items() if key.partition("@")[2] == project}
        since = datetime(begins.year, begins.month, begins.day, tzinfo=UTC)
        return WorkDone(since, mine, outages_since(stored.get(OUTAGES, ""), project, moment))

    async def failed_since(self, moment: datetime, now: datetime, project: str) -> int:
        """Return how many turns failed or ended unknown since a moment; if that's over a day ago, in whole days."""
        if now - moment > ENDED:
            work = (await self.since(moment, now, project)).work.values()
            return sum(one.failed + one.unknown for one in work)
        ended = await self.ended(moment, "agent", "workflow")
        return sum(one.project == project and one.end in {"failed", "unknown"} for one in ended)

    async def ended(self, moment: datetime, *kinds: str) -> list[EndedTurn]:
        """Return the turns of agents, of workflows or of both that ended since a moment, for a day."""
        found = []
        for kind in kinds:
            entries: Any = await self._redis.xrange(self._keys.ended(kind), count=2 * ENDED_LENGTH)
            for _entry, fields in entries:
                with suppress(KeyError, ValueError):  # of another version
                    found.append(EndedTurn.from_entry(fields))
        return [one for one in found if one.at >= moment]

    async def note_outage(self, inbox: Inbox, project: str, began: datetime, ended: datetime) -> None:
        """Record that a service couldn't be reached for a while."""
        if ended - began < _SHORTEST_OUTAGE:
            return
        key = self._keys.work()
        known = str(await self._redis.hget(key, OUTAGES) or "")
        text = with_outage(known, project, began, ended)
        await inbox.write(("field if", key, milliseconds(SNAPSHOTS), OUTAGES, text, known))

    async def _stored(self) -> dict[str, str]:
        found: Any = await self._redis.hgetall(self._keys.work())
        return {str(name): str(text) for name, text in found.items()}

    async def _news(self, stored: Mapping[str, str]) -> tuple[dict[date, dict[str, Tally]], dict[str, str]]:
        """Return what isn't added up yet, and the last entry of each stream."""
        news: dict[date, dict[str, Tally]] = {}
        read = {}
        for kind in KINDS:
            last = stored.get(kind, "")
            entries: Any = await self._redis.xrange(
                self._keys.ended(kind), min=f"({last}" if last else "-", count=_AT_ONCE
            )
            read[kind] = str(entries[-1][0]) if entries else last
            for day, period in period_of(kind, (fields for _entry, fields in entries)).items():
                add(news.setdefault(day, {}), period)
        return news, read
