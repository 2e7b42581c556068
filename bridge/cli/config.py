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
from typing import Any, Final

import typer
from pydantic import SecretStr

from bridge.cli.printing import columns, form_for, moment, out, printable, to_json
from bridge.cli.running import CANNOT_RUN, WRONG_SETTINGS, complain, config_of, problems_of, run, say
from bridge.cli.store import JsonOption, in_store, opened
from bridge.config import OWN, TABLES, Config, KeyPath, ProjectKey, path_of
from bridge.config_tables import RuleTable, TomlTable
from bridge.errors import BridgeError, ConfigurationError
from bridge.logs import configure
from bridge.names.amounts import in_units
from bridge.policy.rules import Rule
from bridge.policy.words import in_words
from bridge.project.connection import DEFAULT
from bridge.queue.reloads import InForce, Reloads
from bridge.queue.scripting import Scripts
from bridge.queue.status import running
from bridge.settings import Settings, environment, origins, well_formed

_ANSWERED_IN: Final = 15.0  # seconds; a process looks every second
_LOOK_AGAIN: Final = 0.2  # seconds
_OF_A_PROJECT: Final = ("name", "base_url", "api_key", "channels", *OWN, "repeat", "keys")
_ALWAYS_SHOWN: Final = _OF_A_PROJECT[:4]  # though not set
_OF_THE_DEFAULT: Final = {"base_url": "PROJECT_BASE_URL", "api_key": "PROJECT_API_KEY"} | {
    name: f"BRIDGE_{name.upper()}" for name in OWN
}
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
    config: Config | None = None
    try:
        environ = environment(os.environ, Path(".env"), slips=slips)
        set_in = origins(os.environ, Path(".env"))
    except ConfigurationError as exc:
        raise typer.Exit(complain([exc])) from None
    problems = problems_of(environ, slips)
    with suppress(ConfigurationError):  # it's among the problems
        config = config_of(environ)
    sections = {"settings": settings_of(environ, set_in)}
    sections |= tables_of(config, sections["settings"]) if config else {kind: [] for kind in ("projects", *TABLES)}
    file = str(config.file) if config and config.file else None

    async def show() -> int:
        values = well_formed(environ)
        processes: dict[str, InForce | None] | None = None  # if Redis can't be asked
        if all(values.get(name) for name in ("REDIS_URL", "BRIDGE_NAMESPACE", "BRIDGE_DATA_DIR")):
            with suppress(BridgeError):
                async with opened(values) as scripts:
                    processes = await Reloads(scripts).reports(await running(scripts))
        if as_json:
            used = None if processes is None else for_programs(processes)
            out(
                to_json(
                    {"ok": not problems, "problems": problems, "file": file, **sections, "processes": used}, indent=2
                )
            )
        else:
            out("\n".join([*_table(sections, file), *_states(processes, config)]), signs=True)
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
            answered = {name: used for name, used in reports.items() if used and used.request == request}
            if len(answered) == len(reports) or time.monotonic() > until:
                break
            await asyncio.sleep(_LOOK_AGAIN)
        refused = [name for name, used in answered.items() if used.problems]
        unknown = any(used.unknown for used in answered.values())
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


def settings_of(environ: Mapping[str, str], set_in: Mapping[str, str]) -> list[Value]:
    """List the settings in *environ*; *set_in* says where variables are set."""
    values, listed = well_formed(environ), []
    for name, field in ((str(field.alias), field) for field in Settings.model_fields.values()):
        value = values.get(name)
        variable = next((known for known in (name, f"{name}_FILE") if known in environ), "")
        source = ", ".join([variable] * (variable != name) + [set_in.get(variable, "--embedded-redis")])
        if value is None and variable:
            shown: str | None = "invalid"
        elif variable == name and not isinstance(value, SecretStr):
            shown = environ[name].strip()
        else:
            shown = _in_words(value) if variable or not isinstance(value, timedelta) else field.default
        listed.append(Value(name, shown or None, source if variable else "default" if shown else ""))
    return listed


def tables_of(config: Config, settings: list[Value]) -> dict[str, list[Value]]:
    """List what the projects have, and what the file's `TABLES` set; rules and limits are numbered from 1."""
    of_default = {setting.name: setting for setting in settings}
    listed: dict[str, list[Value]] = {"projects": []}
    for project in config.projects:
        for name in _OF_A_PROJECT:
            value = Value(f"{project.id}.{name}", _in_words(getattr(project, name)) or None, str(config.file))
            if project.id == DEFAULT and name in _OF_THE_DEFAULT:
                value = replace(of_default[_OF_THE_DEFAULT[name]], name=value.name)
            elif name == "name" and project.name == project.id:
                value = replace(value, source="default")
            if value.value or name in _ALWAYS_SHOWN:
                listed["projects"].append(value if value.value else replace(value, source=""))
    for kind in TABLES:
        tables = getattr(config, kind)
        items = tables.items() if isinstance(tables, Mapping) else enumerate(tables)
        listed[kind] = [value for key, table in items for value in _values_in(config, (kind, key), table)]
    return listed


