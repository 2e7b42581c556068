"""The command line: one file per command, imported when the command is used."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from bridge import __version__
from bridge.cli.importing import importing
from bridge.cli.printing import out, printable

COMMANDS: Final = {
    "setup": "Set up Slack, the project and Redis, and write .env.",
    "playground": "Try the bridge in a browser, without an account.",
    "serve": "Run the bridge.",
    "manifest": "Print the Slack app manifest.",
    "status": "Show what each process is doing.",
    "audit": "Show who did what, where and when.",
    "export": "Print everything that people have set up, as JSON lines.",
    "import": "Set up what bridge export printed.",
    "check": "Check the settings, Slack, Redis and the project.",
    "config": "Show where settings come from, or reload the projects.",
    "catch-up": "Find and answer messages missed in an outage.",
    "forget": "Erase what is stored about a person.",
    "trace": "Show what happened to one Slack message.",
    "dead": "List, retry or discard work that couldn't be finished.",
}
"""The commands with the first sentences of their docstrings, so that listing them imports none: that takes seconds."""


def command_of(name: str) -> Any:
    """Import a command from its module: a function, or an app with subcommands."""
    module = "export" if name == "import" else name.replace("-", "_")
    with importing():
        command = getattr(import_module(f"{__name__}.{module}"), "imports" if name == "import" else module)
    if not isinstance(command, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name)(command)
        command = app
    return typer.main.get_command(command)


class LazyGroup(TyperGroup):
    """Imports a command when it's used; see *Lazily Loading Subcommands* in Click's documentation."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=sentence) for name, sentence in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command to run."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, command_of(str(name)), rest

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command. Errors quote what was typed, so they are printed like everything else."""
        try:
            code = super().main(*args, **{**kwargs, "standalone_mode": False})
        except TyperException as exc:
            error: Any = exc
            if type(exc).__name__ != "NoArgsIsHelpError":
                exc.message = printable(exc.message)
            error.show()
            code = exc.exit_code
        sys.exit(code)


program = typer.Typer(
    name="bridge",
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show local variables, and those hold tokens
    rich_markup_mode=None,  # plain help: frames cost width
    context_settings={"help_option_names": ["--help", "-h"]},
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
    """Connect a Slack workspace to one or more projects. Settings are in the environment, .env and bridge.toml."""
    if os.environ.get("NO_COLOR"):  # https://no-color.org
        context.color = False
