"""`bridge stats`: the project's statistics, and what changed in them."""

from __future__ import annotations

import os
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bridge.cli.check import problems_of
from bridge.cli.running import complain, run
from bridge.cli.stored import EmbeddedRedis, Stored
from bridge.errors import ConfigurationError
from bridge.logs import configure
from bridge.settings import environment, well_formed

_NEEDED = ("PROJECT_", "REDIS_URL", "BRIDGE_NAMESPACE", "BRIDGE_DATA_DIR")


def stats(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    since: Annotated[str, typer.Option(help="Compare with then: 7d, 24h, 2026-11-01 (needs the bridge's Redis).")] = "",
    embedded_redis: EmbeddedRedis = False,
) -> None:
    """Show the project's statistics; with --since what changed, from the numbers that the bridge has kept."""
    from bridge.ops.stats import StatsSource, read, to_csv, to_json, to_text  # noqa: PLC0415 - see `serve`

    configure("console", "ERROR")
    if as_json and as_csv:
        raise typer.BadParameter("use --json or --csv, not both")
    now = datetime.now(UTC)
    moment, values = _moment(since, now), _values_or_exit()
    stored = Stored(values["BRIDGE_NAMESPACE"], values["REDIS_URL"], values["BRIDGE_DATA_DIR"])
    looks = moment is not None and (stored.url is not None or embedded_redis)

    async def show() -> int:
        async with stored.address() if looks else nullcontext("") as redis:
            key = values["PROJECT_API_KEY"].get_secret_value()
            source = StatsSource(values["PROJECT_BASE_URL"], key, redis, stored.namespace)
            compared = await read(source, moment, now)
        shown = to_csv(compared) if as_csv else to_text(compared, asked_since=moment is not None)
        typer.echo(to_json(compared) if as_json else shown)
        return 0

    raise typer.Exit(run(show))


def _moment(since: str, now: datetime) -> datetime | None:
    from bridge.features.stats.snapshots import moment_said  # noqa: PLC0415

    moment = moment_said(since, now) if since else None
    if since and moment is None:
        raise typer.BadParameter("use one like 7d, 24h or 2026-11-01, at most 400 days back", param_hint="--since")
    return moment


def _values_or_exit() -> dict[str, Any]:
    """Read the settings that matter here; where one of them has problems, print them and leave with 2."""
    try:
        environ = environment(os.environ, Path(".env"))
    except ConfigurationError as exc:
        raise typer.Exit(complain([exc])) from None
    problems = [line for line in problems_of(environ, embedded_redis=True) if line.startswith(_NEEDED)]
    if problems:
        raise typer.Exit(complain([ConfigurationError(problems)]))
    return well_formed(environ)
