"""Schedules and channel settings as a list, which can be kept outside of Redis and set again (`bridge reports`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, ValidationError, model_validator

from bridge.errors import BadSchedule, ConfigurationError
from bridge.features.channels.settings import MOST_APPS, AppRule, Channels, ChannelSettings
from bridge.features.schedules.placeholders import check_placeholders
from bridge.features.schedules.schedule import (
    QuestionSpec,
    ReportSpec,
    RunSpec,
    Schedule,
    Spec,
    StoredTask,
    TaskSpec,
    next_due,
    only_of,
    read_cron,
    read_report,
    span_of,
)
from bridge.features.schedules.store import MOST_TASKS, TaskStore
from bridge.queue.scripting import Scripts
from bridge.slack.senders import read_key

_ATTEMPTS: Final = 5  # at a channel whose settings change meanwhile


def _read(read: Callable[[str], object], example: str) -> Callable[[str], str]:
    """Make a check that *read* accepts a text, if there is one."""

    def check(text: str) -> str:
        try:
            if text:
                read(text)
        except (BadSchedule, ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"can't be understood: use one such as {example}") from None
        return text

    return check


Team = Annotated[str, StringConstraints(pattern=r"^[TE][A-Z0-9]{2,30}$")]
Channel = Annotated[str, StringConstraints(pattern=r"^[CGDUW][A-Z0-9]{2,30}$")]
User = Annotated[str, StringConstraints(pattern=r"^[UW][A-Z0-9]{2,30}$")]


class ListedTask(TaskSpec, frozen=True, extra="forbid"):
    """What is scheduled. *crons* are what counts; without them, *schedule* is read as people type it."""

    id: Annotated[str, StringConstraints(pattern=r"^[\w-]{0,64}$")] = ""
    team: Team
    channel: Channel
    owner: User
    schedule: str = ""  # type: ignore[assignment] # as people type it
    crons: tuple[Annotated[str, AfterValidator(_read(read_cron, "0 9 * * 1"))], ...] = ()
    zone: Annotated[str, AfterValidator(_read(ZoneInfo, "Europe/Berlin"))]
    paused: Annotated[str, StringConstraints(max_length=100)] = ""
    project: Annotated[str, StringConstraints(pattern=r"^([a-z][a-z0-9-]{0,30})?$")] = ""

    @model_validator(mode="after")
    def _has_a_schedule(self) -> Self:
        if not self.crons:
            try:
                read_report(self.schedule)
            except BadSchedule:
                raise ValueError("has a schedule that can't be understood: use one such as every Monday at 9") from None
        return self

    @property
    def spec(self) -> Spec:
        """The task as it's stored."""
        schedule = Schedule(self.schedule, self.crons) if self.crons else read_report(self.schedule).schedule
        fields = self.model_dump(exclude={"id", "crons", "paused"}) | {"schedule": schedule}
        return _SPECS[self.does].model_validate(fields)


class ListedReport(ListedTask, ReportSpec, frozen=True, extra="forbid"):
    """A report."""

    compare: Annotated[str, AfterValidator(_read(span_of, "7d"))] = ""
    only: tuple[Annotated[str, AfterValidator(_read(only_of, "runs"))], ...] = ()


class ListedQuestion(ListedTask, QuestionSpec, frozen=True, extra="forbid"):
    """A scheduled question."""

    text: Annotated[str, StringConstraints(min_length=1), AfterValidator(_read(check_placeholders, "{{date}}"))]


class ListedRun(ListedTask, RunSpec, frozen=True, extra="forbid"):
    """A scheduled run."""


_SPECS: Final[Mapping[str, type[Spec]]] = {one.does: one for one in (ReportSpec, QuestionSpec, RunSpec)}
_LISTED: Final[Mapping[str, type[ListedReport | ListedQuestion | ListedRun]]] = {
    one.does: one for one in (ListedReport, ListedQuestion, ListedRun)
}


class ListedRule(AppRule, frozen=True, extra="forbid"):
    """An app's rule."""

    @model_validator(mode="after")
    def _has_one_target(self) -> ListedRule:
        if [self.agent is None, self.workflow is None, not self.ignores].count(False) != 1:
            raise ValueError("needs an agent or a workflow")
        return self


class ListedSettings(ChannelSettings, frozen=True, extra="forbid"):
    """A channel's settings."""

    apps: Annotated[dict[str, ListedRule], Field(max_length=MOST_APPS)] = Field(default_factory=dict)  # type: ignore[assignment] # a rule is one

    @model_validator(mode="after")
    def _has_apps(self) -> ListedSettings:
        for app in self.apps:
            if read_key(app) != app:
                raise ValueError("has a rule for something that isn't an app: use an ID such as A0123456789")
        return self


class ListedChannel(BaseModel, frozen=True, extra="forbid"):
    """A channel with its settings."""

    team: Team
    channel: Channel
    settings: ListedSettings


