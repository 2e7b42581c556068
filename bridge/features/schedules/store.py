"""Stored tasks: a hash for each, a sorted set by age (``reports``), and one by the next slot (``due``).

A task is a report, a scheduled question or a scheduled run; the hash of a report has a ``body``, the others a ``task``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from bridge.features.run_records import PostedTask
from bridge.features.schedules.records import PostedReport, Report, ScheduledTask
from bridge.features.schedules.schedule import ReportSpec, StoredTask
from bridge.features.standing.due import DueStore
from bridge.features.standing.store import Spec
from bridge.ids import MessageKey, ThreadKey, TurnId
from bridge.queue.keys import milliseconds
from bridge.queue.records import VERSION, Step
from bridge.queue.scripting import epoch_ms, pipelined
from bridge.queue.writes import Max, Write, only_if

MOST_TASKS: Final = 1000
"""How many tasks one bridge stores, about 600 bytes each and the text of questions and inputs."""

_UNFINISHED: Final = frozenset({Step.QUEUED, Step.SENT, Step.POSTING})


class TaskStore(DueStore[StoredTask]):
    """The tasks of one namespace, oldest first."""

    listed, stored = "reports", "report"
    most = MOST_TASKS

    @classmethod
    def parse(cls, id_: str, fields: Mapping[str, str]) -> StoredTask:
        """Parse a record's hash. Raises `RecordNotUnderstood`."""
        return StoredTask.from_redis(id_, fields)

    @staticmethod
    def field_of(spec: Spec) -> str:
        """Return the field with a task's spec; releases that know only reports leave a ``task`` alone."""
        return "body" if isinstance(spec, ReportSpec) else "task"

    async def is_running(self, task: StoredTask, *, but: TurnId) -> bool:
        """Whether what the latest slot of *task* started is still running: a turn, or a question in its thread.

        The turn *but* doesn't count.
        """
        turns, step = [task.turn], None
        if task.ts:
            asked = MessageKey(task.spec.team, task.spec.channel, task.ts)
            turns.append(str(await self._redis.get(self._keys.seen_message(asked)) or ""))
        for turn in turns:
            if turn not in {"", but}:
                step = await self._redis.hget(self._keys.turn(TurnId(turn)), "step")
                if step in _UNFINISHED:
                    return True
        return False

    async def answers(self, tasks: Sequence[StoredTask]) -> dict[str, tuple[str, str]]:
        """Return the step and the outcome of what each task started last, by the task's ID, for a week after its end.

        That's the message of a question, or else the turn.
        """
        messages = [MessageKey(task.spec.team, task.spec.channel, task.ts or "-") for task in tasks]
        turns = await pipelined(
            self._redis, lambda pipe: [pipe.get(self._keys.seen_message(message)) for message in messages]
        )
        last = [TurnId(str(turn or task.turn or "-")) for task, turn in zip(tasks, turns, strict=True)]
        found = await pipelined(
            self._redis, lambda pipe: [pipe.hmget(self._keys.turn(one), ["step", "what"]) for one in last]
        )
        return {task.id: (step or "", what or "") for task, (step, what) in zip(tasks, found, strict=True)}

    def starts(self, id_: str, turn: TurnId, *, after: str) -> tuple[Write, ...]:
        """Return the writes that make *turn* the one that a task started last, *after* another one.

        The first is an ``if``.
        """
        key = self._keys.report(id_)
        return only_if(key, {"v": "1", "turn": after}, ("field", key, 0, "turn", turn))

    def overlaps(self, task: StoredTask, slot: datetime) -> tuple[Write, ...]:
        """Return the writes for a skipped *slot* whose predecessor is still running."""
        return (*self.skip(task.id, slot), ("field", self._keys.report(task.id), 0, "told", task.turn))

    def posted(
        self,
        report: PostedReport,
        thread: ThreadKey,
        skipped: datetime | None,
        project: str = "",
        *,
        session_lifetime: timedelta,
    ) -> tuple[Write, ...]:
        """Return the writes for a slot posted as the root of *thread*; its words are for the first question there.

        The thread is about the report's *project*. *skipped* is the first skipped slot, which the post has mentioned,
        so the next one doesn't. With `report.binds`, the thread is a conversation from now on, and otherwise from the
        first mention. An idle thread stays bound for *session_lifetime*, and the report's text is stored as long.
        """
        conversation, lives = self._keys.thread(thread), milliseconds(session_lifetime)
        facts = {"numbers": report.numbers, "ts": thread.root}
        shown = self._shown(report.report, report.slot, facts, skipped)
        keeps = only_if(conversation, {"v": ""}, ("field", conversation, lives, "project", project))
        binds: Write = ("field if", conversation, lives, "v", str(VERSION), "")
        return (
            *shown,
            *(keeps if project else ()),
            *([binds] if report.binds else []),
            *only_if(conversation, {"session": ""}, ("set", self._keys.words(thread), lives, report.words)),
        )

    def posted_task(self, task: PostedTask, ts: str, skipped: datetime | None) -> tuple[Write, ...]:
        """Return the writes for a slot whose question, or the card of whose run, was posted as *ts*."""
        facts = {"numbers": task.numbers, "ts": ts, "thread_ts": task.thread_ts or ts, "ended": task.ended}
        return self._shown(task.task, task.slot, facts, skipped)

    def _shown(self, id_: str, slot: datetime, facts: Mapping[str, str], skipped: datetime | None) -> tuple[Write, ...]:
        key = self._keys.report(id_)
        skip: Write = ("field if", key, 0, "skipped", "", str(epoch_ms(skipped)) if skipped else "")
        is_reported = skipped is not None and skipped <= slot
        flat = tuple([part for fact in {"last": str(epoch_ms(slot)), **facts}.items() for part in fact])
        last: Max = ("field max", key, 0, *flat)
        return only_if(key, {"v": "1"}, last, *([skip] if is_reported else []))


def due_task(task: StoredTask, slot: datetime, *, asked_by: str = "", thread_ts: str = "") -> Report | ScheduledTask:
    """Return the input to queue for a *slot* of a task, or for a person's request, *asked_by* them.

    *thread_ts* is the thread it continues.
    """
    if isinstance(task.spec, ReportSpec):
        return Report.of(task.spec, slot, asked_by=asked_by, report=task.id)
    facts = {"task": task.id, "does": task.spec.does, "thread_ts": thread_ts}
    return ScheduledTask.of(task.spec, slot, asked_by=asked_by, **facts)
