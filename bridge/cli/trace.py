"""`bridge trace`: what became of one Slack message."""

from __future__ import annotations

from typing import Annotated

import typer

from bridge.cli.running import CANNOT_RUN, run, say
from bridge.cli.stored import EmbeddedRedis, stored_or_exit
from bridge.logs import configure


def trace(
    message: Annotated[
        list[str], typer.Argument(metavar="PERMALINK", help="“Copy link” of a message in Slack; or CHANNEL TS.")
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of the table.")] = False,
    embedded_redis: EmbeddedRedis = False,
) -> None:
    """Show step by step what became of one Slack message, of the last 7 days; never what it said."""
    from bridge.ops import trace as tracing  # noqa: PLC0415 - heavy, and this module is always imported

    configure("console", "ERROR")
    address = tracing.address_of(" ".join(message))
    if address is None:
        raise typer.BadParameter(
            "not the address of a message: use https://….slack.com/archives/C…/p1700000000123456, or CHANNEL TS",
            param_hint="PERMALINK",
        )
    stored = stored_or_exit(embedded_redis=embedded_redis)

    async def show() -> int:
        async with stored.address() as url:
            known = await tracing.look_up(url, stored.namespace, address)
        if as_json:
            typer.echo(tracing.to_json(address, known))
        elif known:
            typer.echo(tracing.table(tracing.steps_of(known)))
        else:
            say_lines(tracing.NOBODYS if known is None else tracing.NOTHING)
        return 0 if known else CANNOT_RUN

    raise typer.Exit(run(show))


def say_lines(words: str) -> None:
    """Write several lines to standard error."""
    for line in words.splitlines():
        say(line)
