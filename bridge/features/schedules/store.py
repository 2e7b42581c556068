"""Stored reports: a hash for each, a sorted set by age (``reports``), and one by the next slot (``due``).

Each slot of a report gets exactly one turn: the step that queues the turn also advances the report to its next slot
(`TaskStore.advance`, `bridge.engine.clock`).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from bridge.engine.results import PostedReport
from bridge.errors import RecordNotUnderstood
from bridge.features.deps import Deps
from bridge.features.schedules.schedule import ReportSpec, StoredTask
from bridge.ids import ThreadKey
from bridge.inbound import Report
from bridge.queue.keys import milliseconds
from bridge.queue.records import VERSION, Write
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts, epoch_ms

MOST_TASKS: Final = 1000
"""How many reports one bridge stores, about 600 bytes each."""


class TaskStore:
    """The reports of one namespace. Coroutines may raise `StoreUnavailable`; the other methods return writes.

    *session_lifetime* is how long an idle thread stays bound, and how long the text of a report is stored with its
    thread.
    """

    def __init__(self, scripts: Scripts, *, session_lifetime: timedelta) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys
        self._session_ms = milliseconds(session_lifetime)

    async def get(self, id_: str) -> StoredTask | None:
        """Return a report; None if it was deleted. Raises `RecordNotUnderstood`."""
        with translated():
            fields: Any = await self._redis.hgetall(self._keys.report(id_))
        return StoredTask.from_redis(id_, fields) if fields else None

    async def all(self) -> list[StoredTask]:
        """Return all reports, oldest first, without those that only a newer version can read."""
        with translated():
            ids: Any = await self._redis.zrange(self._keys.reports(), 0, -1)
        return [report for report, _fields in await self._read({str(id_): {} for id_ in ids})]

    async def due(self, at: datetime, most: int) -> list[tuple[StoredTask, str]]:
        """Return the reports due *at* a moment, the longest due first, each with its stored due time.

        That's one lookup in the index, however many reports are stored.
        """
        with translated():
            found: Any = await self._redis.zrangebyscore(
                self._keys.due(), "-inf", epoch_ms(at), start=0, num=most, withscores=True
            )
        reports = await self._read({str(id_): {"due": str(int(due))} for id_, due in found}) if found else []
        return [(report, fields["due"]) for report, fields in reports]

    async def is_full(self) -> bool:
        """Whether `MOST_TASKS` are stored."""
        with translated():
            return int(await self._redis.zcard(self._keys.reports())) >= MOST_TASKS

    def add(self, id_: str, spec: ReportSpec, due: datetime, now: datetime) -> tuple[Write, ...]:
        """Return the writes that store a report."""
        key, at = self._keys.report(id_), epoch_ms(due)
        return (
            ("field", key, 0, "v", "1"),
            ("field", key, 0, "body", spec.model_dump_json()),
            ("field", key, 0, "due", str(at)),
            ("rank", self._keys.reports(), 0, id_, epoch_ms(now), 0),
            ("rank", self._keys.due(), 0, id_, at, 0),
        )

    def advance(self, id_: str, seen: str, following: datetime, skipped: datetime | None) -> tuple[Write, ...]:
        """Return the writes that make a report due at *following*, if it's still due at *seen* and not paused.

        *skipped* is the first slot that isn't posted.
        """
        key, at = self._keys.report(id_), epoch_ms(following)
        skips: tuple[Write, ...] = (("field if", key, 0, "skipped", str(epoch_ms(skipped)), ""),) if skipped else ()
        return (
            ("if", key, 0, 2 + len(skips), "v", "1", "due", seen, "paused", ""),
            ("field", key, 0, "due", str(at)),
            ("rank", self._keys.due(), 0, id_, at, 0),
            *skips,
        )

    def skip(self, id_: str, slot: datetime) -> tuple[Write, ...]:
        """Return the writes that record that a claimed slot isn't posted."""
        key = self._keys.report(id_)
        return (("if", key, 0, 1, "v", "1", "skipped", ""), ("field", key, 0, "skipped", str(epoch_ms(slot))))

    def pause(self, id_: str, why: str, *more: Write) -> tuple[Write, ...]:
        """Return the writes that pause a report, and *more*, unless it's already paused or deleted."""
        key = self._keys.report(id_)
        return (
            ("if", key, 0, 2 + len(more), "v", "1", "paused", ""),
            ("field", key, 0, "paused", why),
            ("unrank", self._keys.due(), 0, id_),
            *more,
        )

    def resume(self, report: StoredTask, due: datetime) -> tuple[Write, ...]:
        """Return the writes that make a paused report due again, without mentioning the slots skipped until then."""
        key, at = self._keys.report(report.id), epoch_ms(due)
        return (
            ("if", key, 0, 4, "v", "1", "paused", report.paused),
            ("field", key, 0, "paused", ""),
            ("field", key, 0, "skipped", ""),
            ("field", key, 0, "due", str(at)),
            ("rank", self._keys.due(), 0, report.id, at, 0),
        )

    def delete(self, id_: str, *more: Write) -> tuple[Write, ...]:
        """Return the writes that delete a report, and *more*, unless it's already deleted."""
        key = self._keys.report(id_)
        return (
            ("if", key, 0, 3 + len(more), "v", "1"),
            ("delete", key, 0),
            ("unrank", self._keys.due(), 0, id_),
            ("unrank", self._keys.reports(), 0, id_),
            *more,
        )

    def missed(self, id_: str) -> tuple[Write, ...]:
        """Return the writes that record that a report's owner is told that its project was removed, at most once."""
        key = self._keys.report(id_)
        return (("if", key, 0, 1, "v", "1", "gone", ""), ("field", key, 0, "gone", "1"))

    def posted(
        self, report: PostedReport, thread: ThreadKey, skipped: datetime | None, project: str = ""
    ) -> tuple[Write, ...]:
        """Return the writes for a slot posted as the root of *thread*; its words are for the first question there.

        The thread is about the report's *project*. *skipped* is the first skipped slot, which the post has mentioned,
        so the next one doesn't. With `report.binds`, the thread is a conversation from now on, and otherwise from the
        first mention.
        """
        key, slot = self._keys.report(report.report), str(epoch_ms(report.slot))
        conversation, lives = self._keys.thread(thread), self._session_ms
        skip: Write = ("field if", key, 0, "skipped", "", str(epoch_ms(skipped)) if skipped else "")
        is_reported = skipped is not None and skipped <= report.slot
        keeps: tuple[Write, ...] = (
            ("if", key, 0, 1, "v", "1"),
            ("field", key, 0, "gone", ""),
            ("if", conversation, 0, 1, "v", ""),
            ("field", conversation, lives, "project", project),
        )
        binds: Write = ("field if", conversation, lives, "v", str(VERSION), "")
        return (
            ("if", key, 0, 1 + is_reported, "v", "1"),
            ("field max", key, 0, "last", slot, "numbers", report.numbers),
            *([skip] if is_reported else []),
            *(keeps if project else ()),
            *([binds] if report.binds else []),
            ("if", conversation, 0, 1, "session", ""),
            ("set", self._keys.words(thread), lives, report.words),
        )

    async def _read(self, wanted: dict[str, dict[str, str]]) -> list[tuple[StoredTask, dict[str, str]]]:
        """Return the *wanted* reports, by ID with fields that replace stored ones, and their stored fields."""
        with translated():
            async with self._redis.pipeline(transaction=False) as pipe:
                for id_ in wanted:
                    pipe.hgetall(self._keys.report(id_))
                records = await pipe.execute()
        found = []
        for (id_, replaced), fields in zip(wanted.items(), records, strict=True):
            try:
                found.append((StoredTask.from_redis(id_, {**fields, **replaced}), fields))
            except RecordNotUnderstood:
                continue
        return found


def store_of(deps: Deps) -> TaskStore:
    """Return the store of reports for a handler."""
    return TaskStore(deps.scripts, session_lifetime=deps.session_lifetime)


def due_report(report: StoredTask, slot: datetime, *, is_asked_for: bool = False) -> Report:
    """Return the input to queue for a *slot* of a report, or for a request."""
    team, channel, owner = report.spec.team, report.spec.channel, report.spec.owner
    about = {"report": report.id, "slot": slot, "is_asked_for": is_asked_for, "project": report.spec.project}
    return Report(team=team, channel=channel, user=owner, **about)
