"""Scheduled questions and inputs as people type them, their placeholders, and how they're stored."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from bridge.errors import BadSchedule, RecordNotUnderstood
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
QUESTIONS = [
    # typed, question, schedule, time zone, channel
    ('weekdays 8:30 "What changed?"', "What changed?", "every weekday at 08:30", "", ""),
    ('"What changed?" weekdays 8:30', "What changed?", "every weekday at 08:30", "", ""),
    ("“What changed?” daily at 9 berlin #ops", "What changed?", "every day at 09:00", BERLIN, "#ops"),
    ("daily 9 'What changed?' #ops", "What changed?", "every day at 09:00", "", "#ops"),
    ('daily 9 "What\'s new?"', "What's new?", "every day at 09:00", "", ""),
    ('daily 9 "Is "billing" up?" #ops', 'Is "billing" up?', "every day at 09:00", "", "#ops"),
    ('daily 9 "Every monday at 10 #sales --loud?"', "Every monday at 10 #sales --loud?", "every day at 09:00", "", ""),
    ('cron "0 9 * * 1" "What changed?"', "What changed?", "every Monday at 09:00", "", ""),
    ('"What changed?" cron "0 9 * * 1"', "What changed?", "every Monday at 09:00", "", ""),
    ('cron 0 9 * * 1 "What changed?"', "What changed?", "every Monday at 09:00", "", ""),
    ('daily 9 "Two\nlines"', "Two\nlines", "every day at 09:00", "", ""),
    ('daily 9 "ＦＵＬＬ width"', "ＦＵＬＬ width", "every day at 09:00", "", ""),  # noqa: RUF001 - passed on as typed
    ('daily 9 {"json": "as a question"}', '{"json": "as a question"}', "every day at 09:00", "", ""),
]
INPUTS = [
    ("daily 9", ""),
    ('daily 9 {"day": "monday"}', {"day": "monday"}),
    ('{"day": "monday"} daily 9', {"day": "monday"}),
    ("daily 9 {“day”: “monday”}", {"day": "monday"}),
    ('daily 9 [1, {"a": []}] #ops', [1, {"a": []}]),
    ('daily 9 "monday"', "monday"),
    ("daily 9 'monday'", "monday"),
    ('daily 9 "It says "no""', 'It says "no"'),
    ("daily 9 {{date}}", "{{date}}"),
    ('daily 9 `{"day": "monday"}`', {"day": "monday"}),
    ('daily 9\u00a0```\n{\n  "day": "monday"\n}\n``` in #ops.', {"day": "monday"}),
    ('daily 9 with input {"day": "monday"}', {"day": "monday"}),
]


@each(("typed", "text", "when", "zone", "channel"), QUESTIONS)
def test_a_question_is_read_as_people_type_it(typed: str, text: str, when: str, zone: str, channel: str) -> None:
    spec = read_question(7, typed)

    assert (spec.text, spec.schedule.words, spec.zone, spec.channel) == (text, when, zone, channel)


@each(("typed", "value"), INPUTS)
def test_an_input_is_read_as_people_type_it(typed: str, value: Any) -> None:
    spec = read_run(3, typed)

    assert (spec.input, spec.schedule.words) == (value, "every day at 09:00")


@each(
    ("typed", "part"),
    [
        ("daily 9", "question"), ('daily 9 ""', "question"), ('daily 9 "What?', "unclosed"),
        ('daily "What?"', "no_time"), ('"What?"', "often"), ('daily 9 "What?" --continue yes', "strange"),
        ('daily 9 "What?" --overlap', "overlap"), ('daily 9 "What?" --overlap run', "overlap"),
        ('daily 9 "What?" --compare 7d', "options"), ('daily 9 "{{moon}}"', "placeholder"),
        ('daily 9 "{{stats.tags}}"', "placeholder"), ('every 2 weeks 9 "What?"', "often"),
    ],
)  # fmt: skip
def test_an_unreadable_part_of_a_question_is_named(typed: str, part: str) -> None:
    with pytest.raises(BadSchedule) as refused:
        read_question(7, typed)

    assert (refused.value.part, refused.value.of) == (part, "question")


@each(
    ("typed", "continues", "overlap"),
    [
        ('daily 9 "?"', False, "skip"),
        ('daily 9 --continue "?"', True, "skip"),
        ('daily 9 "?" —continue #ops', True, "skip"),
        ('--overlap=wait daily 9 "?" --continue', True, "wait"),
        ('daily 9 "?" --overlap Skip', False, "skip"),
    ],
)
def test_options_of_a_question_come_in_any_order(typed: str, continues: bool, overlap: str) -> None:  # noqa: FBT001
    spec = read_question(7, typed)

    assert (spec.continues, spec.overlap) == (continues, overlap)


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
        (ShownTask(StoredTask("t1", read_question(7, 'daily 9 "?"'), NOON)), ""),
        (ShownTask(StoredTask("t1", read_question(7, 'daily 9 "?"'), NOON, skipped=NOON)), "Last: skipped"),
        (ShownTask(LAST, step="done", what="answered"), "Last: ✅ answered"),
        (ShownTask(LAST, step="done", what="unknown"), "Last: ⚠️ outcome unknown"),
        (ShownTask(LAST, step="done", what="NotFound"), "Last: ❌ not answered"),
        (ShownTask(LAST, step="sent"), "Last: ⏳ waiting for the answer"),
        (ShownTask(LAST), "Last: asked"),
        (ShownTask(RAN, step="done", what="ran"), "Last: ❌ failed"),
        (ShownTask(RAN, step="queued"), "Last: ⏳ running"),
        (ShownTask(StoredTask("t1", read_report("daily 9"), NOON, last=NOON), step="done"), "Last: ✅ posted"),
    ],
)
def test_the_last_result_is_seen_before_it_is_read(listed: ShownTask, said: str) -> None:
    shown = str(layout.task_list([listed], is_all=True).blocks)

    assert (said in shown) if said else ("Last:" not in shown)
