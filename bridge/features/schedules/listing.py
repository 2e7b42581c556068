"""Schedules and channel settings as a list, which can be kept outside of Redis and set again (`bridge reports`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, ValidationError, model_validator

from bridge.errors import BadSchedule, ConfigurationError
from bridge.features.channels.settings import APP_ID, MOST_APPS, AppRule, Channels, ChannelSettings
from bridge.features.schedules.schedule import (
    ReportSpec,
    Schedule,
    StoredTask,
    next_due,
    only_of,
    read_cron,
    read_report,
    span_of,
)
from bridge.features.schedules.store import MOST_TASKS, TaskStore
from bridge.queue.scripting import Scripts

_ATTEMPTS: Final = 5  # at a channel whose settings change meanwhile

T = TypeVar("T")


def _read(read: Callable[[str], T], example: str) -> Callable[[str], str]:
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


class ListedReport(BaseModel, frozen=True, extra="forbid"):
    """A report. *crons* are what counts; without them, *schedule* is read as people type it."""

    id: Annotated[str, StringConstraints(pattern=r"^[\w-]{0,64}$")] = ""
    team: Team
    channel: Channel
    owner: User
    schedule: str = ""
    crons: tuple[Annotated[str, AfterValidator(_read(read_cron, "0 9 * * 1"))], ...] = ()
    zone: Annotated[str, AfterValidator(_read(ZoneInfo, "Europe/Berlin"))]
    compare: Annotated[str, AfterValidator(_read(span_of, "7d"))] = ""
    only: tuple[Annotated[str, AfterValidator(_read(only_of, "runs"))], ...] = ()
    paused: Annotated[str, StringConstraints(max_length=100)] = ""
    project: Annotated[str, StringConstraints(pattern=r"^([a-z][a-z0-9-]{0,30})?$")] = ""

    @model_validator(mode="after")
    def _has_a_schedule(self) -> ListedReport:
        if not self.crons:
            try:
                read_report(self.schedule)
            except BadSchedule:
                raise ValueError("has a schedule that can't be understood: use one such as every Monday at 9") from None
        return self

    @classmethod
    def of(cls, report: StoredTask) -> ListedReport:
        """List a stored report."""
        spec = report.spec
        return cls(
            id=report.id, team=spec.team, channel=spec.channel, owner=spec.owner, schedule=report.when,
            crons=spec.schedule.crons, zone=spec.zone, compare=spec.compare, only=spec.only, paused=report.paused,
            project=spec.project,
        )  # fmt: skip

    @property
    def spec(self) -> ReportSpec:
        """The report as it's stored."""
        schedule = Schedule(self.schedule, self.crons) if self.crons else read_report(self.schedule).schedule
        return ReportSpec(
            schedule=schedule, zone=self.zone, channel=self.channel, compare=self.compare, only=self.only,
            team=self.team, owner=self.owner, project=self.project,
        )  # fmt: skip


class ListedRule(AppRule, frozen=True, extra="forbid"):
    """An app's rule."""

    @model_validator(mode="after")
    def _has_one_target(self) -> ListedRule:
        if (self.agent is None) == (self.workflow is None):
            raise ValueError("needs an agent or a workflow")
        return self


class ListedSettings(ChannelSettings, frozen=True, extra="forbid"):
    """A channel's settings."""

    apps: Annotated[dict[str, ListedRule], Field(max_length=MOST_APPS)] = Field(default_factory=dict)  # type: ignore[assignment] # a rule is one

    @model_validator(mode="after")
    def _has_apps(self) -> ListedSettings:
        for app in self.apps:
            if not APP_ID.fullmatch(app):
                raise ValueError("has a rule for something that isn't an app: use an ID such as A0123456789")
        return self


class ListedChannel(BaseModel, frozen=True, extra="forbid"):
    """A channel with its settings."""

    team: Team
    channel: Channel
    settings: ListedSettings


class Listing(BaseModel, frozen=True, extra="forbid"):
    """All reports and channel settings of one bridge."""

    v: Literal[1] = 1
    reports: tuple[ListedReport, ...] = ()
    channels: tuple[ListedChannel, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Listing:
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
    """How many *reports* and *channels* were written; the *others* were already as listed."""

    reports: int
    channels: int
    others: int


async def read_listing(scripts: Scripts) -> Listing:
    """List what's stored. Raises `StoreUnavailable`."""
    reports = await _store(scripts).all()
    known, channels = Channels(scripts), []
    for team, channel in await known.all():
        settings = ListedSettings.model_validate((await known.stored(team, channel)).settings.model_dump())
        channels.append(ListedChannel(team=team, channel=channel, settings=settings))
    return Listing(reports=tuple(map(ListedReport.of, reports)), channels=tuple(channels))


async def write_listing(scripts: Scripts, listing: Listing, now: datetime) -> Written:
    """Set the reports and channel settings of *listing*; others stay. Repeatable.

    A report that's stored under another ID isn't added again. Raises `ConfigurationError` if there are too many, and
    `StoreUnavailable`.
    """
    store, settings, reports, channels = _store(scripts), Channels(scripts), 0, 0
    stored = {report.id: ListedReport.of(report) for report in await store.all()}
    known = {_same(report) for report in stored.values()}
    wanted = {one.id or _id_of(one): one for one in listing.reports}
    new = {id_ for id_, one in wanted.items() if id_ not in stored and _same(one) not in known}
    if len(stored) + len(new) > MOST_TASKS:
        raise ConfigurationError([f"A bridge stores at most {MOST_TASKS:,} reports: remove some from the list"])
    for id_, one in wanted.items():
        is_changed = id_ in new or (id_ in stored and not _is_stored(one, stored[id_]))
        reports += is_changed
        if is_changed:
            due = next_due(one.spec.schedule, ZoneInfo(one.zone), now)
            writes = [*store.add(id_, one.spec, due, now), ("field", scripts.keys.report(id_), 0, "paused", "")]
            writes += store.pause(id_, one.paused) if one.paused else ()
            await scripts.run("write", json.dumps(writes), confirmed=True)
    for channel in listing.channels:
        channels += await _set(settings, channel)
    return Written(reports, channels, len(wanted) + len(listing.channels) - reports - channels)


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
    return TaskStore(scripts, session_lifetime=timedelta(0))  # no conversation is bound here


def _same(report: ListedReport) -> tuple[object, ...]:
    """Return what makes two reports the same for people."""
    spec = report.spec
    same = spec.schedule.crons, spec.zone, spec.team, spec.channel, spec.compare, frozenset(spec.only)
    return (*same, spec.project) if spec.project else same  # IDs of the default project's reports stay the same


def _is_stored(report: ListedReport, stored: ListedReport) -> bool:
    return (_same(report), report.owner, report.paused) == (_same(stored), stored.owner, stored.paused)


def _id_of(report: ListedReport) -> str:
    return hashlib.sha256(repr(_same(report)).encode()).hexdigest()[:16]
