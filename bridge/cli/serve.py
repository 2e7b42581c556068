"""`bridge serve`: the bridge itself."""

from __future__ import annotations

from typing import Annotated

import typer

from bridge.cli.running import run, settings_or_exit


def serve(
    *,
    embedded_redis: Annotated[
        bool,
        typer.Option("--embedded-redis", help="Without REDIS_URL, run a Redis of one's own (one machine only)."),
    ] = False,
) -> None:
    """Run the bridge until SIGTERM or SIGINT."""
    settings = settings_or_exit(embedded_redis=embedded_redis)
    from bridge.app import serve as serve_bridge  # noqa: PLC0415 - --help and bad settings need none of it

    embedded = embedded_redis and settings.redis_url is None
    raise typer.Exit(run(lambda: serve_bridge(settings, embedded_redis=embedded)))
