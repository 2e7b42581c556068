"""Help and errors of the command line: each error says what's wrong, and shows a working example."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from bridge.cli.printing import out
from bridge.cli.running import CANNOT_RUN, say

_CLOSE: Final = 0.7  # --since isn't close to --json


def examples(*lines: str) -> str:
    """Format the examples at the end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


class ShellCommand(TyperCommand):
    """Shows arguments as ``PERMALINK``, without braces, types and ranges."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the usage line after the command's name."""
        return [re.sub(r"[{}]|\.\.\.$", "", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options."""
        params: list[Any] = self.get_params(ctx)
        arguments = [(one.metavar, one.help) for one in params if one.param_type_name == "argument"]
        options = [one.get_help_record(ctx) for one in params if one.param_type_name == "option"]
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Add the command to each error; some of Typer's lack it."""
        try:
            return super().parse_args(ctx, args)
        except TyperException as exc:
            if getattr(exc, "ctx", None) is None:
                vars(exc)["ctx"] = ctx
            raise


class CommandGroup(TyperGroup):
    """Lists its commands in sections, and explains errors."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as Typer calls it
        """Write each section of the help."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            title = str(getattr(command, "rich_help_panel", None) or "Commands")
            sections.setdefault(title, []).append((name, command.get_short_help_str(limit=100)))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, or suggest one."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            near = get_close_matches(args[0], self.commands, 1)
            guess = f" Did you mean {ctx.command_path} {near[0]}?" if near else ""
            ctx.fail(f"“{args[0]}” isn't a {ctx.command_path} command.{guess}")
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command; exit with its code, or explain what's wrong with the command line."""
        try:
            code = super().main(*args, **{**kwargs, "standalone_mode": False})
        except TyperException as exc:
            if type(exc).__name__ == "NoArgsIsHelpError":
                out(exc.format_message(), err=True)
            else:
                for line in _explained(exc):
                    say(line)
            sys.exit(exc.exit_code)
        except typer.Abort:
            say("Stopped.")
            sys.exit(CANNOT_RUN)
        sys.exit(code)


def _explained(exc: Any) -> list[str]:
    """Return lines that say what's wrong, show an example, and name the help command."""
    context = exc.ctx
    path = context.command_path
    message, option = exc.message, getattr(exc, "option_name", "")
    params = context.command.params
    match type(exc).__name__:
        case "MissingParameter":
            message = f"{path} needs {'an' if exc.param.metavar[0] in 'AEIO' else 'a'} {exc.param.metavar}."
        case "NoSuchOption":
            near = get_close_matches(option, exc.possibilities or (), 1, _CLOSE)
            guess = f" Did you mean {near[0]}?" if near else ""
            message = f"{path} has no option {option}.{guess}"
        case "BadOptionUsage" if "requires" in message:
            [metavar] = [param.metavar for param in params if option in param.opts]
            message = f"{option} is incomplete: use {option} {metavar}."
        case "BadParameter" if exc.param_hint:
            message = f"{exc.param_hint} {message}"
        case "BadOptionUsage":
            message = f"{option} doesn't take a value."
        case _ if extra := re.fullmatch(r"Got unexpected extra argument\(s\) \((.*)\)", message):
            message = f"{path} doesn't take “{extra[1]}”."
    shown = re.findall(r"^  (bridge .+)$", context.command.epilog or "", re.MULTILINE)
    hint = exc.param_hint if isinstance(getattr(exc, "param_hint", None), str) else option
    fitting = [line for line in shown if hint and hint in line] or shown
    return [
        message.rstrip(".") + ("" if message.endswith("?") else "."),
        *(f"Example: {line}" for line in fitting[:1]),
        f"Help: {path} --help",
    ]
