"""What the settings and the operator's file set: the projects that a bridge serves, rules, limits and settings.

The file is optional, and read as a whole or not at all: `read_config` reports all problems at once, each with its path
and its fix, and never shows a value, as any may be a key pasted into the wrong place. The fields' docstrings are the
documentation.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from bridge.config_tables import (
    AgentTable,
    ApproveTable,
    AppTable,
    ChannelTable,
    KeyTable,
    LimitTable,
    Names,
    RuleTable,
    TomlTable,
    channel_id,
)
from bridge.errors import ConfigurationError
from bridge.names.folding import name_key
from bridge.names.matching import called, is_called
from bridge.names.nearness import nearest
from bridge.project.connection import DEFAULT
from bridge.setting_types import link_template, project_address, secret_word

FILE: Final = Path("bridge.toml")
"""The file if BRIDGE_CONFIG isn't set, beside .env."""

_ID: Final = re.compile(r"[a-z][a-z0-9-]{0,30}")
_OF_SLACK: Final = frozenset({"here", "channel", "everyone"})  # Slack makes a mention of them
_LONGEST_NAME: Final = 75  # an option's text
_UNSAFE: Final = re.compile(r"[^\w.-]", re.ASCII)  # in the name of a key
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_OF_KEYS: Final = frozenset({"apikey", "key", "token", "secret", "password"})
_BARE: Final = re.compile(r"[\w-]+", re.ASCII)
_PLACE: Final = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")

Place = tuple[str | int, ...]
"""Where something is in the file, such as ``("projects", "data", "name")``."""


@dataclass(frozen=True, slots=True)
class ProjectKey:
    """Another *api_key* of a project, for the people and user groups in *who*. *name* is its variable's or file's."""

    name: str
    api_key: SecretStr
    who: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """A project on the service. *channels* belong to it; its *id* is what people type after ``@``.

    *keys* are others than *api_key*. The agents named in *repeat* only read. *default_agent* answers if nothing else
    picks one; *run_url*, *workflow_url* and *agent_url* are templates of links.
    """

    id: str
    name: str
    base_url: str
    api_key: SecretStr
    channels: frozenset[str] = frozenset()
    repeat: tuple[str, ...] = ()
    keys: tuple[ProjectKey, ...] = ()
    default_agent: str = ""
    run_url: str = ""
    workflow_url: str = ""
    agent_url: str = ""


OWN: Final = ("default_agent", "run_url", "workflow_url", "agent_url")
"""What each project may have of its own, as fields of `ProjectSettings`; variables set it for the default one."""


def default_project(values: Mapping[str, Any]) -> ProjectSettings:
    """Return the project of PROJECT_BASE_URL, with the *values* of the settings by variable."""
    own: dict[str, Any] = {name: values.get(f"BRIDGE_{name.upper()}") or "" for name in OWN}
    url, key = values.get("PROJECT_BASE_URL") or "", values.get("PROJECT_API_KEY") or SecretStr("")
    return ProjectSettings(DEFAULT, DEFAULT, url, key, **own)


_IN_WORDS: Final = {
    "name": "name",
    "base_url": "address",
    "api_key": "key",
    "channels": "channels",
    "keys": "keys of people and groups",
    "repeat": "agents that are asked again",
    "default_agent": "default agent",
    "run_url": "links to runs",
    "workflow_url": "links to workflows",
    "agent_url": "links to agents",
}


@dataclass(frozen=True, slots=True)
class Config:
    """What the settings and the operator's *file* set; None: there's no file. Its *revision* changes with that.

    The *projects* are in the order of the file, except that the default one is first. *needs_restart* are the variables
    with new values that only a restart takes. *channels* are by ID, *agents* by the ID or name in the file.
    """

    projects: tuple[ProjectSettings, ...]
    file: Path | None = None
    revision: str = ""
    needs_restart: tuple[str, ...] = ()
    rules: tuple[RuleTable, ...] = ()
    channels: Mapping[str, ChannelTable] = field(default_factory=dict)
    agents: Mapping[str, AgentTable] = field(default_factory=dict)
    limits: tuple[LimitTable, ...] = ()

    @property
    def groups(self) -> frozenset[str]:
        """The user groups that the rules and limits name."""
        named = [one for rule in self.rules for one in (*(rule.who or ()), *((rule.approve and rule.approve.by) or ()))]
        named += [one for project in self.projects for key in project.keys for one in key.who]
        named += [one for limit in self.limits for one in limit.only or () if limit.per in {"person", "group"}]
        return frozenset(one for one in named if one.startswith("S"))

    def of_channel(self, channel: str) -> ProjectSettings:
        """Return the project that the file gives a channel, or else the default one."""
        return next((one for one in self.projects if channel in one.channels), self.projects[0])


