"""`bridge check`: whether all that is configured holds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bridge.cli.running import CANNOT_RUN, complain, run
from bridge.errors import ConfigurationError
from bridge.logs import configure
from bridge.settings import environment, load, unknown_names, well_formed

_OF_ACCESS = ("SLACK_BOT_TOKEN", "SLACK_API_URL", "BRIDGE_ALLOWED_", "BRIDGE_RUNNERS")


def check(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of the table.")] = False,
    embedded_redis: Annotated[
        bool, typer.Option("--embedded-redis", help="Without REDIS_URL, look at the Redis that serve would run.")
    ] = False,
    access: Annotated[
        tuple[str, str] | None,
        typer.Option("--access", metavar="USER CHANNEL", help="Say what this person (U…) may do in this channel (C…)."),
    ] = None,
) -> None:
    """Probe all that is configured and say what to mend; exit code 0 or 1."""
    from bridge.ops.check import check as probe, what_is_configured  # noqa: PLC0415 - see `serve`
    from bridge.ops.rows import is_well, settings_rows, table, to_json  # noqa: PLC0415

    configure("console", "ERROR")  # what goes wrong is shown in a row
    if access is not None:
        raise typer.Exit(_check_access(*access, as_json=as_json))
    values, problems, warnings = _settings_as_they_are(embedded_redis=embedded_redis)
    to_probe, rows = what_is_configured(values, embedded_redis=embedded_redis), settings_rows(problems, warnings)

    async def look() -> int:
        rows.extend(await probe(to_probe, now=lambda: datetime.now(UTC)))
        typer.echo(to_json(rows) if as_json else table(rows))
        return 0 if is_well(rows) else CANNOT_RUN

    raise typer.Exit(run(look))


def _check_access(user: str, channel: str, *, as_json: bool) -> int:
    """Say what *user* may do in *channel*, by the settings and what Slack says of both; gives the exit code."""
    from bridge.ops.access import access_of, check_ids, rules_of  # noqa: PLC0415 - see `serve`
    from bridge.ops.rows import is_well, settings_rows, table, to_json  # noqa: PLC0415

    try:
        check_ids(user, channel)
    except ConfigurationError as exc:
        return complain([exc])
    values, problems, _ = _settings_as_they_are(embedded_redis=True)
    url, token, rules = values.get("SLACK_API_URL"), values.get("SLACK_BOT_TOKEN"), rules_of(values)

    async def look() -> int:
        if url is None or token is None or rules is None:
            rows = settings_rows([line for line in problems if line.startswith(_OF_ACCESS)], [])
        else:
            rows = await access_of(url, token.get_secret_value(), rules, user=user, channel=channel)
        typer.echo(to_json(rows) if as_json else table(rows))
        return 0 if is_well(rows) else CANNOT_RUN

    return run(look)


def _settings_as_they_are(*, embedded_redis: bool) -> tuple[dict[str, Any], tuple[str, ...], list[str]]:
    """Read what can be read; gives the values by variable, the problems, and the warnings."""
    try:
        environ = environment(os.environ, Path(".env"))
    except ConfigurationError as exc:  # the file
        return well_formed(os.environ), exc.problems, []
    return well_formed(environ), problems_of(environ, embedded_redis=embedded_redis), unknown_names(environ)


def problems_of(environ: Mapping[str, str], *, embedded_redis: bool) -> tuple[str, ...]:
    """Give the lines that ``bridge serve`` would print, none where all is well."""
    try:
        load(environ, embedded_redis=embedded_redis)
    except ConfigurationError as exc:
        return exc.problems
    return ()
