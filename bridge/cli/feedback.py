"""`bridge feedback`: what people think of the answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from bridge.cli.audit import length_of_time
from bridge.cli.running import run
from bridge.cli.stored import EmbeddedRedis, stored_or_exit
from bridge.logs import configure


def feedback(
    *,
    since: Annotated[str, typer.Option(help="How far back to look: 90m, 24h, 7d.")] = "7d",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    embedded_redis: EmbeddedRedis = False,
) -> None:
    """Show what people think of the answers: for each agent and, with --json, each vote; never what was said."""
    from bridge.features.feedback.table import table, to_json, votes  # noqa: PLC0415 - see `serve`

    configure("console", "ERROR")
    beginning, stored = datetime.now(UTC) - length_of_time(since), stored_or_exit(embedded_redis=embedded_redis)

    async def show() -> int:
        async with stored.address() as url:
            found = [vote async for vote in votes(url, stored.namespace, beginning)]
        for line in map(to_json, found) if as_json else table(found):
            typer.echo(line)
        return 0

    raise typer.Exit(run(show))