class ReportsListing(BaseModel, frozen=True, extra="forbid"):
    """All schedules and channel settings of one bridge; *schedules* are those of questions and runs."""

    v: Literal[1] = 1
    reports: tuple[ListedReport, ...] = ()
    schedules: tuple[Annotated[ListedQuestion | ListedRun, Field(discriminator="task")], ...] = ()
    channels: tuple[ListedChannel, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse what `to_text` returns. Raises `ConfigurationError`."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as exc:
            problems = exc.errors(include_url=False, include_input=False)
            raise ConfigurationError([f"{_place(one['loc'])} {_why(one)}" for one in problems]) from None

    def to_text(self) -> str:
        """Return the list as JSON."""
        listed = self.model_dump(mode="json")
        for one in [*listed["reports"], *(each["settings"] for each in listed["channels"])]:
            if not one["project"]:  # as before there were several
                del one["project"]
        return json.dumps(listed, indent=2)


def _place(location: Iterable[str | int]) -> str:
    """Write a location like ``reports[0].zone``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".") or "The list"


def _why(problem: Any) -> str:
    match problem["type"]:
        case "value_error":
            return str(problem["ctx"]["error"])
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return "isn't a field: check its spelling"
    return f"isn't valid: {str(problem['msg'])[:1].lower()}{str(problem['msg'])[1:]}"


@dataclass(frozen=True, slots=True)
class Written:
    """How many *reports*, *channels* and other *schedules* were written; the *others* were already as listed."""

    reports: int
    channels: int
    others: int
    schedules: int = 0


async def read_listing(scripts: Scripts) -> ReportsListing:
    """List what's stored. Raises `StoreUnavailable`."""
    tasks = await _store(scripts).all()
    known, channels = Channels(scripts), []
    for team, channel in await known.all():
        settings = ListedSettings.model_validate((await known.stored(team, channel)).settings.model_dump())
        channels.append(ListedChannel(team=team, channel=channel, settings=settings))
    listed = [_listed(task) for task in tasks]
    return ReportsListing(
        reports=tuple(one for one in listed if isinstance(one, ListedReport)),
        schedules=tuple(one for one in listed if isinstance(one, ListedQuestion | ListedRun)),
        channels=tuple(channels),
    )


def _listed(task: StoredTask) -> ListedReport | ListedQuestion | ListedRun:
    facts = {"id": task.id, "schedule": task.when, "crons": task.spec.schedule.crons, "paused": task.paused}
    return _LISTED[task.spec.does].model_validate(task.spec.model_dump() | facts)


async def write_listing(scripts: Scripts, listing: ReportsListing, now: datetime) -> Written:
    """Set the schedules and channel settings of *listing*; others stay. Repeatable.

    What's stored under another ID isn't added again. Raises `ConfigurationError` if there are too many, and
    `StoreUnavailable`.
    """
    store, settings, written, channels = _store(scripts), Channels(scripts), list[ListedTask](), 0
    stored = {task.id: _listed(task) for task in await store.all()}
    known = {one.spec.identity for one in stored.values()}
    wanted: dict[str, ListedTask] = {
        one.id or hashlib.sha256(repr(one.spec.identity).encode()).hexdigest()[:16]: one
        for one in (*listing.reports, *listing.schedules)
    }
    new = {id_ for id_, one in wanted.items() if id_ not in stored and one.spec.identity not in known}
    if len(stored) + len(new) > MOST_TASKS:
        raise ConfigurationError([f"A bridge stores at most {MOST_TASKS:,} schedules: remove some from the list"])
    for id_, one in wanted.items():
        if id_ in new or (id_ in stored and _facts(one) != _facts(stored[id_])):
            written.append(one)
            due = next_due(one.spec.schedule, ZoneInfo(one.zone), now)
            writes = [
                *store.add(StoredTask(id_, one.spec, due), now),
                ("field", scripts.keys.report(id_), 0, "paused", ""),
            ]
            writes += store.pause(id_, one.paused) if one.paused else ()
            await scripts.run("write", json.dumps(writes), confirmed=True)
    for channel in listing.channels:
        channels += await _set(settings, channel)
    reports = sum(isinstance(one, ListedReport) for one in written)
    others = len(wanted) + len(listing.channels) - len(written) - channels
    return Written(reports, channels, others, len(written) - reports)


async def _set(channels: Channels, listed: ListedChannel) -> bool:
    """Set a channel's settings. Returns whether they changed."""
    wanted = ChannelSettings.model_validate(listed.settings.model_dump())
    for _ in range(_ATTEMPTS):
        stored = await channels.stored(listed.team, listed.channel)
        if stored.settings == wanted:
            return False
        if await channels.replace(listed.team, listed.channel, stored, wanted):
            return True
    raise ConfigurationError([f"The settings of {listed.channel} keep changing: import the list again"])


def _store(scripts: Scripts) -> TaskStore:
    return TaskStore(scripts)


def _facts(task: ListedTask) -> tuple[object, ...]:
    """Return what must differ for a task to be written."""
    return task.spec.model_dump(exclude={"schedule"}), task.spec.identity, task.paused
