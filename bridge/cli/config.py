"""`bridge config`: the settings and what bridge.toml sets, where each value comes from, and what processes use."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, get_args

import typer
from pydantic import SecretStr

from bridge.cli.printing import columns, form_for, moment, out, printable, to_json
from bridge.cli.running import CANNOT_RUN, WRONG_SETTINGS, complain, config_of, problems_of, run, say
from bridge.cli.store import JsonOption, in_store, opened
from bridge.config import OWN, Config, Place, path_of
from bridge.config_tables import RuleTable, TomlTable
from bridge.errors import BridgeError, ConfigurationError
from bridge.features.alerts.conditions import in_units
from bridge.logs import configure
from bridge.policy.rules import Rule
from bridge.policy.words import in_words
from bridge.project.connection import DEFAULT
from bridge.queue.reloads import InForce, Reloads
from bridge.queue.scripting import Scripts
from bridge.queue.status import running
from bridge.settings import Settings, environment, origins, well_formed

_ANSWERED_IN: Final = 15.0  # seconds; a process looks every second
_LOOK_AGAIN: Final = 0.2  # seconds
TABLES: Final = ("rules", "channels", "agents", "limits")
"""The tables of the operator's file besides those of projects, as fields of `bridge.config.Config`."""

_NONE_RUNS: Final = "No bridge is running."