def changes(before: Config, after: Config) -> tuple[str, ...]:
    """Say in words how the configuration *after* a reload differs from that *before*, a line each."""
    known, now = {one.id: one for one in before.projects}, {one.id: one for one in after.projects}
    lines = [f"{id_}: removed" for id_ in known if id_ not in now]
    for id_, one in now.items():
        if id_ not in known:
            lines.append(f"{id_}: added")
        elif new := [_IN_WORDS[name] for name in _IN_WORDS if getattr(one, name) != getattr(known[id_], name)]:
            lines.append(f"{id_}: new {', '.join(new)}")
    others = ("rules", "channels", "agents", "limits")
    return (*lines, *(f"{name}: changed" for name in others if getattr(before, name) != getattr(after, name)))


def _name(given: str) -> str:
    name = given.strip()
    if not name_key(name) or len(name) > _LONGEST_NAME or re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", name):
        raise ValueError(f'isn\'t usable: use up to {_LONGEST_NAME} characters on one line, such as "Data"')
    return name


_Name = Annotated[str, AfterValidator(_name)]
_Channels = frozenset[Annotated[str, AfterValidator(channel_id)]]


class DefaultProjectTable(TomlTable):
    """``[projects.default]``: the project of PROJECT_BASE_URL and PROJECT_API_KEY, if it's to have a name.

    Variables set the rest of it, such as BRIDGE_DEFAULT_AGENT and BRIDGE_RUN_URL.
    """

    name: _Name = Field("", examples=['"Company"'])
    """What people see, where there's more than one project. Without it: default."""
    channels: _Channels = Field(frozenset(), examples=['["C0123456789"]'])
    """The IDs of channels that belong to it, whatever is set in Slack."""
    keys: tuple[KeyTable, ...] = Field((), examples=['[{who = ["S0123456789"], api_key_env = "FINANCE_KEY"}]'])
    """Other keys, for some people. The rest use the project's own."""
    repeat: Names | None = Field(None, examples=['["Support"]'])
    """The IDs or names of its agents that only read: see `repeat` of an agent."""


class ProjectTable(TomlTable):
    """``[projects.<id>]``: one more project.

    Its ID is what people type after @: up to 31 lower-case letters, digits and hyphens, starting with a letter. The
    records of its threads carry the ID, so to rename a project, change its name.
    """

    name: _Name = Field("", examples=['"Data"'])
    """What people see, and may type. Without it: the ID. No two projects have the same name, in upper or lower case."""
    base_url: Annotated[str, AfterValidator(project_address)] = Field(examples=['"https://project.example.com"'])
    """The project service's address (*baseUrl*)."""
    api_key_env: str | None = Field(None, examples=['"DATA_KEY"'])
    """The environment variable with the project's API key (*apiKey*); it may also be in .env. Each project needs this
    or api_key_file. The key itself can't be in this file."""
    api_key_file: str | None = Field(None, examples=['"/run/secrets/data"'])
    """A file with the project's API key and nothing else. A relative path begins at this file's folder."""
    channels: _Channels = Field(frozenset(), examples=['["C0123456789"]'])
    """The IDs of channels that belong to it, whatever is set in Slack. A channel belongs to one project."""
    default_agent: str = Field("", examples=['"Support"'])
    """The ID or name of the agent that answers if nothing else picks one."""
    keys: tuple[KeyTable, ...] = Field((), examples=['[{who = ["S0123456789"], api_key_env = "FINANCE_KEY"}]'])
    """Other keys, for some people. The rest use the project's own."""
    repeat: Names | None = Field(None, examples=['["Support"]'])
    """The IDs or names of its agents that only read: see `repeat` of an agent."""
    run_url: Annotated[str, link_template("runId", "id")] = Field(
        "", examples=['"https://project.example.com/workflows/{id}/runs/{runId}"']
    )
    """The address of a run in the project's own pages, for a link on its card: {runId} is the run's ID, and {id} the
    workflow's."""
    workflow_url: Annotated[str, link_template("id")] = Field(
        "", examples=['"https://project.example.com/workflows/{id}"']
    )
    """The address of a workflow in the project's own pages."""
    agent_url: Annotated[str, link_template("id")] = Field("", examples=['"https://project.example.com/agents/{id}"'])
    """The address of an agent in the project's own pages."""


