"""The forms that schedule a report, a question or runs, and change them.

`when_words` turns the fields that they share into the text of a command, so that both are parsed by
`bridge.features.schedules.schedule`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar, Final, Literal

from bridge.ends.failures import sentence
from bridge.engine.forms import ChannelMenu, Field, Form, Select, Text, Ticks, Time, Values
from bridge.engine.results import Modal
from bridge.errors import BadSchedule
from bridge.features.buttons import (
    QUESTION_FORM,
    REPORT_FORM,
    RUN_SCHEDULE_FORM,
    agent_menu,
    workflow_menu,
)
from bridge.features.schedules.placeholders import HINT, check_placeholders
from bridge.features.schedules.schedule import (
    OPTIONS,
    QuestionSpec,
    ReportSpec,
    RunSpec,
    ScheduleSpec,
    TaskSpec,
    read_input,
    read_report,
)
from bridge.features.standing.phrases import describe
from bridge.features.standing.when import errors_of, read_when
from bridge.features.standing.zones import find_zone
from bridge.features.statistics.numbers import PARTS
from bridge.project.models import Agent, Workflow
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.json_text import compact
from bridge.slack.blockkit.modals import FormErrors, Origin

CRON: Final = "cron"

HOW_OFTEN: Final = {
    "every day": "Every day",
    "every weekday": "Every weekday",
    "every Monday": "Every Monday",
    "every Tuesday": "Every Tuesday",
    "every Wednesday": "Every Wednesday",
    "every Thursday": "Every Thursday",
    "every Friday": "Every Friday",
    "every Saturday": "Every Saturday",
    "every Sunday": "Every Sunday",
    "every month on the 1st": "Every month on the 1st",
    "every month on the 15th": "Every month on the 15th",
    "every month on the last day": "Every month on the last day",
    CRON: "Custom (cron expression)",
}
"""The form's choices: the words of the command, and their labels; likewise `COMPARED`."""

COMPARED: Final = {
    "-": "The previous report",
    "1d": "A day earlier",
    "7d": "A week earlier",
    "28d": "Four weeks earlier",
    "365d": "A year earlier",
}

_ALSO: Final = {"agents": "How agents and workflows are doing", "only-if-changed": "Post only if something changed"}
_CRON_HINT: Final = (
    "Minute, hour, day of the month, month, day of the week, such as 0 9 * * 1-5. Overrides the choices above."
)
_THREADS: Final = {"new": "In a new thread each time", "same": "In the same thread, with the same session"}
_OVERLAP: Final = "If the one before is still running"
_OVERLAPS: Final = {"skip": "Skip the new one", "wait": "Start the new one afterwards"}
_FIELDS: Final = {"often", "time", "cron", "zone", "channel", "compare", "only"}
_LONG: Final = "The text is too long for this form. It stays as it is."
_OF_TEXT: Final = {"question", "input", "placeholder", "unclosed"}
_DAILY: Final = re.compile(r"(?P<often>every .*) at (?P<time>\d\d:\d\d)")


def _when_fields() -> tuple[Field, ...]:
    """Return the fields that all tasks share."""
    return (
        Select("How often", HOW_OFTEN, initial="every day", takes_others=True),
        Time("Time of day", initial="09:00"),
        Text("Cron expression", hint=_CRON_HINT, is_optional=True, longest=100),
        Text("Time zone", hint="Such as Berlin or Europe/Berlin.", longest=60),
        ChannelMenu(with_direct=False),
    )


class _TaskForm(Form):
    """What the forms of all tasks share. Their errors are shown below the fields that they're about."""

    does: ClassVar[str]
    submit = "Schedule"

    @classmethod
    def task(
        cls, origin: Origin, zone: str, target: Agent | Workflow | None, spec: TaskSpec | None = None, text: str = ""
    ) -> Modal:
        """Open the form for a *target*, filled in with *text* or all of *spec*, or to change what *origin* names.

        Changing leaves out a text that doesn't fit into its field: it stays as it is (`with_rest`).
        """
        here = origin.channel if kit.is_channel(origin.channel) else ""
        filled_in: dict[str, Any] = {"zone": zone, "channel": here, "text": text}
        if spec:
            simple = _DAILY.fullmatch(describe(spec.schedule.crons))
            is_option = simple is not None and len(simple["often"]) <= kit.OPTION_VALUE
            when = simple.groupdict() if simple and is_option else {"often": CRON, "cron": spec.schedule.crons[0]}
            channel = ChannelMenu(initial=spec.channel, with_direct=not kit.is_channel(spec.channel), name="channel")
            filled_in = {"zone": spec.zone, "channel": channel, **when, **cls._filled_in(spec)}
        is_long = bool(origin.editing) and len(filled_in.get("text", "")) > kit.PLAIN_TEXT_INPUT
        without, notes = ({"text"}, [kit.context(_LONG)]) if is_long else ((), [])
        blocks = [*notes, *cls.blocks(without=without, agent=target, workflow=target, **filled_in)]
        return cls.opened(origin, blocks, **({"title": "Edit schedule", "submit": "Save"} if origin.editing else {}))

    @classmethod
    def _filled_in(cls, spec: Any) -> dict[str, Any]:
        """Return the fields of *spec* that only this form has."""
        raise NotImplementedError

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> object:
        """Return the task, or what's wrong with it."""
        try:
            with errors_of(cls.does):
                return super().read(values)
        except BadSchedule as exc:
            return FormErrors({field_of(exc.part): sentence(exc)})


