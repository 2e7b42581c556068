"""Stored reports: each in a hash of its own, all by age in ``reports``, and by their next slot in ``due``.

Exactly one turn for each report and slot: `ReportStore.claim` moves a report on to its next slot and queues the turn of
this one in ONE script, if the report is still due at it. From there on it is a turn like any other
(`bridge.queue.inbox`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from bridge.errors import BadSchedule, RecordNotUnderstood
from bridge.features.deps import Deps
from bridge.features.reports.layout import SLACK_TELLS_NO_ZONE, THIS_CHANNEL, YOUR_TIME_ZONE, shown_on
from bridge.features.reports.schedule import ReportSpec, StoredReport, next_due, zone_called
from bridge.features.shared.sessions import Sessions
from bridge.features.shared.statistics import Statistics
from bridge.ids import ThreadKey, TurnId, new_turn_id, own_lane
from bridge.inbound import Notice, Report, to_json
from bridge.queue.inbox import Inbox
from bridge.queue.keys import SEEN, milliseconds
from bridge.queue.records import Delivery
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts, epoch_ms
from bridge.slack.people import Directory

MOST_KEPT: Final = 1000
"""How many reports one bridge stores, some 600 bytes each."""


class ReportStore:
    """The reports of one namespace, for one *consumer*. Every method may raise `StoreUnavailable`.

    *session_lifetime* is how long an idle thread stays bound, and how long the text of a report is stored with its
    thread.
    """

    def __init__(
        self, scripts: Scripts, *, consumer: str, session_lifetime: timedelta, now: Callable[[], datetime]
    ) -> None:
        self._scripts = scripts
        self._keys = scripts.keys
        self._consumer = consumer
        self._session_ms = milliseconds(session_lifetime)
        self._now = now

    async def keep(self, id_: str, spec: ReportSpec, due: datetime) -> bool:
        """Store a report, once for each id. False: there are too many."""
        args = (id_, spec.model_dump_json(), epoch_ms(due), epoch_ms(self._now()), MOST_KEPT)
        return str(await self._scripts.run("report_keep", *args, confirmed=True)) == "kept"

    async def get(self, id_: str) -> StoredReport | None:
        """Read one; None if it was deleted. Raises `RecordNotUnderstood`."""
        with translated():
            fields: Any = await self._scripts.redis.hgetall(self._keys.report(id_))
        return StoredReport.from_redis(id_, fields) if fields else None

    async def all(self) -> list[StoredReport]:
        """List them, oldest first, without those that only a newer release can read."""
        redis = self._scripts.redis
        with translated():
            ids: Any = await redis.zrange(self._keys.reports(), 0, -1)
            async with redis.pipeline(transaction=False) as pipe:
                for id_ in ids:
                    pipe.hgetall(self._keys.report(id_))
                records = await pipe.execute()
        return _readable(zip(ids, records, strict=True))

    async def due(self, most: int) -> list[StoredReport]:
        """List those that are due now, the longest due first: one look-up, however many there are."""
        found: Any = await self._scripts.run("report_due", epoch_ms(self._now()), most)
        return _readable(
            (id_, {**dict(zip(fields[::2], fields[1::2], strict=True)), "due": due}) for id_, due, fields in found
        )

    async def claim(
        self, report: StoredReport, *, following: datetime, slot: datetime | None, skipped: datetime | None
    ) -> str:
        """Queue the post of *slot* and make the report due at *following*, unless another process was faster.

        Without a slot, nothing is queued. *skipped* is the first slot that won't be posted. Returns ``queued``,
        ``skipped`` or ``taken``.
        """
        turn, now, body, mark = new_turn_id(), self._now(), "", ""
        if slot is not None:
            body, mark = to_json(_inbound(report, slot)), f"report:{report.id}:{epoch_ms(slot)}"
        line = Delivery(now, self._consumer, mark, 0, "a report is due").to_line()
        answer = await self._scripts.run(
            "report_claim", report.id, epoch_ms(report.due), epoch_ms(following), epoch_ms(skipped) if skipped else "",
            turn if body else "", own_lane(turn), mark, milliseconds(SEEN), epoch_ms(now), body, line, confirmed=True,
        )  # fmt: skip
        return str(answer)

    async def skip(self, id_: str, slot: datetime) -> None:
        """Record that a claimed slot isn't posted."""
        with translated():
            if await self._scripts.redis.exists(self._keys.report(id_)):
                await self._scripts.redis.hsetnx(self._keys.report(id_), "skipped", str(epoch_ms(slot)))

    async def pause(self, id_: str, why: str, tell: Notice | None = None) -> bool:
        """Pause a report; False if it is paused already, or deleted. With *tell*, that notice is queued, once."""
        turn, now = new_turn_id(), self._now()
        line = Delivery(now, self._consumer, "", 0, "a report was paused").to_line()
        body = to_json(tell) if tell else ""
        answer = await self._scripts.run(
            "report_pause", id_, why, turn if body else "", own_lane(turn), epoch_ms(now), body, line, confirmed=True
        )
        return str(answer) == "paused"

    async def resume(self, id_: str, due: datetime) -> None:
        """Make a paused report due again."""
        await self._scripts.run("report_resume", id_, epoch_ms(due), confirmed=True)

    async def forget(self, id_: str) -> None:
        """Delete a report."""
        with translated():
            async with self._scripts.redis.pipeline(transaction=True) as pipe:
                pipe.zrem(self._keys.due(), id_)
                pipe.zrem(self._keys.reports(), id_)
                pipe.delete(self._keys.report(id_))
                await pipe.execute()

    async def posted(
        self, id_: str, slot: datetime, thread: ThreadKey, *, words: str, numbers: str, binds: bool
    ) -> None:
        """Record that a slot was posted as the root of *thread*, and store the *words* for the first question there.

        With *binds*, the thread is a conversation from now on, else from the first mention.
        """
        await self._scripts.run(
            "report_posted", id_, epoch_ms(slot), str(thread), int(binds), self._session_ms, words, self._session_ms,
            numbers,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reports:
    """Scheduled reports. *allowed_channels* limits where they may be posted, unless it is empty.

    *has_default_agent*: an agent answers in every channel where nothing else chooses one.
    """

    store: ReportStore
    inbox: Inbox
    sessions: Sessions
    statistics: Statistics
    directory: Directory
    now: Callable[[], datetime]
    has_default_agent: bool = False
    allowed_channels: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, deps: Deps) -> Reports:
        """Those that a handler works with."""
        store = ReportStore(
            deps.scripts, consumer=deps.inbox.consumer, session_lifetime=deps.session_lifetime, now=deps.now
        )
        return cls(
            store=store,
            inbox=deps.inbox,
            sessions=deps.sessions,
            statistics=deps.statistics,
            directory=deps.directory,
            now=deps.now,
            has_default_agent=bool(deps.default_agent),
            allowed_channels=deps.access.allowed_channels,
        )

    async def keep(
        self, spec: ReportSpec, *, id_: TurnId, team: str, channel: str, owner: str
    ) -> tuple[StoredReport, str]:
        """Schedule a report, once for each id. Raises `BadSchedule` and `StoreUnavailable`.

        Returns it, and the words that say where its time zone comes from, if it wasn't given.
        """
        is_open = not self.allowed_channels or channel in self.allowed_channels
        if not (channel and is_open and await self.directory.may_post(channel)):  # as far as Slack tells
            raise BadSchedule("channel", spec.channel or THIS_CHANNEL)
        zone, why_zone = (spec.zone, "") if spec.zone else await self.zone_of(owner)
        due = next_due(spec.schedule, ZoneInfo(zone), self.now())
        spec = spec.model_copy(update={"team": team, "channel": channel, "owner": owner, "zone": zone})
        if not await self.store.keep(id_, spec, due):
            raise BadSchedule("many", "")
        return StoredReport(id_, spec, due), why_zone

    async def zone_of(self, user: str) -> tuple[str, str]:
        """Look up a person's time zone, UTC if Slack doesn't tell, and the words that say which of both it is."""
        try:
            return zone_called(await self.directory.time_zone(user)), f" {YOUR_TIME_ZONE}"
        except BadSchedule:
            return "UTC", f" {SLACK_TELLS_NO_ZONE}"

    async def listed(self, page: int) -> list[tuple[StoredReport, str]]:
        """List all, by when they are due next and the paused ones last. Raises `StoreUnavailable`.

        Each comes with its owner's name, which is looked up only for what a *page* of the list shows.
        """
        reports = sorted(await self.store.all(), key=lambda one: (bool(one.paused), one.due, one.id))
        shown = shown_on(page, len(reports))
        names = {place: await self.directory.user_name(reports[place].spec.owner) for place in shown}
        return [(report, names.get(place, "")) for place, report in enumerate(reports)]

    async def resume(self, report: StoredReport) -> None:
        """Make a report due again, from now on."""
        await self.store.resume(report.id, next_due(report.spec.schedule, report.clock, self.now()))

    async def post_now(self, report: StoredReport, turn: TurnId) -> None:
        """Queue a post of a report now, once for each *turn* that asks for it."""
        body = _inbound(report, self.now(), is_asked_for=True)
        await self.inbox.put(body, event=f"report:{report.id}:asked:{turn}", why="somebody wants a report now")


def _inbound(report: StoredReport, slot: datetime, *, is_asked_for: bool = False) -> Report:
    team, channel, owner = report.spec.team, report.spec.channel, report.spec.owner
    return Report(team=team, channel=channel, user=owner, report=report.id, slot=slot, is_asked_for=is_asked_for)


def _readable(records: Any) -> list[StoredReport]:
    found = []
    for id_, fields in records:
        try:
            found.append(StoredReport.from_redis(str(id_), fields))
        except RecordNotUnderstood:
            continue
    return found