class _ProjectTables(TomlTable):
    model_config = ConfigDict(extra="allow")

    default: DefaultProjectTable = DefaultProjectTable()
    __pydantic_extra__: dict[str, ProjectTable] = Field(init=False)


class _Tables(TomlTable):
    projects: _ProjectTables = _ProjectTables()
    rules: tuple[RuleTable, ...] = ()
    channels: dict[Annotated[str, AfterValidator(channel_id)], ChannelTable] = Field(default_factory=dict)
    agents: dict[str, AgentTable] = Field(default_factory=dict)
    limits: tuple[LimitTable, ...] = ()


def no_file(default: ProjectSettings) -> Config:
    """Return what's in force without a file: the *default* project."""
    return Config((default,), revision=_revision(b"", (default,)))


def read_config(path: Path | None, environ: Mapping[str, str], default: ProjectSettings) -> Config:
    """Read the operator's file at *path*, or `FILE` if that exists. Raises `ConfigurationError` with all problems.

    *environ* has the variables that the file names; *default* is the default project.
    """
    file = path or FILE
    try:
        raw = file.read_bytes()
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, ValueError) as exc:  # a path with a null character, too
        if path is None and isinstance(exc, FileNotFoundError):
            return no_file(default)
        why = exc.strerror if isinstance(exc, OSError) else "not text in UTF-8"
        what, cure = (f"{FILE}", "fix or remove it") if path is None else ("BRIDGE_CONFIG", "set it to a readable file")
        raise ConfigurationError([f"{what} can't be read ({why}): {cure}"]) from None
    try:
        tables = _Tables.model_validate(tomllib.loads(text))
        projects, found = _resolved(tables.projects, default, file, environ)
        found += _conflicts(tables, projects)
        projects = tuple(_with_repeated(_with_channels(one, tables.channels), tables.agents) for one in projects)
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        place = _PLACE.search(str(exc))
        number = (place and place[1]) or text.rstrip().count("\n") + 1
        why = _PLACE.sub("", str(exc)) if isinstance(exc, tomllib.TOMLDecodeError) else "too many levels"
        line = f'{file} line {number} isn\'t valid TOML ({why}): write text in quotation marks, such as name = "Data"'
        raise ConfigurationError([" ".join(line.split())]) from None
    except ValidationError as exc:
        found = [_problem(error) for error in exc.errors(include_url=False)]
        tables, projects = _Tables(), (default,)
    if found:
        raise ConfigurationError(list(dict.fromkeys(f"{file} {path_of(one.place)} {one.problem}" for one in found)))
    return Config(
        projects,
        file,
        _revision(raw, projects),
        rules=tables.rules,
        channels=tables.channels,
        agents=tables.agents,
        limits=tables.limits,
    )


def _revision(raw: bytes, projects: Sequence[ProjectSettings]) -> str:
    """Return what changes with the file and with the variables of the *projects*, but says nothing about their keys."""
    values = [(one.id, one.base_url, *(getattr(one, name) for name in OWN)) for one in projects]
    return hashlib.sha256(raw + json.dumps(values).encode()).hexdigest()[:12]


def path_of(place: Place) -> str:
    """Return the path of a *place*, such as ``rules[2].workflows``: rules and limits are counted from 1."""
    path = ""
    for part in place:
        if isinstance(part, int):
            path += f"[{part + 1}]"
        else:
            path += "." + (part if _BARE.fullmatch(part) else json.dumps(part))
    return path.removeprefix(".")


class _Problem(NamedTuple):
    """What's wrong with the setting at *place*, with its fix."""

    place: Place
    problem: str


