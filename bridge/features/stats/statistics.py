"""`Statistics`: the project's statistics as they are read, each reading kept to compare later ones with."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from bridge import words
from bridge.errors import RecordNotUnderstood, StoreUnavailable
from bridge.features.stats.changes import compare
from bridge.features.stats.changes_shown import Changes
from bridge.features.stats.layout import EVERYTHING, NUMBERS, Trend, nothing_yet, numbers_of, stats_card, taken
from bridge.features.stats.snapshots import Snapshot, hour_of, moment_of, nearest, over_time, snapshot_of, too_many
from bridge.features.stats.stored_snapshots import SnapshotStore
from bridge.project.client import ProjectClient
from bridge.project.models import Stats
from bridge.slack.blockkit.numbers import ENGLISH, Style
from bridge.slack.blockkit.reply import Audience, Reply

log = logging.getLogger(__name__)

_MOST_POINTS: Final = 20
_LEAST_POINTS: Final = 3
_TREND: Final = timedelta(days=30)
_USUAL: Final = (
    (words.YESTERDAY, timedelta(days=1), timedelta(hours=12)),
    (words.A_WEEK_AGO, timedelta(days=7), timedelta(hours=36)),
)
"""What is compared with where nobody says: its name, how long ago, and how far from that a snapshot may be."""


@dataclass(frozen=True, slots=True)
class _Past:
    """The snapshots that a card is made with: the *then* of each comparison, and those of the trend in order."""

    hours: Sequence[int] = ()
    compared: Sequence[tuple[str, Snapshot]] = ()
    trend: Sequence[Snapshot] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """Reads the statistics of *project*; what they were is in *store*, without which everything works but that."""

    project: ProjectClient
    store: SnapshotStore
    now: Callable[[], datetime]
    usual: Sequence[tuple[str, timedelta, timedelta]] = field(default=_USUAL)

    async def read(self) -> Stats:
        """Ask the service, and keep what it says unless this hour has its snapshot. Raises `ProjectError`."""
        stats = await self.project.get_stats()
        await self.note(stats)
        return stats

    async def note(self, stats: Stats) -> None:
        """Keep *stats*, which were read just now, unless this hour has its snapshot. Never raises: it can be missed."""
        now = self.now()
        try:
            if await self.store.keep(hour_of(now), snapshot_of(stats, now).to_text()):
                await self.store.drop(too_many(await self.store.hours(), now))
        except StoreUnavailable as exc:
            log.warning("a snapshot of the statistics was not kept", extra={"reason": exc.reason})

    async def card(
        self,
        *,
        since: datetime | None = None,
        last: Snapshot | None = None,
        only: AbstractSet[str] = EVERYTHING,
        style: Style = ENGLISH,
        audience: Audience = Audience.PRIVATE,
    ) -> Reply:
        """Read the statistics and show them. Raises `ProjectError`."""
        stats = await self.read()
        return await self.card_of(stats, since=since, last=last, only=only, style=style, audience=audience)

    async def card_of(
        self,
        stats: Stats,
        *,
        since: datetime | None = None,
        last: Snapshot | None = None,
        only: AbstractSet[str] = EVERYTHING,
        style: Style = ENGLISH,
        audience: Audience = Audience.PRIVATE,
    ) -> Reply:
        """Show *stats*, which were read just now, compared with the *last* report and with what was at *since*.

        Without *since*, with yesterday and a week ago, as far as that is known.
        """
        past = await self._past(since)
        changes = [compare(stats, last, called=words.THE_LAST_REPORT)] if last else []
        changes += [compare(stats, then, called=called) for called, then in past.compared]
        return stats_card(
            stats,
            changes=changes,
            trend=self._trend(stats, past.trend, only),
            only=only,
            style=style,
            note=self._note(since, past),
            audience=audience,
        )

    async def changes_since(self, stats: Stats, moment: datetime) -> Changes | None:
        """Compare with the snapshot nearest to a moment; None where there is none yet. Raises `StoreUnavailable`."""
        hours = [hour for hour in await self.store.hours() if hour < hour_of(self.now())]
        found = nearest(hours, moment)
        then = (await self._snapshots([found])).get(found) if found is not None else None
        return compare(stats, then) if then else None

    async def counted_since(self) -> datetime | None:
        """Say since when there are snapshots. Raises `StoreUnavailable`."""
        return next((moment_of(hour) for hour in await self.store.hours()), None)

    async def _past(self, since: datetime | None) -> _Past:
        try:
            return await self._look_back(since)
        except StoreUnavailable as exc:
            log.warning("snapshots of the statistics cannot be read", extra={"reason": exc.reason})
            return _Past()

    async def _look_back(self, since: datetime | None) -> _Past:
        """Choose the hours first, and read all of their snapshots at once."""
        now = self.now()
        hours = [hour for hour in await self.store.hours() if hour < hour_of(now)]
        wanted = self._compared(hours, now) if since is None else [("", nearest(hours, since))]
        chosen = [(called, hour) for called, hour in wanted if hour is not None]
        begins = hour_of(now - _TREND) if since is None or not chosen else chosen[0][1]
        trend = over_time(hours, begins, most=_MOST_POINTS - 1)
        found = await self._snapshots([*trend, *(hour for _called, hour in chosen)])
        return _Past(
            hours,
            [(called, found[hour]) for called, hour in chosen if hour in found],
            [found[hour] for hour in trend if hour in found],
        )

    def _compared(self, hours: Sequence[int], now: datetime) -> list[tuple[str, int | None]]:
        return [(called, nearest(hours, now - ago, within=within)) for called, ago, within in self.usual]

    async def _snapshots(self, hours: Sequence[int]) -> dict[int, Snapshot]:
        found = {}
        for hour, text in (await self.store.read(hours)).items():
            try:
                found[hour] = Snapshot.from_text(text)
            except RecordNotUnderstood:  # of a later release
                log.warning("a snapshot of the statistics is not understood", extra={"hour": hour})
        return found

    def _trend(self, stats: Stats, then: Sequence[Snapshot], only: AbstractSet[str]) -> Trend | None:
        """Follow the runs, or else the first of the numbers that are wanted."""
        of = next((name for name in ("runs", *NUMBERS) if name in only), None)
        if of is None or len(then) + 1 < _LEAST_POINTS:
            return None
        points = [(one.at, {"prompts": one.prompts, "runs": one.runs, "versions": one.versions}[of]) for one in then]
        return Trend(of, [*points, (self.now(), numbers_of(stats)[of])])

    def _note(self, since: datetime | None, past: _Past) -> str:
        if since is None:
            return ""
        if past.compared:
            return taken(since, past.compared[0][1].at)
        return nothing_yet(moment_of(past.hours[0]) if past.hours else self.now())
