"""The tables of the operator's file besides the projects: rules, channels, agents and limits.

Errors continue a sentence that starts with the setting's name: the problem, a colon, and one working example. They
never show the value, as any may be a key pasted into the wrong place (`bridge.config`).
"""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from bridge.names.folding import name_key, shortcode_of
from bridge.setting_types import duration, one_of
from bridge.slack.senders import read_key

Act = Literal["ask", "run", "schedule", "report", "alert", "settings", "approve", "trace"]
"""What a rule is about. *settings* are a channel's, and agents' handles; *trace* is what ``!why`` shows."""

ACTS: Final[tuple[Act, ...]] = get_args(Act)
KINDS_OF_PEOPLE: Final = ("members", "guests")
STARTERS: Final = ("apps", "schedules", "alerts")
"""Who started something, if not the person themselves; the person is then its owner."""

KINDS_OF_PLACES: Final = ("public", "private", "direct")
Per = Literal["person", "group", "channel", "agent", "workflow", "project"]

_CHANNEL: Final = re.compile(r"[CG][A-Z0-9]{2,}", re.ASCII)
_MOST_COUNTED: Final = 1_000_000_000
_MOST_ENTRIES: Final = 1000


class TomlTable(BaseModel, defer_build=True):
    """A table of the file."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True, populate_by_name=False
    )


def channel_id(value: str) -> str:
    """Accept the ID of a channel. Raises ValueError."""
    if not _CHANNEL.fullmatch(value):
        raise ValueError('has an invalid entry: use channel IDs such as "C0123456789"')
    return value


_KINDS_OF_IDS: Final = {
    "U": "people", "S": "user groups", "C": "channels", "D": "direct messages", "A": "apps"
}  # fmt: skip


def _entry(letters: str, words: tuple[str, ...], example: str) -> AfterValidator:
    """Accept Slack IDs that start with one of *letters*, and *words*."""
    known = f" or {', '.join(words)}" if words else ""
    kinds = ", ".join(f"{letter}… for {kind}" for letter, kind in _KINDS_OF_IDS.items() if letter in letters)

    def check(value: str) -> str:
        if value not in words and not re.fullmatch(rf"[{letters}][A-Z0-9]{{2,}}", value, re.ASCII):
            raise ValueError(f"has an invalid entry: use IDs such as {example}{known} ({kinds})")
        return value

    return AfterValidator(check)


def _as_name(value: object) -> object:
    """Read the number of an ID as text, so that it may be written without quotation marks."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _usable_name(value: str) -> str:
    if not name_key(value):
        raise ValueError("has an empty entry: remove it, or write a name, an ID or a pattern such as Refund *")
    return value


def _listed(entries: tuple[str, ...], without: str = "setting") -> tuple[str, ...]:
    """Accept a list that isn't empty, which would look like a restriction; *without* may be removed instead."""
    if not entries:
        raise ValueError(f"is empty: list at least one, or remove the {without}")
    if len(entries) > _MOST_ENTRIES:
        raise ValueError(f"is too long: list at most {_MOST_ENTRIES}, such as a user group instead of its people")
    return tuple(dict.fromkeys(entries))


_NotEmpty = AfterValidator(_listed)
_Name = Annotated[str, BeforeValidator(_as_name), AfterValidator(_usable_name)]
Names = Annotated[tuple[_Name, ...], _NotEmpty]
_Ids = Annotated[tuple[Annotated[str, _entry("UWSCG", (), '"U0123456789"')], ...], _NotEmpty]
_Who = Annotated[
    tuple[Annotated[str, _entry("UWSCGA", (*KINDS_OF_PEOPLE, *STARTERS), '"S0123456789"')], ...], _NotEmpty
]
_Acts = Annotated[tuple[Annotated[Act, one_of(*ACTS)], ...], _NotEmpty]
_Places = Annotated[tuple[Annotated[str, _entry("CGD", KINDS_OF_PLACES, '"C0123456789"')], ...], _NotEmpty]


