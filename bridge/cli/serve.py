"""`bridge serve`: the bridge itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.running import complain, run, say
from bridge.errors import ConfigurationError
from bridge.settings import environment, load, unknown_names


def serve(
    *,
    embedded_redis: Annotated[
        bool,
        typer.Option("--embedded-redis", help="Without REDIS_URL, run a Redis of one's own (one machine only)."),
    ] = False,
) -> None:
    """Run the bridge until SIGTERM or SIGINT."""
    try:
        environ = environment(os.environ, Path(".env"))
        for line in unknown_names(environ):
            say(f"warning: {line}")
        settings = load(environ, embedded_redis=embedded_redis)
    except ConfigurationError as exc:
        raise typer.Exit(complain([exc])) from None
    from bridge.app import serve as serve_bridge  # noqa: PLC0415 - saves 800 ms where the settings are wrong

    embedded = embedded_redis and settings.redis_url is None
    raise typer.Exit(run(lambda: serve_bridge(settings, embedded_redis=embedded)))
