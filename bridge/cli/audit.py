"""`bridge audit`: who did what, where and when, and with which outcome."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from bridge.cli.running import run
from bridge.cli.stored import EmbeddedRedis, stored_or_exit
from bridge.logs import configure


def audit(
    *,
    since: Annotated[str, typer.Option(help="How far back to look: 90m, 24h, 7d.")] = "7d",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    embedded_redis: EmbeddedRedis = False,
) -> None:
    """Show who did what, where and when, whether they might, and with which outcome; never what was said."""
    from bridge.ops.audit import TITLE, acts, line, to_json  # noqa: PLC0415 - see `serve`

    configure("console", "ERROR")
    beginning, stored = datetime.now(UTC) - length_of_time(since), stored_or_exit(embedded_redis=embedded_redis)

    async def show() -> int:
        shown = 0
        async with stored.address() as url:
            async for act in acts(url, stored.namespace, beginning):
                if not (shown or as_json):
                    typer.echo(TITLE)
                typer.echo(to_json(act) if as_json else line(act))
                shown += 1
        if not (shown or as_json):
            typer.echo("Nothing was done in this time, or it is kept no longer (BRIDGE_AUDIT_DAYS).")
        return 0

    raise typer.Exit(run(show))


def length_of_time(text: str) -> timedelta:
    """Read a length of time as the settings do."""
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415

    from bridge.setting_types import duration  # noqa: PLC0415

    shape = Annotated[timedelta, duration("d", upto=timedelta(days=3650))]
    try:
        length: timedelta = TypeAdapter(shape).validate_python(text)
    except ValidationError as exc:
        raise typer.BadParameter(str(exc.errors()[0]["ctx"]["error"]), param_hint="--since") from None
    return length