class ApproveTable(TomlTable):
    """``approve = {…}`` of a rule: others have to agree before a workflow runs."""

    by: Annotated[_Ids | None, Field(examples=['["S0123456789"]'])] = None
    """Who may approve: the IDs of people, user groups, or channels (whose members may). Without it: those to whom a
    rule gives `may = ["approve"]`."""
    count: int = Field(1, strict=True, ge=1, le=20, examples=["2"])
    """How many of them have to. Nobody counts twice."""
    self_: bool = Field(False, strict=True, alias="self", examples=["true"])
    """Whether the person who asks may approve, too."""
    within: Annotated[timedelta, duration("h", upto=timedelta(days=30))] = Field(
        timedelta(hours=4), examples=['"4h"'], strict=True
    )
    """How long they have; afterwards, the request expires. At most 30d."""
    reason: bool = Field(False, strict=True, examples=["true"])
    """Whether the person who asks has to say why."""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        people = self.by or ()
        if people and all(person[0] in "UW" for person in people) and len(people) < self.count:
            raise ValueError(f"needs {self.count} people, but lists {len(people)}: list more, or lower count")
        return self


class RuleTable(TomlTable):
    """``[[rules]]``: who may do what, with what, and where; the first rule that fits decides.

    A rule without a setting isn't restricted by it. With rules, what none of them allows is refused, except seeing
    lists. What a rule says of one kind of thing, such as `workflows`, doesn't fit the others, such as agents.
    """

    who: Annotated[_Who | None, Field(examples=['["S0123456789"]'])] = None
    """The IDs of people (U…), user groups (S…), channels (C…: their members) and apps (A…: what they start); or
    `members`, `guests`, `apps`, `schedules`, `alerts`. What a schedule, an alert or an app's post starts counts as its
    owner's, too. Without it: everyone who may use the bridge."""
    may: Annotated[_Acts | None, Field(examples=['["run"]'])] = None
    """What they may do: `ask` (agents), `run` (workflows), `schedule` (questions and runs), `report` (schedule one),
    `alert` (set one up), `settings` (change a channel's, and agents' handles), `approve`, `trace` (see `!why`).
    Without it: everything."""
    projects: Annotated[Names | None, Field(examples=['["data"]'])] = None
    """The IDs or names of projects, or patterns."""
    workflows: Annotated[Names | None, Field(examples=['["Refund *", 7]'])] = None
    """The IDs or names of workflows, or patterns; * stands for anything."""
    triggers: Annotated[Names | None, Field(examples=['["webhook"]'])] = None
    """Trigger types of workflows."""
    agents: Annotated[Names | None, Field(examples=['["Support"]'])] = None
    """The IDs or names of agents, or patterns."""
    categories: Annotated[Names | None, Field(examples=['["billing"]'])] = None
    """Categories of workflows and agents, if the service has any."""
    channels: Annotated[_Places | None, Field(examples=['["C0123456789"]'])] = None
    """Where: the IDs of channels, or `public`, `private` (channels and group messages) and `direct`."""
    refuse: bool = Field(False, strict=True, examples=["true"])
    """Whether what fits is refused. Otherwise, it's allowed."""
    confirm: bool = Field(False, strict=True, examples=["true"])
    """Whether a person who starts a workflow is asked once more, with the input shown."""
    approve: Annotated[ApproveTable | None, Field(examples=['{by = ["S0123456789"], count = 2}'])] = None
    """Who has to agree before a workflow runs."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.refuse and (self.approve or self.confirm):
            raise ValueError("refuses, so nothing is left to confirm or approve: remove refuse, or the other")
        if (self.approve or self.confirm) and self.may is not None and "run" not in self.may:
            raise ValueError('has confirm or approve, which are for workflows: add "run" to may, or remove them')
        return self


class AppTable(TomlTable):
    """``apps.A…``: what an app's posts start there. An agent also gets what they're edited to."""

    agent: Annotated[_Name | None, Field(examples=['"Support"'])] = None
    """The agent that answers, by ID or name."""
    workflow: Annotated[_Name | None, Field(examples=['"Triage"'])] = None
    """The workflow that runs, by ID or name."""
    name: Annotated[str | None, Field(examples=['"Monitoring"'])] = None
    """What the app is called."""
    edits: bool = Field(False, strict=True, examples=["true"])
    """Whether the workflow also runs when the app edits its post."""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if (self.agent is None) == (self.workflow is None):
            raise ValueError("needs an agent or a workflow: write it as {agent = 7} or {workflow = 3}")
        if self.edits and self.workflow is None:
            raise ValueError("has edits, which is for workflows: remove it, as agents always get edited posts")
        return self


class ChannelTable(TomlTable):
    """``[channels.<id>]``: the settings of a channel. What's set here can't be changed in Slack."""

    project: Annotated[_Name | None, Field(examples=['"data"'])] = None
    """The ID or name of its project."""
    agent: Annotated[_Name | None, Field(examples=['"Support"'])] = None
    """The default agent, by ID or name; "none" for none."""
    answers: Annotated[Literal["mentions", "all"] | None, one_of("mentions", "all"), Field(examples=['"mentions"'])] = (
        None
    )
    """Which messages are answered: `mentions`, or `all` top-level messages."""
    replies: Annotated[
        Literal["auto", "all", "mentions"] | None, one_of("auto", "all", "mentions"), Field(examples=['"auto"'])
    ] = None
    """Which replies in a thread go to its agent without a mention: `auto`, `all` or `mentions`."""
    apps: Annotated[dict[str, AppTable] | None, Field(examples=['{A0123456789 = {agent = "Support"}}'])] = None
    """What apps' posts start, by the ID of an app (A…) or a bot (B…), whatever name it posts under; with a name, as in
    `"A0123456789 Grafana"`, only what it posts under that name."""

    @model_validator(mode="after")
    def _has_app_ids(self) -> Self:
        keys = [read_key(app) for app in self.apps or ()]
        if not all(keys):
            raise ValueError("has an invalid app: use app IDs such as apps.A0123456789")
        if len(set(keys)) < len(keys):
            raise ValueError("has the same app twice: remove one")
        return self


def _face(value: str) -> str:
    code = shortcode_of(value)
    if not code:
        raise ValueError('isn\'t one emoji: use one such as ":headphones:"')
    return code


class KeyTable(TomlTable):
    """``keys = [{…}]`` of a project: another key, for some people; the first whose *who* has a person is theirs."""

    who: Annotated[
        tuple[Annotated[str, _entry("UWS", (), '"S0123456789"')], ...],
        AfterValidator(partial(_listed, without="entry")),
    ] = Field(examples=['["S0123456789"]'])
    """The IDs of people and user groups."""
    api_key_env: str | None = Field(None, examples=['"FINANCE_KEY"'])
    """The environment variable with this key."""
    api_key_file: str | None = Field(None, examples=['"/run/secrets/finance"'])
    """A file with this key and nothing else."""


class AgentTable(TomlTable):
    """``[agents.<id or name>]``: how an agent is shown."""

    face: Annotated[Annotated[str, AfterValidator(_face)] | None, Field(examples=['":headphones:"'])] = None
    """The emoji beside its answers."""
    project: Annotated[_Name | None, Field(examples=['"data"'])] = None
    """The ID or name of its project. Without it: the default one."""
    repeat: bool = Field(False, strict=True, examples=["true"])
    """Whether it only reads. Then a question that may have reached it, but whose answer was lost, is asked once more by
    itself: after a crash or a restart, a broken connection, or at the beginning of an outage."""


_Count = Annotated[int | None, Field(ge=1, le=_MOST_COUNTED, strict=True)]


class LimitTable(TomlTable):
    """``[[limits]]``: how much may be done in an hour or a day. All must hold.

    Another number keeps what was used.
    """

    per: Annotated[Per, one_of(*get_args(Per))] = Field(examples=['"person"'])
    """What is counted together: each `person`, user `group`, `channel`, `agent`, `workflow` or `project`."""
    only: Annotated[Names | None, Field(examples=['["S0123456789"]'])] = None
    """Which of them: IDs (of people also those of user groups, which count each person; of agents, workflows and
    projects also names or patterns). Without it: all. A limit per group needs it."""
    every: Annotated[Literal["hour", "day"], one_of("hour", "day")] = Field("hour", examples=['"day"'])
    """How long until it's free again, from the first one that counted."""
    turns: Annotated[_Count, Field(examples=["50"])] = None
    """Messages to agents."""
    runs: Annotated[_Count, Field(examples=["10"])] = None
    """Runs of workflows."""
    characters: Annotated[_Count, Field(examples=["100000"])] = None
    """Characters of messages to agents and inputs of workflows."""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        letters = {"person": "UWS", "group": "S", "channel": "CGD"}.get(self.per)
        if letters and any(not re.fullmatch(rf"[{letters}][A-Z0-9]{{2,}}", id_, re.ASCII) for id_ in self.only or ()):
            raise ValueError(f'has an invalid entry in only: use IDs such as "{letters[0]}0123456789"')
        if self.per == "group" and not self.only:
            raise ValueError('needs user groups: add only = ["S0123456789"]')
        if not (self.turns or self.runs or self.characters):
            raise ValueError("has no number: add turns, runs or characters, such as turns = 50")
        if (self.per == "agent" and self.runs) or (self.per == "workflow" and self.turns):
            raise ValueError(f"can't count {'runs per agent' if self.runs else 'turns per workflow'}: remove that")
        return self