def _values_in(config: Config, key_path: KeyPath, node: object) -> Iterator[Value]:
    """Return what's set at a *key_path* in the file, and the defaults that count there."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from _values_in(config, (*key_path, key), value)
    elif not isinstance(node, TomlTable):
        yield Value(path_of(key_path), _in_words(node), str(config.file))
    elif isinstance(node, RuleTable) and not node.model_fields_set:
        yield Value(path_of(key_path), in_words(Rule(), {}), str(config.file))
    else:
        for field, about in type(node).model_fields.items():
            value, at = getattr(node, field), (*key_path, about.alias or field)
            if field in node.model_fields_set:
                yield from _values_in(config, at, value)
            elif value:
                yield replace(next(_values_in(config, at, value)), source="default")


def _in_words(value: object) -> str:
    """Return a value as it's written in the file, without secrets; ``""`` if it isn't set."""
    match value:
        case None:
            return ""
        case SecretStr():
            return "set" if value.get_secret_value() else ""
        case ProjectKey():
            return f"{value.name} for {', '.join(value.who)}"
        case tuple() | frozenset():
            listed = value if isinstance(value, tuple) else sorted(value)
            return ("; " if any(isinstance(item, ProjectKey) for item in listed) else ", ").join(map(_in_words, listed))
        case timedelta():
            return in_units(value)
        case bool():
            return str(value).lower()
    return str(value)


def for_programs(processes: Mapping[str, InForce | None]) -> list[dict[str, Any]]:
    """Return what each process uses, for JSON."""
    return [{"name": name, "in_force": used and asdict(used)} for name, used in processes.items()]


def _table(sections: Mapping[str, list[Value]], file: str | None) -> list[str]:
    rows = {
        title: [(value.name, value.source, value.value or "not set") for value in values]
        for title, values in sections.items()
        if values
    }
    names = [(printable(name), printable(set_in), "") for listed in rows.values() for name, set_in, _value in listed]
    form, lines = f"  {form_for(names)}", list[str]()
    for title, listed in rows.items():
        lines += ["", f"{title.capitalize()} ({file})" if file and lines else title.capitalize()]
        lines += [columns(form, *row) for row in listed]
    return lines[1:]


def _states(processes: Mapping[str, InForce | None] | None, config: Config | None) -> list[str]:
    lines = ["", "Processes"]
    if processes is None:
        return [*lines, "  ! Redis can't be asked what the running processes use; bridge check says why."]
    for name, used in processes.items():
        if used is None:
            lines += _lines("!", name, "hasn't reported what it uses")
            continue
        since = f"since {moment(datetime.fromtimestamp(used.since, UTC))}"
        earlier = f"an earlier configuration {since}: projects {', '.join(used.projects)}"
        if used.problems:
            lines += _lines("✗", name, f"refused the new one, and still uses {earlier}", *used.problems)
        elif config is None or used.revision != config.revision:
            lines += _lines("!", name, f"uses {earlier}. Run bridge config reload to use this one.")
        else:
            notes = (*used.unknown, *_restart(used))
            lines += _lines("!" if used.unknown else "✓", name, f"uses this configuration {since}", *notes)
    return lines if processes else [*lines, f"  {_NONE_RUNS}"]


def _answer(name: str, used: InForce | None) -> list[str]:
    if used is None:
        return _lines("!", name, "didn't answer; its log may say why")
    if used.problems:
        return _lines("✗", name, "refused it, and still uses the old one", *used.problems)
    notes = (*used.unknown[1:], *(used.changed or ("nothing has changed",)), *_restart(used))
    if used.unknown:
        return _lines("!", name, f"took it, but {used.unknown[0]}", *notes)
    return _lines("✓", name, f"took it: projects {', '.join(used.projects)}", *notes)


def _restart(used: InForce) -> list[str]:
    changed, have = ", ".join(used.needs_restart), "have" if len(used.needs_restart) > 1 else "has"
    return [f"{changed} {have} changed, too: restart it to use that"] if changed else []


def _lines(sign: str, name: str, state: str, *notes: str) -> list[str]:
    return [f"  {sign} {printable(name)}  {printable(state)}", *(f"      {printable(note)}" for note in notes)]
