"""Parse what people schedule as they type it. Pure functions.

A person types ``every monday at 9 berlin #sales --compare 7d --only runs,tags``, in any order; a question or an
input is added in quotation marks, or as JSON. `bridge.errors.BadSchedule` names the part that can't be understood, so
that a form can show it at the right field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Final, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, TypeAdapter, ValidationError

from bridge.ends.typed import where_json_breaks
from bridge.errors import BadInput, BadSchedule, RecordNotUnderstood
from bridge.features.schedules.placeholders import check_placeholders
from bridge.features.standing.due import TimedSpec
from bridge.features.standing.phrases import describe
from bridge.features.standing.when import When, errors_of, read_when
from bridge.features.standing.zones import clock_called
from bridge.features.statistics.numbers import PARTS
from bridge.names.amounts import read_duration
from bridge.names.folding import fold
from bridge.queue.scripting import from_epoch_ms
from bridge.slack.blockkit.json_text import typed_input

_LONGEST_SPAN: Final = timedelta(days=400)  # as far back as snapshots go

OPTIONS: Final = {
    "report": {"compare": True, "only": True, "agents": False, "only-if-changed": False},
    "question": {"continue": False, "overlap": True},
    "run": {"overlap": True},
}
"""The options of each kind of task, and whether they take a value."""

OVERLAPS: Final = ("skip", "wait")
"""What becomes of a slot whose predecessor is still running; the first is the default."""

_PAYLOAD: Final = re.compile(  # of folded text: where a question or an input begins
    r"""(?: (?<=[\s(`]) | ^ ) (?: (?P<json> [{\[] ) | (?<! cron[ ] ) (?P<quote> ["'] ) )""", re.VERBOSE
)


class TaskSpec(TimedSpec, frozen=True):
    """What a person scheduled: a `ReportSpec`, a `QuestionSpec` or a `RunSpec`.

    As typed, *zone* may be ``""``, too.
    """

    does: ClassVar[str]

    @property
    def about(self) -> tuple[object, ...]:
        """What is done, for comparing two tasks."""
        raise NotImplementedError

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two tasks the same for people: they do the same, at the same times and in the same channel."""
        return self.does, self.about, *super().identity


class ReportSpec(TaskSpec, frozen=True):
    """A report of the statistics.

    *compare* is an age (``7d``) to compare with, or ``""`` for the last report; *only* names the parts of the
    statistics to show, all if it's empty. With *agents*, it also shows how agents and workflows are doing; one that's
    *only_if_changed* isn't posted if nothing has.
    """

    does = "report"
    compare: str = ""
    only: tuple[str, ...] = ()
    agents: bool = False
    only_if_changed: bool = False

    @property
    def about(self) -> tuple[object, ...]:
        """The parts shown, what they're compared with, and when it's posted."""
        return frozenset(self.only or PARTS), self.compare, self.agents, self.only_if_changed


class QuestionSpec(TaskSpec, frozen=True):
    """A question for an *agent*; *continues*: all are asked in one thread, in the same session."""

    does = "question"
    task: Literal["question"] = "question"
    agent: int
    text: str
    continues: bool = False
    overlap: Literal["skip", "wait"] = "skip"

    @property
    def about(self) -> tuple[object, ...]:
        """The agent and the question."""
        return self.agent, self.text


class RunSpec(TaskSpec, frozen=True):
    """A run of a *workflow* with an *input*, any JSON value."""

    does = "run"
    task: Literal["run"] = "run"
    workflow: int
    input: Any = ""
    overlap: Literal["skip", "wait"] = "skip"

    @property
    def about(self) -> tuple[object, ...]:
        """The workflow and its input."""
        return self.workflow, json.dumps(self.input, sort_keys=True)


ScheduleSpec = ReportSpec | QuestionSpec | RunSpec
_task: TypeAdapter[QuestionSpec | RunSpec] = TypeAdapter(Annotated[QuestionSpec | RunSpec, Field(discriminator="task")])


def spec_of(given: Mapping[str, Any]) -> ScheduleSpec:
    """Return a report's spec, or that of what its ``task`` names. Raises ValueError."""
    return _task.validate_python(given) if "task" in given else ReportSpec.model_validate(given)


@dataclass(frozen=True, slots=True)
class StoredTask:
    """A report, a scheduled question or a scheduled run, and its state.

    *due* is its next slot. *paused* is the reason why it's paused (``asked``, ``no clock``, or Slack's error), or
    ``""``. *skipped* is the first slot that wasn't posted, *last* the last one that was, and *numbers* the snapshot of
    the statistics at that time (`bridge.features.statistics.snapshots`). *ts* is that post's, *thread_ts* its thread's,
    and *ended* the outcome of its run. *turn* is what the latest slot started; *told* is the one because of which a
    slot was skipped and people were told. Its project was removed if it's *paused* for the
    reason ``project``, which isn't stored.
    """

    id: str
    spec: ScheduleSpec
    due: datetime
    paused: str = ""
    skipped: datetime | None = None
    last: datetime | None = None
    numbers: str = ""
    ts: str = ""
    thread_ts: str = ""
    ended: str = ""
    turn: str = ""
    told: str = ""

    @classmethod
    def from_redis(cls, id_: str, fields: Mapping[str, str]) -> StoredTask:
        """Parse the ``report:`` hash. Raises `RecordNotUnderstood`."""
        try:
            report = fields.get("body")
            return cls(
                id=id_,
                spec=ReportSpec.model_validate_json(report) if report else _task.validate_json(fields["task"]),
                due=from_epoch_ms(float(fields["due"])),
                paused=fields.get("paused", ""),
                skipped=from_epoch_ms(float(fields["skipped"])) if fields.get("skipped") else None,
                last=from_epoch_ms(float(fields["last"])) if "last" in fields else None,
                **{name: fields.get(name, "") for name in ("numbers", "ts", "thread_ts", "ended", "turn", "told")},
            )
        except (KeyError, ValueError, ValidationError) as exc:
            raise RecordNotUnderstood("report") from exc

    @property
    def called(self) -> str:
        """The schedule in words: ``every Monday at 09:00 (Europe/Berlin)``."""
        return f"{self.when} ({self.spec.zone})"

    @property
    def when(self) -> str:
        """The schedule without its time zone. Earlier versions stored other words for the same expressions."""
        return describe(self.spec.schedule.crons)

    @property
    def clock(self) -> ZoneInfo:
        """Its time zone. Raises `RecordNotUnderstood` if this machine doesn't know it."""
        return clock_called(self.spec.zone)


def read_report(typed: str) -> ReportSpec:
    """Parse a report as typed. Raises `BadSchedule`."""
    when = read_when(typed, "report", OPTIONS["report"])
    compare, only = when.options.get("compare", ""), when.options.get("only")
    if "compare" in when.options:
        span_of(compare)
    return ReportSpec(
        **when.facts, compare=fold(compare).text,
        only=() if only is None else only_of(only), agents="agents" in when.options,
        only_if_changed="only-if-changed" in when.options,
    )  # fmt: skip


def read_question(agent: int, typed: str) -> QuestionSpec:
    """Parse a question for an *agent*, in quotation marks, and its schedule, as typed. Raises `BadSchedule`."""
    with errors_of("question"):
        payload, rest = _split_payload(typed)
        text = (payload if payload[:1] in {"{", "["} else payload[1:-1]).strip()
        if not text:
            raise BadSchedule("question", "")
        when = read_when(rest, "question", OPTIONS["question"])
        check_placeholders(text)
        return QuestionSpec(
            **when.facts, agent=agent, text=text,
            continues="continue" in when.options, overlap=_overlap_of(when),
        )  # fmt: skip


def read_run(workflow: int, typed: str) -> RunSpec:
    """Parse the input for a *workflow*, as JSON or in quotation marks, and its schedule. Raises `BadSchedule`."""
    with errors_of("run"):
        payload, rest = _split_payload(typed)
        when = read_when(rest, "run", OPTIONS["run"])
        if payload[:1] not in {"", "{", "["} and fold(payload).text[:1] != '"':
            payload = payload[1:-1]  # in single quotation marks, which JSON doesn't have
        value = read_input(payload)
        return RunSpec(
            **when.facts, workflow=workflow, input=value,
            overlap=_overlap_of(when),
        )  # fmt: skip


def read_input(typed: str) -> Any:
    """Parse a workflow's input, as typed. Raises `BadSchedule`."""
    try:
        value = typed if typed.startswith("{{") else typed_input(typed)
    except BadInput as exc:
        raise BadSchedule("input", where_json_breaks(exc)) from exc
    if value == typed and len(typed) > 1 and fold(typed[0] + typed[-1]).text == '""':
        value = typed[1:-1]  # not JSON, because it contains other quotation marks
    check_placeholders(value)
    return value


def _split_payload(typed: str) -> tuple[str, str]:
    """Split off a question or an input, with its quotation marks or brackets; ``""`` if there's none.

    It ends with the last such mark, so that it may contain others; a quoted cron expression may follow.
    """
    folded = fold(typed)
    begin = _PAYLOAD.search(folded.text)
    if begin is None:
        return "", typed
    at = begin.start("json") if begin["json"] else begin.start("quote")
    closing = {"{": "}", "[": "]"}.get(begin["json"] or "", begin["quote"] or "")
    cron = re.compile(r"(?<=\s)cron\s*[\"']").search(folded.text, at)
    before = folded.text.rfind(closing, at + 1, cron.start() if cron else len(folded.text))
    end = before if before > at else folded.text.rfind(closing, at + 1)
    if end <= at:
        raise BadSchedule("unclosed", folded.between(at, len(folded.text)))
    return folded.between(at, end + 1), f"{folded.until(at)} {folded.after(end + 1)}"


def _overlap_of(when: When) -> Literal["skip", "wait"]:
    overlap = fold(when.options.get("overlap", "skip")).text
    if overlap not in OVERLAPS:
        raise BadSchedule("overlap", overlap)
    return "wait" if overlap == "wait" else "skip"


def span_of(typed: str) -> timedelta:
    """Parse ``24h``, ``7d`` or ``2w``. Raises `BadSchedule`."""
    folded = fold(typed).text
    span = read_duration(folded) if re.fullmatch(r"\d+[hdw]", folded) else None  # nothing else is stored
    if not span or span > _LONGEST_SPAN:
        raise BadSchedule("compare", typed)
    return span


def only_of(typed: str) -> tuple[str, ...]:
    """Parse ``runs,tags``, in the order of `PARTS`. Raises `BadSchedule`."""
    wanted = [word for word in re.split(r"[,;\s]+", fold(typed).text) if word]
    unknown = [word for word in wanted if word not in PARTS]
    if unknown or not wanted:
        raise BadSchedule("only", "".join(unknown[:1]), PARTS)
    return tuple(part for part in PARTS if part in wanted)
