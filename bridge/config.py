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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from bridge.config_tables import (
    AgentTable,
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

KeyPath = tuple[str | int, ...]
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

TABLES: Final = ("rules", "channels", "agents", "limits")
"""The tables besides those of projects, as fields of `Config`."""


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

    def ids(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield Slack's IDs in the file, each with its place: the table or the setting that has it."""
        for at, rule in enumerate(self.rules):
            people = {"who": rule.who, "channels": rule.channels, "approve": rule.approve and rule.approve.by}
            for name, listed in people.items():
                yield from ((("rules", at, name), id_) for id_ in listed or () if id_.isupper())
        yield from ((("channels", id_), id_) for id_ in self.channels)
        for project in self.projects:
            for at, key in enumerate(project.keys):
                yield from ((("projects", project.id, "keys", at, "who"), id_) for id_ in key.who)
        for at, limit in enumerate(self.limits):
            if limit.per in {"person", "group", "channel"}:
                yield from ((("limits", at, "only"), id_) for id_ in limit.only or ())

    @property
    def groups(self) -> frozenset[str]:
        """The user groups that the file names."""
        return frozenset(id_ for _place, id_ in self.ids() if id_.startswith("S"))

    def of_channel(self, channel: str) -> ProjectSettings:
        """Return the project that the file gives a channel, or else the default one."""
        return next((project for project in self.projects if channel in project.channels), self.projects[0])


def changes(before: Config, after: Config) -> tuple[str, ...]:
    """Say in words how the configuration *after* a reload differs from that *before*, a line each."""
    known = {project.id: project for project in before.projects}
    now = {project.id: project for project in after.projects}
    lines = [f"{id_}: removed" for id_ in known if id_ not in now]
    for id_, project in now.items():
        if id_ not in known:
            lines.append(f"{id_}: added")
        elif new := [_IN_WORDS[name] for name in _IN_WORDS if getattr(project, name) != getattr(known[id_], name)]:
            lines.append(f"{id_}: new {', '.join(new)}")
    return (*lines, *(f"{name}: changed" for name in TABLES if getattr(before, name) != getattr(after, name)))


def _name(value: str) -> str:
    name = value.strip()
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
        projects, problems = _resolved(tables.projects, default, file, environ)
        problems += _conflicts(tables, projects)
        projects = tuple(_with_tables(project, tables) for project in projects)
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        why = str(exc).replace(" (at ", ", at ").removesuffix(")") if isinstance(exc, tomllib.TOMLDecodeError) else ""
        cure = 'write text in quotation marks, such as name = "Data"'
        line = f"{file} isn't valid TOML ({why or 'too many levels'}): {cure}"
        raise ConfigurationError([" ".join(line.split())]) from None
    except ValidationError as exc:
        problems = [_problem(error) for error in exc.errors(include_url=False)]
        tables, projects = _Tables(), (default,)
    if problems:
        lines = dict.fromkeys(f"{file} {path_of(problem.key_path)} {problem}" for problem in problems)
        raise ConfigurationError(list(lines))
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
    values = [(project.id, project.base_url, *(getattr(project, name) for name in OWN)) for project in projects]
    return hashlib.sha256(raw + json.dumps(values).encode()).hexdigest()[:12]


def path_of(key_path: KeyPath) -> str:
    """Return a *key_path* in words, such as ``rules[2].workflows``: rules and limits are counted from 1."""
    path = ""
    for part in key_path:
        if isinstance(part, int):
            path += f"[{part + 1}]"
        else:
            path += "." + (part if _BARE.fullmatch(part) else json.dumps(part))
    return path.removeprefix(".")


class _Problem(ValueError):
    """What's wrong with the setting at *key_path*, with its fix."""

    def __init__(self, key_path: KeyPath, problem: str) -> None:
        super().__init__(problem)
        self.key_path = key_path


def _resolved(
    tables: _ProjectTables, default: ProjectSettings, file: Path, environ: Mapping[str, str]
) -> tuple[tuple[ProjectSettings, ...], list[_Problem]]:
    """Return the projects with their keys, and what's wrong with them."""
    problems: list[_Problem] = []

    def key_of(key_path: KeyPath, table: ProjectTable | KeyTable) -> SecretStr:
        try:
            return SecretStr(_key(key_path, table, file, environ))
        except _Problem as problem:
            problems.append(problem)
            return SecretStr("")

    def keys_of(id_: str, tables: Sequence[KeyTable]) -> tuple[ProjectKey, ...]:
        key_path = ("projects", id_, "keys")
        names = [table.api_key_env or _UNSAFE.sub("_", Path(table.api_key_file or "").name) for table in tables]
        if len(set(names)) < len(names):
            problems.append(_Problem(key_path, "has the same key twice: put its people into one entry"))
        ids = [id_ for table in tables for id_ in table.who]
        if twice := next((id_ for at, id_ in enumerate(ids) if id_ in ids[:at]), ""):
            problem = f"has {twice} in two entries, of which only the first counts: remove it from one"
            problems.append(_Problem(key_path, problem))
        named = enumerate(zip(names, tables, strict=True))
        return tuple(ProjectKey(name, key_of((*key_path, at), table), table.who) for at, (name, table) in named)

    known = tables.default
    listed = [
        replace(
            default,
            name=known.name or DEFAULT,
            channels=known.channels,
            repeat=known.repeat or (),
            keys=keys_of(DEFAULT, known.keys),
        )
    ]
    for id_, table in (tables.__pydantic_extra__ or {}).items():
        key_path = ("projects", id_)
        if not _ID.fullmatch(id_) or id_ in _OF_SLACK:
            cure = "use up to 31 lower-case letters, digits and hyphens, such as [projects.orders-eu]"
            cure = f"use another ID, since @{id_} notifies people in Slack" if id_ in _OF_SLACK else cure
            problems.append(_Problem(key_path, f"isn't a usable ID: {cure}"))
        listed.append(
            ProjectSettings(
                id_,
                table.name or id_,
                table.base_url,
                key_of(key_path, table),
                table.channels,
                table.repeat or (),
                keys_of(id_, table.keys),
                **{name: getattr(table, name).strip() for name in OWN},
            )
        )
    names: dict[str, str] = {}
    channels: dict[str, str] = {}
    for project in listed:
        for word, at in ((project.id, ("projects", project.id)), (project.name, ("projects", project.id, "name"))):
            owner = names.setdefault(name_key(word), project.id)
            if owner != project.id:
                problem = f"has the ID or name of projects.{owner}: give each project its own"
                problems.append(_Problem(at, problem))
        for channel in sorted(project.channels):
            owner = channels.setdefault(channel, project.id)
            if owner != project.id:
                problem = f"has {channel}, as projects.{owner} has: list each channel in one project only"
                problems.append(_Problem(("projects", project.id, "channels"), problem))
    return tuple(listed), problems


def _key(key_path: KeyPath, table: ProjectTable | KeyTable, file: Path, environ: Mapping[str, str]) -> str:
    """Return the key that the *table* at *key_path* names. Raises `_Problem`."""
    env, path, variable = table.api_key_env, table.api_key_file, _variable(str(key_path[1]))
    if env is None and path is None:
        raise _Problem(key_path, f'has no key: add api_key_env = "{variable}", or api_key_file')
    if env is not None and path is not None:
        raise _Problem((*key_path, "api_key_file"), "and api_key_env are both set: remove one of them")
    at = (*key_path, "api_key_file" if env is None else "api_key_env")
    if env is not None and not _VARIABLE.fullmatch(env):
        cure = f"put the key into .env under a name such as {variable}, and write that name here"
        raise _Problem(at, f"isn't a variable's name: {cure}")
    kind, empty = "a variable that", "isn't set: set it in .env or in the environment"
    try:
        if env is None:
            kind, empty = "a file that", "is empty: write the key to it"
            key = (file.parent / Path(path or "").expanduser()).read_text(encoding="utf-8-sig").strip()
        else:
            key = environ.get(env, "").strip()
    except (OSError, ValueError, RuntimeError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else "not text"
        raise _Problem(at, f"names {kind} can't be read ({why}): name a readable file with the key") from None
    if not key:
        raise _Problem(at, f"names {kind} {empty}")
    try:
        return secret_word(key, "the project's key")
    except ValueError as exc:
        raise _Problem(at, f"names {kind} {exc}") from None


def _variable(id_: str) -> str:
    """Return a good name for the variable with a project's key."""
    return f"{id_.upper().replace('-', '_')}_KEY" if _ID.fullmatch(id_) else "DATA_KEY"


def _with_tables(project: ProjectSettings, tables: _Tables) -> ProjectSettings:
    """Return *project* with the channels and the agents that only read, whose own tables name it."""
    channels = {id_ for id_, table in tables.channels.items() if is_called(table.project or "", project)}
    agents = [
        key for key, table in tables.agents.items() if table.repeat and is_called(table.project or DEFAULT, project)
    ]
    return replace(project, channels=project.channels | channels, repeat=(*project.repeat, *agents))


def _conflicts(tables: _Tables, projects: Sequence[ProjectSettings]) -> list[_Problem]:
    """Return what's wrong between tables: projects that don't exist, and channels that two tables give a project."""
    problems = []
    for kind, listed in (("channels", tables.channels), ("agents", tables.agents)):
        for id_, table in listed.items():
            if table.project is not None and not called(table.project, projects):
                known = ", ".join(sorted(project.id for project in projects))
                problems.append(_Problem((kind, id_, "project"), f"isn't a project: use one of {known}"))
    owners = {channel: project.id for project in projects for channel in project.channels}
    for id_, table in tables.channels.items():
        owner = owners.get(id_)
        if table.project is not None and owner is not None:
            problem = f"is also set by projects.{owner}: remove one of them"
            problems.append(_Problem(("channels", id_, "project"), problem))
    return problems


def _problem(error: Mapping[str, Any]) -> _Problem:
    """Describe an error of pydantic, without the value."""
    key_path: KeyPath = tuple(part for part in error["loc"] if part != "[key]")
    if isinstance(key_path[-1], int) and key_path[:-1] not in _ARRAYS:
        key_path = key_path[:-1]  # of a wrong entry in a list
    name = str(key_path[-1])
    table = _table_of(key_path[:-1])
    fields: Mapping[str, Any] = {field.alias or name: field for name, field in table.model_fields.items()}
    example = f"{name} = {fields[name].examples[0]}" if name in fields and fields[name].examples else ""
    form = next((form for path, form in _FORMS.items() if key_path[: len(path)] == path), _FORMS["projects",])
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
    elif re.sub("[^a-z]", "", name.lower()) in _OF_KEYS and len(key_path) > 1:
        variable = _variable(str(key_path[1]))
        cure = f'set {variable} in .env, and write api_key_env = "{variable}" here'
        cure = "put it into PROJECT_API_KEY" if table is DefaultProjectTable else cure
        problem = f"isn't allowed, since this file can't hold keys: {cure}"
        problem = "isn't a setting: did you mean keys?" if isinstance(error["input"], list) else problem
    elif near := nearest(name, fields, least=0.6):
        problem = f"isn't a setting: did you mean {near[0]}?"
    else:
        *others, last = fields
        problem = f"isn't a setting: use {', '.join(others)}{' or ' if others else ''}{last}"
    return _Problem(key_path, problem)


_ARRAYS: Final = (("rules",), ("limits",))
_FORMS: Final[Mapping[KeyPath, str]] = {
    ("projects",): "[projects.data]",
    ("rules",): "[[rules]]",
    ("channels",): "[channels.C0123456789]",
    ("agents",): "[agents.Support]",
    ("limits",): "[[limits]]",
}


def _table_of(key_path: KeyPath) -> type[BaseModel]:
    """Return the model of the table at *key_path*; an ID or a number in it is of a table among several."""
    table: type[BaseModel] = _Tables
    for part in key_path:
        field = table.model_fields.get(str(part))
        if table is _ProjectTables and field is None:
            table = ProjectTable
        elif field is not None:
            table = next(_tables_in(field.annotation), table)
    return table


def _tables_in(shape: Any) -> Iterator[type[TomlTable]]:
    if isinstance(shape, type) and issubclass(shape, TomlTable):
        yield shape
    for part in get_args(shape):
        yield from _tables_in(part)
