"""Scheduled questions and inputs as people type them, their placeholders, and how they're stored."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bridge.errors import RecordNotUnderstood
from bridge.features.schedules import layout
from bridge.features.schedules.layout import ShownTask
from bridge.features.schedules.placeholders import filled, needs_statistics
from bridge.features.schedules.schedule import (
    QuestionSpec,
    ReportSpec,
    RunSpec,
    StoredTask,
    read_question,
    read_report,
    read_run,
)
from support.tables import each

BERLIN = "Europe/Berlin"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_placeholders_are_filled_in_wherever_texts_are() -> None:
    known = {"date": "2026-11-25", "stats.runs": "{{date}}"}
    value = {"{{date}}": ["{{ DATE }}", 1, None, {"runs": "{{stats.runs}} of {{stats.prompts}}, {not} {{2}}"}]}

    assert filled(value, known) == {"{{date}}": ["2026-11-25", 1, None, {"runs": "{{date}} of unknown, {not} {{2}}"}]}
    assert needs_statistics(value)
    assert not needs_statistics("{{date}} and {{")


@each("spec", [read_report("daily 9"), read_question(7, 'daily 9 "?"'), read_run(3, "daily 9 [1]")])
def test_each_kind_of_task_is_read_as_it_was_stored(spec: ReportSpec | QuestionSpec | RunSpec) -> None:
    name = "body" if isinstance(spec, ReportSpec) else "task"
    stored = StoredTask.from_redis("t1", {name: spec.model_dump_json(), "due": "1000"})

    assert stored.spec == spec


def test_a_task_of_a_later_release_is_not_understood() -> None:
    with pytest.raises(RecordNotUnderstood):
        StoredTask.from_redis("t1", {"task": '{"task": "alert"}', "due": "1000"})


LAST = StoredTask("t1", read_question(7, 'daily 9 "?"'), NOON, last=NOON, ts="1700000000.000100")
RAN = StoredTask("t1", read_run(3, "daily 9"), NOON, last=NOON, ended="failed")


@each(
    ("listed", "said"),
    [
        (ShownTask(record=StoredTask("t1", read_question(7, 'daily 9 "?"'), NOON)), ""),
        (ShownTask(record=StoredTask("t1", read_question(7, 'daily 9 "?"'), NOON, skipped=NOON)), "Last: skipped"),
        (ShownTask(record=LAST, step="done", what="answered"), "Last: ✅ answered"),
        (ShownTask(record=LAST, step="done", what="unknown"), "Last: ⚠️ outcome unknown"),
        (ShownTask(record=LAST, step="done", what="NotFound"), "Last: ❌ not answered"),
        (ShownTask(record=LAST, step="sent"), "Last: ⏳ waiting for the answer"),
        (ShownTask(record=LAST), "Last: asked"),
        (ShownTask(record=RAN, step="done", what="ran"), "Last: ❌ failed"),
        (ShownTask(record=RAN, step="queued"), "Last: ⏳ running"),
        (ShownTask(record=StoredTask("t1", read_report("daily 9"), NOON, last=NOON), step="done"), "Last: ✅ posted"),
    ],
)
def test_the_last_result_is_seen_before_it_is_read(listed: ShownTask, said: str) -> None:
    shown = str(layout.row(listed, "0:t1").lines)

    assert (said in shown) if said else ("Last:" not in shown)
