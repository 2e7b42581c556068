"""Who keeps which reports: made, listed, paused, resumed, asked for at once, deleted. All of it may be repeated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bridge import words
from bridge.errors import BadSchedule, RecordNotUnderstood
from bridge.features.conversations.sessions import Sessions
from bridge.features.reports.layout import ASKED, Line, shown_on
from bridge.features.reports.schedule import Schedule, next_due
from bridge.features.reports.schedules import Kept, Schedules, Terms, asked_for
from bridge.features.reports.wording import Wanted, zone_called
from bridge.features.stats.statistics import Statistics
from bridge.ids import TurnId
from bridge.queue.inbox import Inbox
from bridge.slack.people import Directory

UTC_NAME: Final = "UTC"


@dataclass(frozen=True, slots=True)
class Made:
    """A report that is kept now; *why_zone* says where its time zone comes from, if nobody named it."""

    line: Line
    why_zone: str


@dataclass(frozen=True, slots=True)
class Reports:
    """What reports are made of. *allowed_channels* limits where they may be posted, where it is not empty.

    *has_default_agent*: in every channel there is an agent that answers where nothing else chooses.
    """

    schedules: Schedules
    inbox: Inbox
    sessions: Sessions
    statistics: Statistics
    directory: Directory
    now: Callable[[], datetime]
    has_default_agent: bool = False
    allowed_channels: frozenset[str] = field(default_factory=frozenset)

    async def keep(self, wanted: Wanted, *, id_: TurnId, team: str, channel: str, owner: str) -> Made:
        """Keep a report, once for each id. Raises `BadSchedule` and `StoreUnavailable`."""
        await self._check_channel(channel, wanted.channel)
        zone, why_zone = (wanted.zone, "") if wanted.zone else await self.zone_of(owner)
        due = next_due(wanted.schedule, ZoneInfo(zone), self.now())
        terms = Terms(
            team=team,
            channel=channel,
            owner=owner,
            words=wanted.schedule.words,
            crons=wanted.schedule.crons,
            zone=zone,
            compare=wanted.compare,
            only=wanted.only,
        )
        if not await self.schedules.keep(id_, terms, due):
            raise BadSchedule("many", "")
        return Made(_line(Kept(id_, terms, due), ""), why_zone)

    async def zone_of(self, user: str) -> tuple[str, str]:
        """Find a person's own time zone, and the words that say that it is theirs, or that Slack does not tell it."""
        try:
            return zone_called(await self.directory.time_zone(user)), f" {words.YOUR_TIME_ZONE}"
        except BadSchedule:
            return UTC_NAME, f" {words.TIME_ZONE_NOT_TOLD}"

    async def lines(self, page: int) -> list[Line]:
        """List all, those that are due next first and the paused ones last. Raises `StoreUnavailable`.

        Who keeps them is looked up for what a *page* of the list shows.
        """
        kept = sorted(await self.schedules.all(), key=lambda one: (bool(one.paused), one.due, one.id))
        names = {place: await self.directory.user_name(kept[place].terms.owner) for place in shown_on(page, len(kept))}
        return [_line(one, names.get(place, "")) for place, one in enumerate(kept)]

    async def get(self, id_: str) -> Kept | None:
        """Read one; None where it is not kept any more. Raises `RecordNotUnderstood` and `StoreUnavailable`."""
        return await self.schedules.get(id_)

    async def pause(self, kept: Kept) -> None:
        """Let a report rest."""
        await self.schedules.pause(kept.id, ASKED)

    async def resume(self, kept: Kept) -> None:
        """Let a report be due again, from now on."""
        await self.schedules.resume(kept.id, next_due(schedule_of(kept), clock_of(kept), self.now()))

    async def delete(self, kept: Kept) -> None:
        """Keep a report no longer."""
        await self.schedules.forget(kept.id)

    async def post_now(self, kept: Kept, turn: TurnId) -> None:
        """Have a report posted at once, once for each *turn* that asks for it."""
        report, event = asked_for(kept, turn, self.now())
        await self.inbox.put(report, event=event, why="somebody wants a report now")

    async def _check_channel(self, channel: str, typed: str) -> None:
        """Raise `BadSchedule` for a channel where the bot cannot post, as far as Slack tells."""
        is_open = not self.allowed_channels or channel in self.allowed_channels
        if not (channel and is_open and await self.directory.may_post(channel)):
            raise BadSchedule("channel", typed or words.THIS_CHANNEL)


def _line(kept: Kept, owner: str) -> Line:
    terms = kept.terms
    return Line(kept.id, terms.words, terms.zone, terms.channel, owner, kept.due, kept.paused)


def schedule_of(kept: Kept) -> Schedule:
    """When a report is due."""
    return Schedule(kept.terms.words, kept.terms.crons)


def clock_of(kept: Kept) -> ZoneInfo:
    """By which clock it is due. Raises `RecordNotUnderstood` where this machine does not know the time zone."""
    try:
        return ZoneInfo(kept.terms.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise RecordNotUnderstood("time zone") from exc