config = typer.Typer(
    add_completion=False,
    help="Show where settings come from, or reload the projects.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True, slots=True)
class Value:
    """The *value* of a setting, ``set`` for a secret, or None; *source* is a file, a line of .env, or so."""

    name: str
    value: str | None
    source: str


@config.command("show")
def show_all(*, as_json: JsonOption = False) -> None:
    """Show each setting and where it comes from.

    Also shows what bridge.toml sets, and whether the running processes use the file as it is now. Secrets are only
    shown as set.
    """
    configure("console", "ERROR")
    slips: list[str] = []
    found: Config | None = None
    try:
        environ = environment(os.environ, Path(".env"), slips=slips)
        places = origins(os.environ, Path(".env"))
    except ConfigurationError as exc:
        raise typer.Exit(complain([exc])) from None
    problems = problems_of(environ, slips)
    with suppress(ConfigurationError):  # it's among the problems
        found = config_of(environ)
    settings = settings_of(environ, places)
    projects = projects_of(found, settings) if found else []

    async def show() -> int:
        processes = await _processes(well_formed(environ))
        if as_json:
            shown = {
                "ok": not problems,
                "problems": problems,
                "settings": settings,
                "file": str(found.file) if found and found.file else None,
                "projects": projects,
                **(tables_of(found) if found else dict.fromkeys(TABLES, ())),
                "processes": None if processes is None else for_programs(processes),
            }
            out(to_json(shown, indent=2))
        else:
            out("\n".join([*_table(settings, projects, found), *_states(processes, found)]), signs=True)
        return complain([ConfigurationError(problems)]) if problems else 0

    raise typer.Exit(run(show))


@config.command("reload")
def reload_all(*, as_json: JsonOption = False) -> None:
    """Have every running process read the projects again.

    That's bridge.toml, the projects' keys, and their variables in .env, such as PROJECT_API_KEY. A process takes all of
    it or, if there's a problem, none. SIGHUP does the same for one process. A rule or limit with a name that nothing
    has is taken, with exit code 1.
    """

    async def ask(scripts: Scripts) -> int:
        reloads = Reloads(scripts)
        request, until = await reloads.request(), time.monotonic() + _ANSWERED_IN
        while True:
            reports = await reloads.reports(await running(scripts))
            answered = {name: one for name, one in reports.items() if one and one.request == request}
            if len(answered) == len(reports) or time.monotonic() > until:
                break
            await asyncio.sleep(_LOOK_AGAIN)
        refused = [name for name, one in answered.items() if one.problems]
        unknown = any(one.unknown for one in answered.values())
        if as_json:
            processes = for_programs({name: answered.get(name) for name in reports})
            is_well = len(answered) == len(reports) > 0 == len(refused) and not unknown
            out(to_json({"ok": is_well, "processes": processes}, indent=2))
        elif not reports:
            say(f"{_NONE_RUNS} It reads its settings when it starts; bridge check finds problems in them.")
        else:
            taken = len(answered) - len(refused)
            total = "1 process" if len(reports) == 1 else f"{len(reports)} processes"
            lines = [line for name in reports for line in _answer(name, answered.get(name))]
            out("\n".join([*lines, f"{taken} of {total} took it."]), signs=True)
        if refused:
            return WRONG_SETTINGS
        return 0 if reports and len(answered) == len(reports) and not unknown else CANNOT_RUN

    in_store(ask)


def settings_of(environ: Mapping[str, str], places: Mapping[str, str]) -> list[Value]:
    """List the settings in *environ*; *places* say where variables are set."""
    values, listed = well_formed(environ), []
    for name, field in ((str(field.alias), field) for field in Settings.model_fields.values()):
        value = values.get(name)
        variable = next((one for one in (name, f"{name}_FILE") if one in environ), "")
        source = ", ".join([variable] * (variable != name) + [places.get(variable, "--embedded-redis")])
        if value is None and variable:
            shown: str | None = "invalid"
        elif not value and not isinstance(value, int):  # and no time, which is never 0 by default
            shown = None
        elif SecretStr in (field.annotation, *get_args(field.annotation)):
            shown = "set"
        elif variable == name:
            shown = environ[name].strip()
        elif isinstance(value, frozenset):
            shown = ",".join(sorted(value))
        else:
            shown = str(field.default if not variable and isinstance(value, timedelta) else value)
        listed.append(Value(name, shown, source if variable else "" if shown is None else "default"))
    return listed


_ALWAYS_SHOWN: Final = ("name", "base_url", "api_key", "channels")  # of a project, though not set


def projects_of(found: Config, settings: list[Value]) -> list[dict[str, Any]]:
    """List the projects, each with the sources of its values."""
    known, file = {one.name: one.source for one in settings}, str(found.file or "")
    variables = {"base_url": "PROJECT_BASE_URL", "api_key": "PROJECT_API_KEY"}
    variables |= {name: f"BRIDGE_{name.upper()}" for name in OWN}
    listed = []
    for project in found.projects:
        values = {
            "name": project.name,
            "base_url": project.base_url or None,
            "api_key": "set" if project.api_key.get_secret_value() else None,
            "channels": sorted(project.channels),
            **{name: getattr(project, name) or None for name in OWN},
            "repeat": list(project.repeat),
            "keys": [{"name": key.name, "who": list(key.who)} for key in project.keys],
        }
        sources = {name: file if value else "" for name, value in values.items()}
        if project.name == project.id:
            sources["name"] = "default"
        if project.id == DEFAULT:
            sources |= {name: known[variable] for name, variable in variables.items()}
        listed.append({"id": project.id, **values, "sources": sources})
    return listed


def tables_of(found: Config) -> dict[str, list[Value]]:
    """List what the file's `TABLES` set, each value with its source; rules and limits are numbered from 1."""
    listed: dict[str, list[Value]] = {}
    for kind in TABLES:
        tables = getattr(found, kind)
        items = tables.items() if isinstance(tables, Mapping) else enumerate(tables)
        listed[kind] = [one for key, table in items for one in _values_in(found, (kind, key), table)]
    return listed


def _values_in(found: Config, place: Place, given: object) -> Iterator[Value]:
    """Return what's set at a *place* in the file, and the defaults that count there."""
    if isinstance(given, Mapping):
        for key, value in given.items():
            yield from _values_in(found, (*place, key), value)
    elif not isinstance(given, TomlTable):
        listed = given if isinstance(given, tuple) else (given,)
        yield Value(path_of(place), ", ".join(_as_written(one) for one in listed), str(found.file))
    elif isinstance(given, RuleTable) and not given.model_fields_set:
        yield Value(path_of(place), in_words(Rule(), {}), str(found.file))
    else:
        for field, about in type(given).model_fields.items():
            value, at = getattr(given, field), (*place, about.alias or field)
            if field in given.model_fields_set:
                yield from _values_in(found, at, value)
            elif value:
                yield replace(next(_values_in(found, at, value)), source="default")


def _as_written(value: object) -> str:
    if isinstance(value, timedelta):
        return in_units(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def for_programs(processes: Mapping[str, InForce | None]) -> list[dict[str, Any]]:
    """Return what each process uses, for JSON."""
    return [{"name": name, "in_force": one and asdict(one)} for name, one in processes.items()]


async def _processes(values: Mapping[str, Any]) -> dict[str, InForce | None] | None:
    """Return what each running process uses; None if Redis can't be asked."""
    if not all(values.get(name) for name in ("REDIS_URL", "BRIDGE_NAMESPACE", "BRIDGE_DATA_DIR")):
        return None
    try:
        async with opened(values) as scripts:
            return await Reloads(scripts).reports(await running(scripts))
    except BridgeError:
        return None


def _table(settings: list[Value], projects: list[dict[str, Any]], found: Config | None) -> list[str]:
    rows = [(one.name, one.source, one.value or "not set") for one in settings]
    headings = {len(rows): "Projects"} if projects else {}
    for one in projects:
        values = {**one, **{name: ", ".join(one[name]) for name in ("channels", "repeat")}}
        values["keys"] = "; ".join(f"{key['name']} for {', '.join(key['who'])}" for key in one["keys"])
        rows += [
            (f"{one['id']}.{name}", place, values[name] or "not set")
            for name, place in one["sources"].items()
            if values[name] or name in _ALWAYS_SHOWN
        ]
    for kind, values_of in tables_of(found).items() if found else ():
        if values_of:
            headings[len(rows)] = kind.capitalize()
            rows += [(one.name, one.source, one.value or "not set") for one in values_of]
    form = "  " + form_for([(printable(name), printable(place), "") for name, place, _value in rows])
    file = f" ({found.file})" if found and found.file else ""
    lines = ["Settings"]
    for at, row in enumerate(rows):
        lines += ["", f"{headings[at]}{file}"] if at in headings else []
        lines.append(columns(form, *row))
    return lines


def _states(processes: Mapping[str, InForce | None] | None, found: Config | None) -> list[str]:
    lines = ["", "Processes"]
    if processes is None:
        return [*lines, "  ! Redis can't be asked what the running processes use; bridge check says why."]
    for name, one in processes.items():
        if one is None:
            lines.append(f"  ! {printable(name)}  hasn't reported what it uses")
            continue
        since = f"since {moment(datetime.fromtimestamp(one.since, UTC))}"
        what = f"an earlier configuration {since}: projects {', '.join(one.projects)}"
        if one.problems:
            lines += [f"  ✗ {printable(name)}  refused the new one, and still uses {what}", *_listed(one.problems)]
        elif found is None or one.revision != found.revision:
            lines.append(f"  ! {printable(name)}  uses {what}. Run bridge config reload to use this one.")
        else:
            lines.append(f"  {'!' if one.unknown else '✓'} {printable(name)}  uses this configuration {since}")
            lines += [*_listed(one.unknown), *_restart(one)]
    return lines if processes else [*lines, f"  {_NONE_RUNS}"]


def _answer(name: str, one: InForce | None) -> list[str]:
    if one is None:
        return [f"  ! {printable(name)}  didn't answer; its log may say why"]
    if one.problems:
        return [f"  ✗ {printable(name)}  refused it, and still uses the old one", *_listed(one.problems)]
    taken = f"  ✓ {printable(name)}  took it: projects {', '.join(one.projects)}"
    if one.unknown:
        taken = f"  ! {printable(name)}  took it, but {printable(one.unknown[0])}"
    return [taken, *_listed(one.unknown[1:]), *_listed(one.changed or ("nothing has changed",)), *_restart(one)]


def _restart(one: InForce) -> list[str]:
    changed, have = ", ".join(one.needs_restart), "have" if len(one.needs_restart) > 1 else "has"
    return _listed((f"{changed} {have} changed, too: restart it to use that",)) if changed else []


def _listed(problems: tuple[str, ...]) -> list[str]:
    return [f"      {printable(problem)}" for problem in problems]
