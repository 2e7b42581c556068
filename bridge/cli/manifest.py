"""`bridge manifest`: what Slack is told of the app."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.check import problems_of
from bridge.cli.running import complain
from bridge.errors import ConfigurationError
from bridge.settings import environment, well_formed


def manifest(
    *,
    url: Annotated[
        str, typer.Option("--url", metavar="URL", help="Where Slack reaches the bridge: https://bridge.example.com.")
    ] = "",
    socket: Annotated[bool, typer.Option("--socket", help="For Socket Mode: Slack need not reach the bridge.")] = False,
) -> None:
    """Print the Slack app manifest; only BRIDGE_COMMAND_PREFIX is read."""
    from bridge.features.registry import router  # noqa: PLC0415 - heavy, and this module is always imported
    from bridge.ops.manifest import manifest as made_of, where_slack_sends  # noqa: PLC0415

    try:
        target = where_slack_sends(url, socket=socket)
        made = made_of(router.slash_commands(_command_prefix()), target)
    except ConfigurationError as exc:
        raise typer.Exit(complain([exc])) from None
    typer.echo(json.dumps(made, indent=2))


def _command_prefix() -> str:
    """Read the one setting of the manifest, whatever is wrong with the others. Raises `ConfigurationError`."""
    environ = environment(os.environ, Path(".env"))
    values = well_formed(environ)
    if "BRIDGE_COMMAND_PREFIX" in values:
        return str(values["BRIDGE_COMMAND_PREFIX"])
    problems = problems_of(environ, embedded_redis=True)
    raise ConfigurationError([line for line in problems if line.startswith("BRIDGE_COMMAND_PREFIX ")])
