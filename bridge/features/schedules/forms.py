"""The forms that schedule a report, a question or runs, and change them.

`when_words` turns the fields that they share into the text of a command, so that both are parsed by
`bridge.features.schedules.schedule`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from bridge.ends.failures import sentence
from bridge.errors import BadSchedule
from bridge.features.buttons import ID, agent_field, workflow_field
from bridge.features.schedules.placeholders import HINT, check_placeholders
from bridge.features.schedules.schedule import (
    QuestionSpec,
    ReportSpec,
    RunSpec,
    TaskSpec,
    errors_of,
    read_input,
    read_report,
    read_when,
)
from bridge.features.standing.phrases import describe, find_zone
from bridge.features.statistics.numbers import PARTS
from bridge.project.models import Agent, Workflow
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.json_text import compact
from bridge.slack.blockkit.modals import FormErrors, Origin, channel_menu, modal, text_input
from bridge.slack.blockkit.reply import Block, View

FORM: Final = "report"
QUESTION: Final = "scheduled_question"
RUN: Final = "scheduled_run"
"""The forms' callback_ids."""

OFTEN: Final = "often"
CLOCK: Final = "time"
CRON: Final = "cron"
ZONE: Final = "zone"
CHANNEL: Final = "channel"
COMPARE: Final = "compare"
ONLY: Final = "only"
ALSO: Final = "also"
AGENT: Final = "agent"
WORKFLOW: Final = "workflow"
TEXT: Final = "text"
THREAD: Final = "thread"
OVERLAP: Final = "overlap"

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
_OVERLAPS: Final = {"skip": "Skip the new one", "wait": "Start the new one afterwards"}
_FIELDS: Final = {OFTEN, CLOCK, CRON, ZONE, CHANNEL, COMPARE, ONLY}
_OF_TEXT: Final = {"question", "input", "placeholder", "unclosed"}
_DAILY: Final = re.compile(r"(?P<days>every .*) at (?P<time>\d\d:\d\d)")
_TITLES: Final = {"report": "Schedule a report", "question": "Schedule a question", "run": "Schedule a run"}


def report_form(origin: Origin, zone: str, spec: ReportSpec | None = None) -> View:
    """Return the form for a report, with common values filled in, or with those of *spec*."""
    compare, only = (spec.compare or "-", spec.only or PARTS) if spec else ("-", PARTS)
    parts = [kit.option(part.capitalize(), part) for part in PARTS]
    chosen = [one for one in parts if one["value"] in only]
    ticks = {"type": "checkboxes", "action_id": ONLY, "options": parts, "initial_options": chosen}
    options = [kit.option(text, value) for value, text in _ALSO.items()]
    set_ = {"agents": spec.agents, "only-if-changed": spec.only_if_changed} if spec else {}
    also: Block = {"type": "checkboxes", "action_id": ALSO, "options": options}
    if ticked := [one for one in options if set_.get(one["value"])]:
        also["initial_options"] = ticked
    blocks = [
        *_when_fields(origin, zone, spec),
        kit.input_block(COMPARE, "Compare with", _choice(COMPARE, COMPARED, compare)),
        kit.input_block(ONLY, "Include", ticks),
        kit.input_block(ALSO, "Options", also, optional=True),
    ]
    return _modal(FORM, "report", blocks, origin)


def question_form(
    origin: Origin, zone: str, agent: Agent | None = None, spec: QuestionSpec | None = None, *, text: str = ""
) -> View:
    """Return the form for a question to an *agent*, with *text* or all of *spec* filled in."""
    thread, overlap = ("same" if spec.continues else "new", spec.overlap) if spec else ("new", "skip")
    blocks = [
        agent_field(agent),
        kit.input_block(TEXT, "Question", text_input(TEXT, spec.text if spec else text), hint=HINT),
        *_when_fields(origin, zone, spec),
        kit.input_block(THREAD, "Ask", _choice(THREAD, _THREADS, thread)),
        _overlap_field(overlap),
    ]
    return _modal(QUESTION, "question", blocks, origin)


def run_form(
    origin: Origin, zone: str, workflow: Workflow | None = None, spec: RunSpec | None = None, *, text: str = ""
) -> View:
    """Return the form for runs of a *workflow*, with *text* or all of *spec* filled in."""
    if spec:
        text = spec.input if isinstance(spec.input, str) else compact(spec.input)
    hint = f'Text, or JSON such as {{"day": "monday"}}. {HINT}'
    blocks = [
        workflow_field(workflow),
        kit.input_block(TEXT, "Input", text_input(TEXT, text), hint=hint, optional=True),
        *_when_fields(origin, zone, spec),
        _overlap_field(spec.overlap if spec else "skip"),
    ]
    return _modal(RUN, "run", blocks, origin)


def _modal(form: str, does: str, blocks: list[Block], origin: Origin) -> View:
    is_new = not origin.editing
    return modal(form, _TITLES[does] if is_new else "Edit schedule", "Schedule" if is_new else "Save", blocks, origin)


