"""Run one command: its settings, its event loop, and its errors.

Exit codes: 0 done or stopped as requested, 1 couldn't run, 2 the settings or the command line are wrong.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import typer

from bridge.cli.printing import out
from bridge.cli.rows import trouble_lines
from bridge.config import Config, default_project, read_config
from bridge.errors import BridgeError, ConfigurationError
from bridge.metrics import Metrics
from bridge.queue.redis.refusals import Unexpected, unexpected
from bridge.settings import Settings, environment, load, well_formed
from bridge.slack.api import SlackWeb, opened

CANNOT_RUN = 1
WRONG_SETTINGS = 2

E = TypeVar("E", bound=Exception)
_A_FEW = 2


def values_or_exit(*needed: str) -> dict[str, Any]:
    """Return the settings by variable; exit with 2 if a variable that starts with any of *needed* has a problem."""
    try:
        environ = environment(os.environ, Path(".env"))
    except ConfigurationError as exc:
        raise typer.Exit(complain([exc])) from None
    problems = [line for line in problems_of(environ) if line.startswith(needed)]
    if problems:
        raise typer.Exit(complain([ConfigurationError(problems)]))
    return well_formed(environ)


def loaded(environ: Mapping[str, str], slips: Sequence[str] = ()) -> tuple[Settings, Config]:
    """Return the settings and the projects. Raises `ConfigurationError` with all problems, also of the file."""
    problems: list[str] = []
    try:
        settings = load(environ, slips)
    except ConfigurationError as exc:
        problems += exc.problems
    try:
        config = config_of(environ)
    except ConfigurationError as exc:
        problems += exc.problems
    if problems:
        raise ConfigurationError(problems)
    return settings, config


def config_of(environ: Mapping[str, str]) -> Config:
    """Read the operator's file, which may name variables of *environ*. Raises `ConfigurationError`.

    The default project is the one of the valid settings in *environ*.
    """
    values = well_formed(environ)
    return read_config(values.get("BRIDGE_CONFIG"), environ, default_project(values))


def problems_of(environ: Mapping[str, str], slips: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the lines that ``bridge serve`` would print about the settings and the operator's file, with *slips*."""
    try:
        loaded(environ, slips)
    except ConfigurationError as exc:
        return exc.problems
    return ()


def slack_of(values: Mapping[str, Any]) -> AbstractAsyncContextManager[SlackWeb]:
    """Open Slack's Web API with the bot token."""
    return opened(values["SLACK_API_URL"], values["SLACK_BOT_TOKEN"].get_secret_value(), Metrics())


def setup_hint(problems: Sequence[str]) -> list[str]:
    """Suggest `bridge setup` if so many settings are missing that nothing can have been set up yet."""
    is_new = len([line for line in problems if " is missing" in line]) > _A_FEW
    where = "" if Path(".env").exists() else "There's no .env in this folder. "
    hint = f"{where}Run bridge setup to fill these in, or bridge playground to try it without any of them."
    return [hint] if is_new else []


def run(main: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run *main*, on uvloop if it's installed; returns its exit code, or prints why it couldn't run."""
    try:
        new_loop: Callable[[], asyncio.AbstractEventLoop] = import_module("uvloop").new_event_loop
    except ImportError:  # Windows, PyPy
        new_loop = asyncio.new_event_loop
    troubles: list[BridgeError] = []
    code = 0
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            code = runner.run(main())
    except* BridgeError as group:  # also from a TaskGroup
        troubles.extend(_leaves(group))
    except* Unexpected as refused:  # what Redis says that nobody expected
        troubles.extend(unexpected(error) for error in _leaves(refused))
    return complain(troubles) if troubles else code


def _leaves(group: BaseExceptionGroup[E]) -> list[E]:
    leaves: list[E] = []
    for exc in group.exceptions:
        leaves.extend(_leaves(exc) if isinstance(exc, BaseExceptionGroup) else [exc])
    return leaves


def complain(troubles: list[BridgeError]) -> int:
    """Print *troubles*, and return the exit code."""
    for trouble in troubles:
        for line in trouble_lines(trouble):
            say(line)
    return WRONG_SETTINGS if any(isinstance(trouble, ConfigurationError) for trouble in troubles) else CANNOT_RUN


def say(line: str) -> None:
    """Write one line to standard error."""
    out(line.replace("\n", " "), err=True)
