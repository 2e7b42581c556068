"""The command line: reads the settings, starts the bridge, and says in single lines why it could not.

Exit codes: 0 stopped as asked, 1 could not run, 2 the settings or the command line are wrong.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from bridge import __version__
from bridge.errors import BridgeError, ConfigurationError, NamespaceTaken, SlackError, SlackGone, StoreUnavailable
from bridge.logs import configure
from bridge.settings import Settings, environment, load, unknown_names, well_formed

CANNOT_RUN = 1
WRONG_SETTINGS = 2

program = typer.Typer(
    name="bridge",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show local variables, and those hold tokens
)


def main() -> None:
    """Run the command line of this process."""
    program()


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it with the option's value
    if wanted:
        typer.echo(f"bridge {__version__}")
        raise typer.Exit


@program.callback()
def _common(
    *,
    version: Annotated[  # dealt with by its callback
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Connect a Slack workspace with one project; the settings come from the environment and from .env."""


@program.command()
def serve(
    *,
    embedded_redis: Annotated[
        bool,
        typer.Option("--embedded-redis", help="Without REDIS_URL, run a Redis of one's own (one machine only)."),
    ] = False,
) -> None:
    """Run the bridge until SIGTERM or SIGINT."""
    settings = settings_or_exit(embedded_redis=embedded_redis)
    from bridge.app import serve as serve_bridge  # noqa: PLC0415 - --help and bad settings need none of it

    embedded = embedded_redis and settings.redis_url is None
    raise typer.Exit(run(lambda: serve_bridge(settings, embedded_redis=embedded)))


@program.command()
def manifest(
    *,
    url: Annotated[
        str, typer.Option("--url", metavar="URL", help="Where Slack reaches the bridge: https://bridge.example.com.")
    ] = "",
    socket: Annotated[bool, typer.Option("--socket", help="For Socket Mode: Slack need not reach the bridge.")] = False,
) -> None:
    """Print the Slack app manifest; only BRIDGE_COMMAND_PREFIX is read."""
    from bridge.commands import router  # noqa: PLC0415 - see `serve`
    from bridge.ops.manifest import manifest as made_of, where_slack_sends  # noqa: PLC0415

    try:
        target = where_slack_sends(url, socket=socket)
        made = made_of(router.slash_commands(_command_prefix()), target)
    except ConfigurationError as exc:
        raise typer.Exit(_complain([exc])) from None
    typer.echo(json.dumps(made, indent=2))


@program.command()
def check(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of the table.")] = False,
    embedded_redis: Annotated[
        bool, typer.Option("--embedded-redis", help="Without REDIS_URL, look at the Redis that serve would run.")
    ] = False,
) -> None:
    """Probe all that is configured and say what to mend; exit code 0 or 1."""
    from bridge.ops.check import check as probe, what_is_configured  # noqa: PLC0415 - see `serve`
    from bridge.ops.rows import is_well, settings_rows, table, to_json  # noqa: PLC0415

    configure("console", "ERROR")  # what goes wrong is shown in a row
    values, problems, warnings = _settings_as_they_are(embedded_redis=embedded_redis)
    to_probe, rows = what_is_configured(values, embedded_redis=embedded_redis), settings_rows(problems, warnings)

    async def look() -> int:
        rows.extend(await probe(to_probe, now=lambda: datetime.now(UTC)))
        typer.echo(to_json(rows) if as_json else table(rows))
        return 0 if is_well(rows) else CANNOT_RUN

    raise typer.Exit(run(look))


def _settings_as_they_are(*, embedded_redis: bool) -> tuple[dict[str, Any], tuple[str, ...], list[str]]:
    """Read what can be read; gives the values by variable, the problems, and the warnings."""
    try:
        environ = environment(os.environ, Path(".env"))
    except ConfigurationError as exc:  # the file
        return well_formed(os.environ), exc.problems, []
    return well_formed(environ), _problems(environ, embedded_redis=embedded_redis), unknown_names(environ)


def _problems(environ: Mapping[str, str], *, embedded_redis: bool) -> tuple[str, ...]:
    try:
        load(environ, embedded_redis=embedded_redis)
    except ConfigurationError as exc:
        return exc.problems
    return ()


def _command_prefix() -> str:
    """Read the one setting of the manifest, whatever is wrong with the others. Raises `ConfigurationError`."""
    environ = environment(os.environ, Path(".env"))
    values = well_formed(environ)
    if "BRIDGE_COMMAND_PREFIX" in values:
        return str(values["BRIDGE_COMMAND_PREFIX"])
    problems = _problems(environ, embedded_redis=True)
    raise ConfigurationError([line for line in problems if line.startswith("BRIDGE_COMMAND_PREFIX ")])


def settings_or_exit(*, embedded_redis: bool) -> Settings:
    """Read the settings; where they have problems, print them and leave with 2."""
    try:
        environ = environment(os.environ, Path(".env"))
        for line in unknown_names(environ):
            _say(f"warning: {line}")
        return load(environ, embedded_redis=embedded_redis)
    except ConfigurationError as exc:
        raise typer.Exit(_complain([exc])) from None


def run(main: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run *main* on the fastest loop there is; gives its exit code, or says why it could not run."""
    troubles: list[BridgeError] = []
    code = 0
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            code = runner.run(main())
    except* BridgeError as group:  # also out of a TaskGroup
        troubles.extend(_leaves(group))
    return _complain(troubles) if troubles else code


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        factory: Callable[[], asyncio.AbstractEventLoop] = import_module("uvloop").new_event_loop
    except ImportError:  # Windows, PyPy
        return asyncio.new_event_loop
    return factory


def _leaves(group: BaseExceptionGroup[BridgeError]) -> list[BridgeError]:
    found: list[BridgeError] = []
    for exc in group.exceptions:
        found.extend(_leaves(exc) if isinstance(exc, BaseExceptionGroup) else [exc])
    return found


def _complain(troubles: list[BridgeError]) -> int:
    for trouble in troubles:
        for line in trouble_lines(trouble):
            _say(line)
    return WRONG_SETTINGS if any(isinstance(trouble, ConfigurationError) for trouble in troubles) else CANNOT_RUN


def trouble_lines(trouble: BridgeError) -> tuple[str, ...]:
    """Say in single lines, to the operator, why the bridge does not run."""
    match trouble:
        case ConfigurationError():
            return trouble.problems
        case StoreUnavailable():
            return (f"bridge cannot run: Redis is of no use ({trouble.reason}); look at it, and at REDIS_URL",)
        case NamespaceTaken():
            return (f"bridge cannot run: the namespace {trouble}; set BRIDGE_NAMESPACE to another name",)
        case SlackGone():
            return (f"bridge ends: {trouble.detail}; start it again, and look at Slack's status",)
        case SlackError(method="apps.connections.open"):
            return (f"bridge cannot run: Slack did not accept {trouble}; look at SLACK_APP_TOKEN (xapp-…)",)
        case SlackError():
            return (f"bridge cannot run: Slack did not accept {trouble}; look at SLACK_BOT_TOKEN",)
        case _:
            return (f"bridge cannot run: {type(trouble).__name__}: {trouble}",)


def _say(line: str) -> None:
    sys.stderr.write(line.replace("\n", " ") + "\n")
