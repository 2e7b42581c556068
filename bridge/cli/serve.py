"""`bridge serve`: the bridge itself."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.importing import importing
from bridge.cli.running import complain, loaded, run, say, setup_hint
from bridge.config import Config
from bridge.errors import ConfigurationError
from bridge.settings import environment, needs_restart, unknown_variables


def serve(
    *,
    embedded_redis: Annotated[
        bool,
        typer.Option("--embedded-redis", help="Run an embedded Redis if REDIS_URL isn't set (one machine only)."),
    ] = False,
) -> None:
    """Run the bridge.

    SIGTERM and SIGINT stop it; running work gets up to BRIDGE_DRAIN_SECONDS to finish, and a second SIGINT ends it at
    once. SIGHUP has it read the projects again, as `bridge config reload` does.
    """
    slips: list[str] = []
    try:
        environ = environment(os.environ, Path(".env"), embedded_redis=embedded_redis, slips=slips)
        for line in unknown_variables(environ):
            say(f"warning: {line}")
        settings, _config = loaded(environ, slips)
    except ConfigurationError as exc:
        code = complain([exc])
        for line in setup_hint(exc.problems):
            say(line)
        raise typer.Exit(code) from None

    def read_again() -> Config:
        now, config = loaded(environment(os.environ, Path(".env"), embedded_redis=embedded_redis))
        return replace(config, needs_restart=needs_restart(settings, now))

    os.environ |= {name: value for name, value in environ.items() if name.startswith("OTEL_")}  # for its SDK
    with importing():
        from bridge.app import serve as serve_bridge  # noqa: PLC0415 - saves 800 ms if the settings are wrong

    raise typer.Exit(run(lambda: serve_bridge(settings, read_again)))