def _resolved(
    tables: _ProjectTables, default: ProjectSettings, file: Path, environ: Mapping[str, str]
) -> tuple[tuple[ProjectSettings, ...], list[_Problem]]:
    """Return the projects with their keys, and what's wrong with them."""
    known, others = tables.default, tables.__pydantic_extra__ or {}
    found: list[_Problem] = []

    def keys_of(id_: str, tables: Sequence[KeyTable]) -> tuple[ProjectKey, ...]:
        keys = []
        for place, table in enumerate(tables):
            name = table.api_key_env or _UNSAFE.sub("_", Path(table.api_key_file or "").name)
            try:
                keys.append(ProjectKey(name, SecretStr(_key(id_, table, file, environ)), table.who))
            except _WrongKey as exc:
                found.append(_Problem(("projects", id_, "keys", place, *exc.at), str(exc)))
        if len({key.name for key in keys}) < len(keys):
            found.append(_Problem(("projects", id_, "keys"), "has the same key twice: put its people into one entry"))
        ids = [id_ for table in tables for id_ in table.who]
        if twice := next((id_ for at, id_ in enumerate(ids) if id_ in ids[:at]), ""):
            problem = f"has {twice} in two entries, of which only the first counts: remove it from one"
            found.append(_Problem(("projects", id_, "keys"), problem))
        return tuple(keys)

    listed = [
        replace(
            default,
            name=known.name or DEFAULT,
            channels=known.channels,
            repeat=known.repeat or (),
            keys=keys_of(DEFAULT, known.keys),
        )
    ]
    for id_, table in others.items():
        if not _ID.fullmatch(id_):
            cure = "use up to 31 lower-case letters, digits and hyphens, such as [projects.orders-eu]"
            found.append(_Problem(("projects", id_), f"isn't a usable ID: {cure}"))
        elif id_ in _OF_SLACK:
            cure = f"use another ID, since @{id_} notifies people in Slack"
            found.append(_Problem(("projects", id_), f"isn't a usable ID: {cure}"))
        key = ""
        try:
            key = _key(id_, table, file, environ)
        except _WrongKey as exc:
            found.append(_Problem(("projects", id_, *exc.at), str(exc)))
        own = {name: getattr(table, name).strip() for name in OWN}
        listed.append(
            ProjectSettings(
                id_,
                table.name or id_,
                table.base_url,
                SecretStr(key),
                table.channels,
                table.repeat or (),
                keys_of(id_, table.keys),
                **own,
            )
        )
    names: dict[str, str] = {}
    channels: dict[str, str] = {}
    for one in listed:
        for word, place in ((one.id, ("projects", one.id)), (one.name, ("projects", one.id, "name"))):
            owner = names.setdefault(name_key(word), one.id)
            if owner != one.id:
                problem = f"has the ID or name of projects.{owner}: give each project its own"
                found.append(_Problem(place, problem))
        for channel in sorted(one.channels):
            owner = channels.setdefault(channel, one.id)
            if owner != one.id:
                problem = f"has {channel}, as projects.{owner} has: list each channel in one project only"
                found.append(_Problem(("projects", one.id, "channels"), problem))
    return tuple(listed), found


class _WrongKey(ValueError):
    """A project's key can't be used; *at* is the setting with the problem, if any."""

    def __init__(self, problem: str, *at: str) -> None:
        super().__init__(problem)
        self.at = at


def _key(id_: str, table: ProjectTable | KeyTable, file: Path, environ: Mapping[str, str]) -> str:
    """Return a project's key. Raises `_WrongKey`."""
    if table.api_key_env is not None and table.api_key_file is not None:
        raise _WrongKey("and api_key_env are both set: remove one of them", "api_key_file")
    if table.api_key_env is not None:
        at, kind = "api_key_env", "a variable that"
        if not _VARIABLE.fullmatch(table.api_key_env):
            cure = f"put the key into .env under a name such as {_variable(id_)}, and write that name here"
            raise _WrongKey(f"isn't a variable's name: {cure}", at)
        key = environ.get(table.api_key_env, "").strip()
        if not key:
            raise _WrongKey(f"names {kind} isn't set: set it in .env or in the environment", at)
    elif table.api_key_file is not None:
        at, kind = "api_key_file", "a file that"
        try:
            key = (file.parent / Path(table.api_key_file).expanduser()).read_text(encoding="utf-8").strip()
        except (OSError, ValueError, RuntimeError) as exc:
            why = exc.strerror if isinstance(exc, OSError) else "not text"
            raise _WrongKey(f"names {kind} can't be read ({why}): name a readable file with the key", at) from None
        if not key:
            raise _WrongKey(f"names {kind} is empty: write the key to it", at)
    else:
        raise _WrongKey(f'has no key: add api_key_env = "{_variable(id_)}", or api_key_file')
    try:
        return secret_word(key, "the project's key")
    except ValueError as exc:
        raise _WrongKey(f"names {kind} {exc}", at) from None


def _variable(id_: str) -> str:
    """Return a good name for the variable with a project's key."""
    return f"{id_.upper().replace('-', '_')}_KEY" if _ID.fullmatch(id_) else "DATA_KEY"


def _with_channels(project: ProjectSettings, channels: Mapping[str, ChannelTable]) -> ProjectSettings:
    """Return *project* with the channels whose own table names it."""
    more = {id_ for id_, one in channels.items() if is_called(one.project or "", project)}
    return replace(project, channels=project.channels | more) if more else project


