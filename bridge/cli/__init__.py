"""The command line: one file per command, which imports what it needs only when it runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Final

import typer

from bridge import __version__
from bridge.cli.audit import audit
from bridge.cli.catch_up import catch_up
from bridge.cli.check import check
from bridge.cli.dead import dead
from bridge.cli.feedback import feedback
from bridge.cli.forget import forget
from bridge.cli.manifest import manifest
from bridge.cli.playground import playground
from bridge.cli.printing import out
from bridge.cli.reports import reports
from bridge.cli.serve import serve
from bridge.cli.setup import setup
from bridge.cli.status import status
from bridge.cli.trace import trace
from bridge.cli.usage import CommandGroup, ShellCommand, examples

_START, _WATCH, _FIX = "Start", "Watch", "Fix"
_COMMANDS: Final[tuple[tuple[str, Callable[..., None], tuple[str, ...]], ...]] = (
    (_START, setup, ("bridge setup", "bridge setup --url https://bridge.example.com")),
    (_START, playground, ("bridge playground", "bridge playground --port 9000 --socket")),
    (_START, serve, ("bridge serve", "bridge serve --embedded-redis")),
    (_START, manifest, ("bridge manifest --socket", "bridge manifest --url https://bridge.example.com")),
    (_WATCH, status, ("bridge status", "bridge status --json")),
    (_WATCH, audit, ("bridge audit --since 24h", "bridge audit --json")),
    (_WATCH, feedback, ("bridge feedback", "bridge feedback --since 30d")),
    (_FIX, check, ("bridge check", "bridge check --access U0123456789 C0123456789")),
    (_FIX, catch_up, ("bridge catch-up", "bridge catch-up --since 2h")),
    (_FIX, forget, ("bridge forget U0123456789",)),
    (
        _FIX,
        trace,
        (
            "bridge trace https://acme.slack.com/archives/C0123456789/p1700000000123456",
            "bridge trace C0123456789 1700000000.123456",
        ),
    ),
)


program = typer.Typer(
    name="bridge",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show local variables, and those hold tokens
    rich_markup_mode=None,  # plain help: frames cost width, and say <bool> after every flag
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it with the option's value
    if wanted:
        out(f"bridge {__version__}")
        raise typer.Exit


@program.callback()
def _common(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001 - handled by its callback
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Connect a Slack workspace to one project. Settings come from the environment and from .env."""
    if os.environ.get("NO_COLOR"):  # https://no-color.org
        context.color = False


for section, command, lines in _COMMANDS:
    program.command(cls=ShellCommand, rich_help_panel=section, epilog=examples(*lines))(command)
program.add_typer(reports, name="reports", rich_help_panel=_WATCH)
program.add_typer(dead, name="dead", rich_help_panel=_FIX)
