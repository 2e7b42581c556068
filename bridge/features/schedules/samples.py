"""Samples of schedules: their confirmations, list, posts and forms (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bridge.features.schedules import layout
from bridge.features.schedules.forms import QuestionForm, ReportForm, ScheduledRunForm
from bridge.features.schedules.kind import SCHEDULES
from bridge.features.schedules.layout import ShownTask
from bridge.features.schedules.schedule import StoredTask, read_question, read_report, read_run
from bridge.features.standing import kind as kinds, layout as standing, pauses, timed
from bridge.features.standing.kind import Heading
from bridge.slack.blockkit.samples import (
    CHANNEL,
    DAY,
    DIRECT,
    LINK,
    NOON,
    ORIGIN,
    USER,
    ZONE,
    Sample,
    agent,
    sample,
    workflow,
)

_OFFERS = {kinds.PAUSE, kinds.RESUME, kinds.EDIT, kinds.DELETE, kinds.NOW}
_REPORT = read_report(f'cron "*/5 8-18 1-31 * mon-fri" {ZONE} --compare 7d --only runs,tags')
_QUESTION = read_question(7, 'monthly 30 9 --continue "What about {{stats}}?"')
_RUN = read_run(3, 'weekdays 8:30 --overlap wait {"day": "{{date}}"}')


def samples(text: str, many: int) -> Iterator[Sample]:
    """Yield samples of schedules."""
    words = text[:200]  # of our own, with names in them
    own = {"channel": CHANNEL, "owner": USER, "zone": ZONE}
    report, plain, question, run = (
        StoredTask("0123456789abcdef", spec.model_copy(update=own), NOON)
        for spec in (
            _REPORT, read_report("daily 9 --agents --only-if-changed"),
            _QUESTION.model_copy(update={"text": text}), _RUN.model_copy(update={"input": text}),
        )
    )  # fmt: skip
    asked_once = replace(question, spec=question.spec.model_copy(update={"continues": False}))
    posted = replace(report, last=NOON - DAY, skipped=NOON)
    tasks = [
        report, posted, replace(plain, paused=text), replace(plain, last=NOON), question,
        replace(question, skipped=NOON), replace(asked_once, last=NOON), run,
        replace(run, spec=run.spec.model_copy(update={"channel": DIRECT})),
        replace(run, paused="asked", last=NOON, ended=text),
    ]  # fmt: skip
    for task in tasks:
        yield sample(layout.already_scheduled, task, text, text, offers=_OFFERS)
        yield sample(layout.deleted, task, text, words)
        for is_changed in (True, False):
            yield sample(
                layout.scheduled, task, text, knows_zone=not is_changed, is_changed=is_changed, warning=text,
                offers=_OFFERS if is_changed else (),
            )  # fmt: skip
    yield sample(layout.small_print, report, text)
    yield sample(layout.small_print, posted)
    yield sample(layout.question_root, question, text, text, text, text)
    yield sample(layout.question_root, replace(asked_once, skipped=NOON), text, text, text)
    for task in (question, run):
        yield sample(layout.overlapped, task, text)
    for does in ("report", "question", "run"):
        yield sample(layout.starting_now, does)
        yield sample(layout.form_button, does)
    yield sample(timed.next_time, NOON)
    shown_tasks = [
        ShownTask(
            record=replace(tasks[number], id=f"{number:x}"), called=words, owner=text, project=text, offers=_OFFERS,
            target=text, step=("", "sent")[number % 2], what=(text, "answered")[number % 2], link=LINK, words=words,
            thread_link=LINK,
        )
        for number in range(min(many * 5, standing.A_PAGE))
    ]  # fmt: skip
    rows = [(shown, layout.row(shown, f"0:{shown.record.id}")) for shown in shown_tasks]
    heading = Heading("Schedules", "Nothing is scheduled yet.", [layout.form_button("report")])
    yield sample(standing.listed, SCHEDULES, heading, rows, 0, many, of="s", replaces_original=True)
    yield sample(standing.home_section, SCHEDULES, rows[: standing.MOST_IN_HOME], many)
    yield sample(standing.gone, SCHEDULES)
    for noun in (layout.REPORT, layout.SCHEDULE):
        yield sample(standing.delete_button, noun, text, "report:delete", "0:1")
        yield sample(pauses.paused_notice, noun, text, CHANNEL, "user")
    for form, target, task in (
        (ReportForm, None, report), (QuestionForm, agent(text), question), (ScheduledRunForm, workflow(text), run)
    ):  # fmt: skip
        yield sample(form.task, ORIGIN.model_copy(update={"editing": task.id}), ZONE, target, task.spec)
        yield sample(form.task, ORIGIN, ZONE, target, text=text)
        yield sample(form.task, ORIGIN, ZONE, None)
