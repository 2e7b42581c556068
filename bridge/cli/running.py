"""Running one command: with which settings, on which loop, and what is said where it cannot run.

Exit codes: 0 done or stopped as asked, 1 could not run, 2 the settings or the command line are wrong.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from bridge.errors import (
    BridgeError,
    ConfigurationError,
    NamespaceTaken,
    ProjectError,
    SlackError,
    SlackGone,
    StoreUnavailable,
)
from bridge.settings import environment, load, well_formed

CANNOT_RUN = 1
WRONG_SETTINGS = 2


def values_or_exit(*needed: str, embedded_redis: bool) -> dict[str, Any]:
    """Read the settings, by variable; where one that begins as *needed* has a problem, print it and leave with 2."""
    try:
        environ = environment(os.environ, Path(".env"))
    except ConfigurationError as exc:
        raise typer.Exit(complain([exc])) from None
    problems = [line for line in problems_of(environ, embedded_redis=embedded_redis) if line.startswith(needed)]
    if problems:
        raise typer.Exit(complain([ConfigurationError(problems)]))
    return well_formed(environ)


def problems_of(environ: Mapping[str, str], *, embedded_redis: bool) -> tuple[str, ...]:
    """Give the lines that ``bridge serve`` would print, none where all is well."""
    try:
        load(environ, embedded_redis=embedded_redis)
    except ConfigurationError as exc:
        return exc.problems
    return ()


def run(main: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run *main* on the fastest loop there is; gives its exit code, or says why it could not run."""
    try:
        new_loop: Callable[[], asyncio.AbstractEventLoop] = import_module("uvloop").new_event_loop
    except ImportError:  # Windows, PyPy
        new_loop = asyncio.new_event_loop
    troubles: list[BridgeError] = []
    code = 0
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            code = runner.run(main())
    except* BridgeError as group:  # also out of a TaskGroup
        troubles.extend(_leaves(group))
    return complain(troubles) if troubles else code


def _leaves(group: BaseExceptionGroup[BridgeError]) -> list[BridgeError]:
    found: list[BridgeError] = []
    for exc in group.exceptions:
        found.extend(_leaves(exc) if isinstance(exc, BaseExceptionGroup) else [exc])
    return found


def complain(troubles: list[BridgeError]) -> int:
    """Say each of *troubles* in lines of its own; gives the exit code."""
    for trouble in troubles:
        for line in trouble_lines(trouble):
            say(line)
    return WRONG_SETTINGS if any(isinstance(trouble, ConfigurationError) for trouble in troubles) else CANNOT_RUN


def trouble_lines(trouble: BridgeError) -> tuple[str, ...]:
    """Say in single lines, to the operator, why the bridge does not run."""
    match trouble:
        case ConfigurationError():
            return trouble.problems
        case StoreUnavailable():
            return (f"bridge can't run: Redis is unusable ({trouble.reason}); check it and REDIS_URL",)
        case NamespaceTaken():
            return (f"bridge can't run: the namespace {trouble}; set BRIDGE_NAMESPACE to another name",)
        case SlackGone():
            return (f"bridge stopped: {trouble.detail}; restart it, and check Slack's status",)
        case SlackError(method="apps.connections.open"):
            return (f"bridge can't run: Slack rejected {trouble}; check SLACK_APP_TOKEN (xapp-…)",)
        case SlackError():
            return (f"bridge can't run: Slack rejected {trouble}; check SLACK_BOT_TOKEN",)
        case ProjectError():
            return (f"the project service isn't responding ({type(trouble).__name__}: {trouble}); run bridge check",)
        case _:
            return (f"bridge can't run: {type(trouble).__name__}: {trouble}",)


def say(line: str) -> None:
    """Write one line to standard error."""
    sys.stderr.write(line.replace("\n", " ") + "\n")
