"""The command line: one file for each command, which imports what it needs only when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from bridge import __version__
from bridge.cli.audit import audit
from bridge.cli.check import check
from bridge.cli.dead import dead
from bridge.cli.feedback import feedback
from bridge.cli.manifest import manifest
from bridge.cli.playground import playground
from bridge.cli.serve import serve
from bridge.cli.setup import setup
from bridge.cli.stats import stats
from bridge.cli.trace import trace

program = typer.Typer(
    name="bridge",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show local variables, and those hold tokens
)


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


for command in (setup, serve, playground, check, manifest, stats, audit, feedback, trace):
    program.command()(command)
program.add_typer(dead, name="dead")