def _with_repeated(project: ProjectSettings, agents: Mapping[str, AgentTable]) -> ProjectSettings:
    """Return *project* with its agents whose own table says that they only read."""
    more = [key for key, one in agents.items() if one.repeat and is_called(one.project or DEFAULT, project)]
    return replace(project, repeat=(*project.repeat, *more)) if more else project


def _conflicts(tables: _Tables, projects: Sequence[ProjectSettings]) -> list[_Problem]:
    """Return what's wrong between tables: projects that don't exist, and channels that two tables give a project."""
    found = []
    named: list[tuple[Place, str | None]] = [
        (("channels", id_, "project"), one.project) for id_, one in tables.channels.items()
    ]
    named += [(("agents", id_, "project"), one.project) for id_, one in tables.agents.items()]
    for place, project in named:
        if project is not None and not called(project, projects):
            listed = ", ".join(sorted(one.id for one in projects))
            found.append(_Problem(place, f"isn't a project: use one of {listed}"))
    owners = {channel: one.id for one in projects for channel in one.channels}
    for id_, table in tables.channels.items():
        owner = owners.get(id_)
        if table.project is not None and owner is not None:
            found.append(_Problem(("channels", id_, "project"), f"is also set by projects.{owner}: remove one of them"))
    return found


def _problem(error: Mapping[str, Any]) -> _Problem:
    """Describe an error of pydantic, without the value."""
    place: Place = tuple(part for part in error["loc"] if part != "[key]")
    if isinstance(place[-1], int) and place[:-1] not in _ARRAYS:
        place = place[:-1]  # of a wrong entry in a list
    name = str(place[-1])
    table = _table_of(place[:-1])
    fields: Mapping[str, Any] = {field.alias or name: field for name, field in table.model_fields.items()}
    example = f"{name} = {fields[name].examples[0]}" if name in fields and fields[name].examples else ""
    form = next((form for path, form in _FORMS.items() if place[: len(path)] == path), _FORMS["projects",])
    problem = f"isn't a table: write it as {form}"
    if error["type"] == "value_error":
        problem = str(error["ctx"]["error"])
    elif error["type"] == "missing":
        problem = f"is missing: add {example}"
    elif error["type"] == "literal_error" and example:
        problem = f"has an unknown value: use one such as {example}"
    elif error["type"] in {"greater_than_equal", "less_than_equal"}:
        problem = f"is out of range: use a number such as {example}"
    elif error["type"] != "extra_forbidden":
        problem = f"has a value of the wrong type: write it as {example}" if example else problem
    elif table is DefaultProjectTable and name in OWN:
        problem = f"is set by BRIDGE_{name.upper()}: remove it here"
    elif table is DefaultProjectTable and name in ProjectTable.model_fields:
        problem = "belongs to PROJECT_BASE_URL and PROJECT_API_KEY: remove it here"
    elif re.sub("[^a-z]", "", name.lower()) in _OF_KEYS and len(place) > 1:
        variable = _variable(str(place[1]))
        cure = f'set {variable} in .env, and write api_key_env = "{variable}" here'
        cure = "put it into PROJECT_API_KEY" if table is DefaultProjectTable else cure
        problem = f"isn't allowed, since this file can't hold keys: {cure}"
        problem = "isn't a setting: did you mean keys?" if isinstance(error["input"], list) else problem
    elif near := nearest(name, fields, least=0.6):
        problem = f"isn't a setting: did you mean {near[0]}?"
    else:
        *others, last = fields
        problem = f"isn't a setting: use {', '.join(others)}{' or ' if others else ''}{last}"
    return _Problem(place, problem)


_ARRAYS: Final = (("rules",), ("limits",))
_FORMS: Final[Mapping[Place, str]] = {
    ("projects",): "[projects.data]",
    ("rules",): "[[rules]]",
    ("channels",): "[channels.C0123456789]",
    ("agents",): "[agents.Support]",
    ("limits",): "[[limits]]",
}


def _table_of(place: Place) -> type[BaseModel]:
    """Return the model of the table at *place*."""
    match place:
        case ():
            return _Tables
        case ("projects", _, "keys", *_):
            return KeyTable
        case ("projects",) | ("projects", _):
            return _ProjectTables if len(place) == 1 else DefaultProjectTable if place[1] == DEFAULT else ProjectTable
        case ("rules", *rest):
            return ApproveTable if "approve" in rest else RuleTable
        case ("channels", *rest):
            return AppTable if "apps" in rest[:-1] else ChannelTable
        case ("agents", *_):
            return AgentTable
        case _:
            return LimitTable
