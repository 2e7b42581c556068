"""The project's statistics: read, recorded once an hour, and compared with earlier ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from bridge.errors import StoreUnavailable
from bridge.features.statistics.layout import (
    LAST_WEEK,
    THE_LAST_REPORT,
    YESTERDAY,
    Trend,
    leading,
    nearest_note,
    nothing_yet,
    stats_card,
)
from bridge.features.statistics.numbers import NUMBERS, PARTS, Changes
from bridge.features.statistics.past import Past, Usual, hours_of_usual
from bridge.features.statistics.snapshots import (
    NUMBERS_FOR,
    Snapshot,
    SnapshotStore,
    compare,
    hour_of,
    moment_of,
    nearest_hour,
    over_time,
    snapshot_of,
    surplus,
)
from bridge.project.client import ProjectClient
from bridge.project.models import Stats
from bridge.slack.blockkit.reply import Audience, Reply

log = logging.getLogger(__name__)

_MOST_POINTS: Final = 20
_LEAST_POINTS: Final = 3
_TREND: Final = timedelta(days=30)
_UTC: Final = ZoneInfo("UTC")
_USUAL: Final = (
    (YESTERDAY, timedelta(days=1), timedelta(hours=12)),
    (LAST_WEEK, timedelta(days=7), timedelta(hours=36)),
)
"""The default comparisons: name, age, and how far from that a snapshot may be."""


class _Recorded(NamedTuple):
    """Snapshots: *since* when there are any, those to compare with, by name, those *between*, and for the trend."""

    since: datetime
    hours: Sequence[int] = ()  # all that have numbers
    compared: Sequence[tuple[str, Snapshot]] = ()
    between: Sequence[Snapshot] = ()
    followed: Sequence[Snapshot] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """Reads the statistics of *project*, and records them in *store*, to compare with earlier ones.

    *name* is the project's if there are several.
    """

    project: ProjectClient
    store: SnapshotStore
    now: Callable[[], datetime]
    name: str = ""

    async def read(self) -> Stats:
        """Return the statistics from the service, and record them. Raises `ProjectError`."""
        stats = await self.project.get_stats()
        await self.note(stats)
        return stats

    async def note(self, stats: Stats) -> None:
        """Record *stats*, just read, unless this hour has a snapshot. A failure is only logged."""
        now = self.now()
        try:
            if await self.store.add(hour_of(now), snapshot_of(stats, now)):
                await self.store.drop(surplus((await self.store.hours())[0], now))
                await self.store.drop_numbers(hour_of(now - NUMBERS_FOR))
        except StoreUnavailable as exc:
            log.warning("statistics snapshot not stored", extra={"reason": exc.reason})

    async def card(
        self,
        stats: Stats,
        *,
        since: datetime | None = None,
        last: Snapshot | None = None,
        only: Collection[str] = PARTS,
        audience: Audience = Audience.PRIVATE,
        is_report: bool = False,
        failed: int | None = None,
        zone: ZoneInfo = _UTC,
    ) -> Reply:
        """Show *stats*, just read, with the changes since the *last* report and since *since*.

        Without *since*, the changes since yesterday and last week are shown, as far as recorded. *is_report*: as a
        headline, which also says how many turns *failed* and what's usual by the clock of its *zone*, with everything
        else in its thread.
        """
        try:
            past = await self._look_back(since, last)
        except StoreUnavailable as exc:
            log.warning("statistics snapshots can't be read", extra={"reason": exc.reason})
            past = _Recorded(self.now())
        compared = [(THE_LAST_REPORT, last)] if last else []
        changes = [
            compare(stats, then, called=called, between=past.between) for called, then in [*compared, *past.compared]
        ]
        note = None
        if since is not None:
            note = nearest_note(since, past.compared[0][1].at) if past.compared else nothing_yet(past.since)
        trend = self._trend(stats, past.followed, only)
        how: dict[str, Any] = {"only": only, "note": note, "audience": audience, "is_report": is_report}
        if is_report:
            usual = await self._usual(past.hours, leading(stats, only), changes[0].since, zone) if changes else None
            how |= {"failed": failed, "usual": usual}
        how["project"] = self.name
        return stats_card(stats, changes=changes, trend=trend, **how)

    async def changes(self, stats: Stats, *, last: Snapshot | None, since: datetime | None) -> Changes | None:
        """Return the changes since the *last* report, or the snapshot nearest to *since*; None if there's neither.

        Raises `StoreUnavailable`.
        """
        (whole, hours), then = await self.store.hours(), last
        if then is None and since is not None:
            hour = nearest_hour([hour for hour in whole if hour < hour_of(self.now())], since)
            then = (await self.store.read([hour])).get(hour) if hour is not None else None
        return compare(stats, then, between=await self._between(hours, [then])) if then else None

    async def _between(self, hours: Sequence[int], compared: Iterable[Snapshot]) -> list[Snapshot]:
        """Return the numbers since the first of the *compared* snapshots, in order."""
        begin = min((hour_of(snapshot.at) for snapshot in compared), default=None)
        if begin is None:
            return []
        snapshots = await self.store.numbers([hour for hour in hours if hour >= begin])
        return [snapshots[hour] for hour in sorted(snapshots)]

    async def _usual(self, hours: Sequence[int], name: str, since: datetime, zone: ZoneInfo) -> Usual | None:
        """Return by how much a number usually grows in as long as *since*, ending at this time of the week."""
        length = self.now() - since
        try:
            wanted = hours_of_usual(hours, self.now(), length, zone)
            past = Past((await self.store.numbers(wanted)).values())
        except StoreUnavailable:
            return None
        return past.usual(name, self.now(), length, zone)

    async def _look_back(self, since: datetime | None, last: Snapshot | None) -> _Recorded:
        """Choose the hours first, then read all their snapshots at once."""
        now, (whole, recorded) = self.now(), await self.store.hours()
        hours = [hour for hour in whole if hour < hour_of(now)]
        if since is None:
            wanted = [(called, nearest_hour(hours, now - ago, within=within)) for called, ago, within in _USUAL]
        else:
            wanted = [("", nearest_hour(hours, since))]
        chosen = [(called, hour) for called, hour in wanted if hour is not None]
        begins = hour_of(now - _TREND) if since is None or not chosen else chosen[0][1]
        followed = over_time(hours, begins, most=_MOST_POINTS - 1)
        snapshots = await self.store.read([*followed, *(hour for _called, hour in chosen)])
        compared = [(called, snapshots[hour]) for called, hour in chosen if hour in snapshots]
        return _Recorded(
            moment_of(hours[0]) if hours else now,
            recorded,
            compared,
            await self._between(recorded, [*(then for _called, then in compared), *([last] if last else [])]),
            [snapshots[hour] for hour in followed if hour in snapshots],
        )

    def _trend(self, stats: Stats, followed: Sequence[Snapshot], only: Collection[str]) -> Trend | None:
        shown = sorted((number for number in NUMBERS if number.name in only), key=lambda number: not number.leads_chart)
        if not shown:
            return None
        now = shown[0].of(stats)
        points = [(then.at, then.numbers[shown[0].name]) for then in followed if shown[0].name in then.numbers]
        if now is None or len(points) + 1 < _LEAST_POINTS:
            return None
        return Trend(shown[0], [*points, (self.now(), now)])
