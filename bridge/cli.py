"""The command line: reads the settings, starts the bridge, and says in single lines why it could not.

Exit codes: 0 stopped as asked, 1 could not run, 2 the settings or the command line are wrong.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from bridge import __version__
from bridge.errors import BridgeError, ConfigurationError, NamespaceTaken, SlackError, SlackGone, StoreUnavailable
from bridge.settings import Settings, environment, load, unknown_names

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
