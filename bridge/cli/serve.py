"""`bridge serve`: the bridge itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.running import complain, config_of, loaded, run, say, setup_hint
from bridge.config import Config
from bridge.errors import ConfigurationError
from bridge.settings import environment, unknown_names


def serve(
    *,
    embedded_redis: Annotated[
        bool,
        typer.Option("--embedded-redis", help="Run an embedded Redis if REDIS_URL isn't set (one machine only)."),
    ] = False,
) -> None:
    """Run the bridge.

    SIGTERM and SIGINT stop it; running work gets up to BRIDGE_DRAIN_SECONDS to finish. SIGHUP reloads the operator's
    file.
    """
    slips: list[str] = []
    try:
        environ = environment(os.environ, Path(".env"), embedded_redis=embedded_redis, slips=slips)
        for line in unknown_names(environ):
            say(f"warning: {line}")
        settings = loaded(environ, slips)
    except ConfigurationError as exc:
        code = complain([exc])
        for line in setup_hint(exc.problems):
            say(line)
        raise typer.Exit(code) from None

    def read_again() -> Config:
        return config_of(environment(os.environ, Path(".env")), settings)

    from bridge.app import serve as serve_bridge  # noqa: PLC0415 - saves 800 ms if the settings are wrong

    raise typer.Exit(run(lambda: serve_bridge(settings, read_again)))