class ReportForm(_TaskForm):
    """The form that schedules a report."""

    id, does, title, opener, label = "report", "report", "Schedule a report", REPORT_FORM, "form: Schedule report"

    often, time, cron, zone, channel = _when_fields()
    compare = Select("Compare with", COMPARED, initial="-", takes_others=True)
    only = Ticks("Include", {part: part.capitalize() for part in PARTS}, initial=PARTS)
    also = Ticks("Options", _ALSO, is_optional=True)

    @classmethod
    def _filled_in(cls, spec: ReportSpec) -> dict[str, Any]:
        also = {"agents": spec.agents, "only-if-changed": spec.only_if_changed}
        return {"compare": spec.compare, "only": spec.only, "also": [name for name, is_set in also.items() if is_set]}

    @classmethod
    def _read(cls, values: Values) -> ReportSpec:
        return read_report(report_words(values))


class QuestionForm(_TaskForm):
    """The form that schedules a question."""

    id, does, title, opener = "scheduled_question", "question", "Schedule a question", QUESTION_FORM
    label = "form: Schedule question"

    agent = agent_menu(act="ask")
    text = Text("Question", hint=HINT)
    often, time, cron, zone, channel = _when_fields()
    thread = Select("Ask", _THREADS, initial="new")
    overlap = Select(_OVERLAP, _OVERLAPS, initial="skip")

    @classmethod
    def _filled_in(cls, spec: QuestionSpec) -> dict[str, Any]:
        return {"text": spec.text, "thread": "same" if spec.continues else "new", "overlap": spec.overlap}

    @classmethod
    def _read(cls, values: Values) -> QuestionSpec | FormErrors:
        text = values["text"].strip()
        when = read_when(when_words(values), cls.does, OPTIONS[cls.does])
        check_placeholders(text)
        if not text and "text" in values:
            return FormErrors({"text": "Enter a question."})
        return QuestionSpec(
            schedule=when.schedule, zone=when.zone, agent=int(values["agent"]), text=text,
            continues=values["thread"] == "same", overlap=_overlap(values),
        )  # fmt: skip


class ScheduledRunForm(_TaskForm):
    """The form that schedules runs."""

    id, does, title, opener = "scheduled_run", "run", "Schedule a run", RUN_SCHEDULE_FORM
    label = "form: Schedule run"

    workflow = workflow_menu()
    text = Text("Input", is_optional=True, hint=f'Text, or JSON such as {{"day": "monday"}}. {HINT}')
    often, time, cron, zone, channel = _when_fields()
    overlap = Select(_OVERLAP, _OVERLAPS, initial="skip")

    @classmethod
    def _filled_in(cls, spec: RunSpec) -> dict[str, Any]:
        value = spec.input
        typed = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else compact(value)
        with suppress(BadSchedule):
            if isinstance(value, str) and read_input(value) == value:  # else a text would be read as something else
                typed = value
        return {"text": typed, "overlap": spec.overlap}

    @classmethod
    def _read(cls, values: Values) -> RunSpec:
        when = read_when(when_words(values), cls.does, OPTIONS[cls.does])
        return RunSpec(
            schedule=when.schedule, zone=when.zone, workflow=int(values["workflow"]),
            input=read_input(values["text"]), overlap=_overlap(values),
        )  # fmt: skip


FORMS: Final = {form.does: form for form in (ReportForm, QuestionForm, ScheduledRunForm)}


def with_rest(before: ScheduleSpec, wanted: ScheduleSpec) -> ScheduleSpec:
    """Return what a form without its text *wanted*, with the text as it was."""
    match before, wanted:
        case QuestionSpec(text=text), QuestionSpec():
            return wanted.model_copy(update={"text": text})
        case RunSpec(input=input_), RunSpec():
            return wanted.model_copy(update={"input": input_})
        case _:
            return wanted


def when_words(values: Values) -> str:
    """Return the shared fields as the text of a command. Raises `BadSchedule` for an unknown time zone."""
    cron = values["cron"].replace('"', " ")
    is_cron = values["often"] == CRON or bool(cron.strip())
    when = f'cron "{cron}"' if is_cron else f"{values['often']} {values['time'] or '-'}"
    return f"{when} {find_zone(values['zone'])}" if values["zone"].strip() else when


def report_words(values: Values) -> str:
    """Return a report form's values as the text of the command. Raises `BadSchedule` for an unknown time zone."""
    words, compare, only = [when_words(values)], values["compare"] or "-", values["only"]
    words += [f"--compare {compare}"] if compare != "-" else []
    words += [f"--only {only}"] if only and set(only.split(",")) != set(PARTS) else []
    words += [f"--{option}" for option in values["also"].split(",") if option in _ALSO]
    return " ".join(words)


def _overlap(values: Values) -> Literal["skip", "wait"]:
    return "wait" if values["overlap"] == "wait" else "skip"


def field_of(part: str) -> str:
    """Return the field that shows an error in *part* (`bridge.errors.BadSchedule`)."""
    return "text" if part in _OF_TEXT else "time" if part == "no_time" else part if part in _FIELDS else "often"