def _when_fields(origin: Origin, zone: str, spec: TaskSpec | None) -> list[Block]:
    """Return the fields that all tasks share."""
    often, time, cron = "every day", "09:00", ""
    if spec:
        simple = _DAILY.fullmatch(describe(spec.schedule.crons))
        often, time = (simple["days"], simple["time"]) if simple else (CRON, time)
        cron = "" if simple else spec.schedule.crons[0]
        zone = spec.zone
    clock = {"type": "timepicker", "action_id": CLOCK, "initial_time": time}
    expression = {"type": "plain_text_input", "action_id": CRON, "max_length": 100}
    place = {"type": "plain_text_input", "action_id": ZONE, "max_length": 60, "initial_value": zone}
    here = spec.channel if spec else origin.channel
    is_direct = spec is not None and not kit.is_channel(here)
    channel = channel_menu(CHANNEL, here if kit.is_channel(here) or is_direct else "", with_direct=is_direct)
    return [
        kit.input_block(OFTEN, "How often", _choice(OFTEN, HOW_OFTEN, often)),
        kit.input_block(CLOCK, "Time of day", clock),
        kit.input_block(
            CRON, "Cron expression", expression | ({"initial_value": cron} if cron else {}), hint=_CRON_HINT,
            optional=True,
        ),
        kit.input_block(ZONE, "Time zone", place, hint="Such as Berlin or Europe/Berlin."),
        kit.input_block(CHANNEL, "Channel", channel, hint="I need to be a member of that channel."),
    ]  # fmt: skip


def _overlap_field(overlap: str) -> Block:
    return kit.input_block(OVERLAP, "If the one before is still running", _choice(OVERLAP, _OVERLAPS, overlap))


def _choice(name: str, choices: Mapping[str, str], first: str) -> Block:
    """Make a menu of *choices*, with *first* chosen, which is added if it isn't one of them."""
    known = choices if first in choices else {**choices, first: kit.capitalized(first)}
    options = {value: kit.option(text, value) for value, text in known.items()}
    return kit.select(name, "Choose", list(options.values()), options[first])


def when_words(values: Mapping[str, Any]) -> str:
    """Return the shared fields as the text of a command. Raises `BadSchedule` for an unknown time zone."""
    often, cron = str(values.get(OFTEN) or ""), str(values.get(CRON) or "").replace('"', " ")
    is_cron = often == CRON or bool(cron.strip())
    when = f'cron "{cron}"' if is_cron else f"{often} {values.get(CLOCK) or '-'}"
    zone = str(values.get(ZONE) or "")
    return f"{when} {find_zone(zone)}" if zone.strip() else when


def form_words(values: Mapping[str, Any]) -> str:
    """Return a report form's values as the text of the command. Raises `BadSchedule` for an unknown time zone."""
    words = [when_words(values)]
    compare, only = str(values.get(COMPARE) or "-"), str(values.get(ONLY) or "")
    words += [f"--compare {compare}"] if compare != "-" else []
    words += [f"--only {only}"] if only and set(only.split(",")) != set(PARTS) else []
    words += [f"--{one}" for one in str(values.get(ALSO) or "").split(",") if one in _ALSO]
    return " ".join(words)


def read_report_form(values: Mapping[str, Any]) -> ReportSpec | FormErrors:
    """Parse the form; errors are shown under their fields."""
    try:
        return read_report(form_words(values))
    except BadSchedule as exc:
        return FormErrors({field_of(exc.part): sentence(exc)})


def read_question_form(values: Mapping[str, Any]) -> QuestionSpec | FormErrors:
    """Parse the form; errors are shown under their fields."""
    agent, text = str(values.get(AGENT) or ""), str(values.get(TEXT) or "").strip()
    if not ID.fullmatch(agent):
        return FormErrors({AGENT: "Choose an agent from the list."})
    try:
        with errors_of("question"):
            when = read_when(when_words(values), "question")
            check_placeholders(text)
    except BadSchedule as exc:
        return FormErrors({field_of(exc.part): sentence(exc)})
    if not text:
        return FormErrors({TEXT: "Enter a question."})
    return QuestionSpec(
        schedule=when.schedule, zone=when.zone, agent=int(agent), text=text, continues=values.get(THREAD) == "same",
        overlap=_overlap(values),
    )  # fmt: skip


def read_run_form(values: Mapping[str, Any]) -> RunSpec | FormErrors:
    """Parse the form; errors are shown under their fields."""
    workflow = str(values.get(WORKFLOW) or "")
    if not ID.fullmatch(workflow):
        return FormErrors({WORKFLOW: "Choose a workflow from the list."})
    try:
        with errors_of("run"):
            when = read_when(when_words(values), "run")
            given = read_input(str(values.get(TEXT) or ""))
    except BadSchedule as exc:
        return FormErrors({field_of(exc.part): sentence(exc)})
    return RunSpec(
        schedule=when.schedule, zone=when.zone, workflow=int(workflow), input=given, overlap=_overlap(values)
    )  # fmt: skip


def _overlap(values: Mapping[str, Any]) -> Literal["skip", "wait"]:
    return "wait" if values.get(OVERLAP) == "wait" else "skip"


def field_of(part: str) -> str:
    """Return the field that shows an error in *part* (`bridge.errors.BadSchedule`)."""
    return TEXT if part in _OF_TEXT else CLOCK if part == "no_time" else part if part in _FIELDS else OFTEN
