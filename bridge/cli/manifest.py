"""`bridge manifest`: what Slack is told of the app."""

from __future__ import annotations

from typing import Annotated

import typer

from bridge.cli.printing import to_json
from bridge.cli.running import complain, values_or_exit
from bridge.errors import ConfigurationError


def manifest(
    *,
    url: Annotated[
        str, typer.Option("--url", metavar="URL", help="Where Slack reaches the bridge: https://bridge.example.com.")
    ] = "",
    socket: Annotated[bool, typer.Option("--socket", help="For Socket Mode: Slack need not reach the bridge.")] = False,
) -> None:
    """Print the Slack app manifest; only BRIDGE_COMMAND_PREFIX is read."""
    from bridge.features.registry import features  # noqa: PLC0415 - both: 500 ms
    from bridge.ops.manifest import manifest as made_of, where_slack_sends  # noqa: PLC0415

    try:
        target = where_slack_sends(url, socket=socket)
    except ConfigurationError as exc:
        raise typer.Exit(complain([exc])) from None
    prefix = values_or_exit("BRIDGE_COMMAND_PREFIX ", embedded_redis=True)["BRIDGE_COMMAND_PREFIX"]
    typer.echo(to_json(made_of(features.slash_commands(prefix), target), indent=2))
