"""Stored reports: a hash for each, all by age in ``reports``, and by their next slot in ``due``.

Each report and slot gets exactly one turn: the step that queues it also advances the report to its next slot
(`ReportStore.go_on`, `bridge.features.clock`).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from bridge.errors import RecordNotUnderstood
from bridge.features.deps import Deps
from bridge.features.reports.schedule import ReportSpec, StoredReport
from bridge.features.results import PostedReport
from bridge.ids import ThreadKey
from bridge.inbound import Report
from bridge.queue.keys import milliseconds
from bridge.queue.records import VERSION, Write
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts, epoch_ms

MOST_KEPT: Final = 1000
"""How many reports one bridge stores, some 600 bytes each."""


class ReportStore:
    """The reports of one namespace. What reads may raise `StoreUnavailable`; what changes gives the writes.

    *session_lifetime* is how long an idle thread stays bound, and how long the text of a report is stored with its
    thread.
    """

    def __init__(self, scripts: Scripts, *, session_lifetime: timedelta) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys
        self._session_ms = milliseconds(session_lifetime)

    async def get(self, id_: str) -> StoredReport | None:
        """Read one; None if it was deleted. Raises `RecordNotUnderstood`."""
        with translated():
            fields: Any = await self._redis.hgetall(self._keys.report(id_))
        return StoredReport.from_redis(id_, fields) if fields else None

    async def all(self) -> list[StoredReport]:
        """List them, oldest first, without those only a newer version can read."""
        with translated():
            ids: Any = await self._redis.zrange(self._keys.reports(), 0, -1)
        return [report for report, _fields in await self._read({str(id_): {} for id_ in ids})]

    async def due(self, at: datetime, most: int) -> list[tuple[StoredReport, str]]:
        """List those that are due, the longest due first, each with its own due time.

        That's one lookup in the index, however many are stored.
        """
        with translated():
            found: Any = await self._redis.zrangebyscore(
                self._keys.due(), "-inf", epoch_ms(at), start=0, num=most, withscores=True
            )
        reports = await self._read({str(id_): {"due": str(int(due))} for id_, due in found}) if found else []
        return [(report, fields["due"]) for report, fields in reports]

    async def is_full(self) -> bool:
        """Whether no more fit."""
        with translated():
            return int(await self._redis.zcard(self._keys.reports())) >= MOST_KEPT

    def keep(self, id_: str, spec: ReportSpec, due: datetime, now: datetime) -> tuple[Write, ...]:
        """Store a report."""
        key, at = self._keys.report(id_), epoch_ms(due)
        return (
            ("field", key, 0, "v", "1"),
            ("field", key, 0, "body", spec.model_dump_json()),
            ("field", key, 0, "due", str(at)),
            ("rank", self._keys.reports(), 0, id_, epoch_ms(now), 0),
            ("rank", self._keys.due(), 0, id_, at, 0),
        )

    def go_on(self, id_: str, seen: str, following: datetime, skipped: datetime | None) -> tuple[Write, ...]:
        """Have a report be due at *following*, if it still says *seen*; *skipped* is the first slot left out."""
        key, at = self._keys.report(id_), epoch_ms(following)
        skips: tuple[Write, ...] = (("field if", key, 0, "skipped", str(epoch_ms(skipped)), ""),) if skipped else ()
        return (
            ("if", key, 0, 2 + len(skips), "v", "1", "due", seen, "paused", ""),
            ("field", key, 0, "due", str(at)),
            ("rank", self._keys.due(), 0, id_, at, 0),
            *skips,
        )

    def skip(self, id_: str, slot: datetime) -> tuple[Write, ...]:
        """Record that a claimed slot isn't posted."""
        key = self._keys.report(id_)
        return (("if", key, 0, 1, "v", "1", "skipped", ""), ("field", key, 0, "skipped", str(epoch_ms(slot))))

    def pause(self, id_: str, why: str) -> tuple[Write, ...]:
        """Pause a report, unless it's already paused or deleted."""
        key = self._keys.report(id_)
        return (
            ("if", key, 0, 2, "v", "1", "paused", ""),
            ("field", key, 0, "paused", why),
            ("unrank", self._keys.due(), 0, id_),
        )

    def resume(self, report: StoredReport, due: datetime) -> tuple[Write, ...]:
        """Make a paused report due again, without the slots it skipped meanwhile."""
        key, at = self._keys.report(report.id), epoch_ms(due)
        return (
            ("if", key, 0, 4, "v", "1", "paused", report.paused),
            ("field", key, 0, "paused", ""),
            ("field", key, 0, "skipped", ""),
            ("field", key, 0, "due", str(at)),
            ("rank", self._keys.due(), 0, report.id, at, 0),
        )

    def forget(self, id_: str) -> tuple[Write, ...]:
        """Delete a report."""
        return (
            ("delete", self._keys.report(id_), 0),
            ("unrank", self._keys.due(), 0, id_),
            ("unrank", self._keys.reports(), 0, id_),
        )

    def posted(self, report: PostedReport, thread: ThreadKey, skipped: datetime | None) -> tuple[Write, ...]:
        """Record that a slot was posted as the root of *thread*, and store its words for the first question there.

        *skipped* is what the report says about skipped slots, so that it isn't repeated. With *binds*, the thread is a
        conversation from now on, else from the first mention.
        """
        key, slot = self._keys.report(report.report), str(epoch_ms(report.slot))
        conversation, lives = self._keys.thread(thread), self._session_ms
        skip: Write = ("field if", key, 0, "skipped", "", str(epoch_ms(skipped)) if skipped else "")
        is_reported = skipped is not None and skipped <= report.slot
        binds: Write = ("field if", conversation, lives, "v", str(VERSION), "")
        return (
            ("if", key, 0, 1 + is_reported, "v", "1"),
            ("field max", key, 0, "last", slot, "numbers", report.numbers),
            *([skip] if is_reported else []),
            *([binds] if report.binds else []),
            ("if", conversation, 0, 1, "session", ""),
            ("set", self._keys.words(thread), lives, report.words),
        )

    async def _read(self, wanted: dict[str, dict[str, str]]) -> list[tuple[StoredReport, dict[str, str]]]:
        """Read those that are *wanted*, by id, with what to know better; gives the stored fields, too."""
        with translated():
            async with self._redis.pipeline(transaction=False) as pipe:
                for id_ in wanted:
                    pipe.hgetall(self._keys.report(id_))
                records = await pipe.execute()
        found = []
        for (id_, better), fields in zip(wanted.items(), records, strict=True):
            try:
                found.append((StoredReport.from_redis(id_, {**fields, **better}), fields))
            except RecordNotUnderstood:
                continue
        return found


def store_of(deps: Deps) -> ReportStore:
    """The reports that a handler works with."""
    return ReportStore(deps.scripts, session_lifetime=deps.session_lifetime)


def due_post(report: StoredReport, slot: datetime, *, is_asked_for: bool = False) -> Report:
    """What to queue for a *slot* of a report, or on request."""
    team, channel, owner = report.spec.team, report.spec.channel, report.spec.owner
    return Report(team=team, channel=channel, user=owner, report=report.id, slot=slot, is_asked_for=is_asked_for)
