"""`bridge catch-up`: have messages of an outage looked for that no bridge could notice, and see how far that is."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bridge.cli.printing import to_json
from bridge.cli.store import EmbeddedRedisOption, in_store, length_of_time

if TYPE_CHECKING:
    from bridge.queue.outages import PastOutage
    from bridge.queue.scripting import Scripts

_LONGEST: Final = timedelta(days=7)
_NONE: Final = "No outage of the last 8 days is known."


def catch_up(
    *,
    since: Annotated[str, typer.Option(help="How long ago messages stopped coming in: 90m, 2h, 3d.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    embedded_redis: EmbeddedRedisOption = False,
) -> None:
    """Find messages missed in an outage.

    With --since, the bridge looks in Slack's history for what nobody could notice; else it shows the last outage.
    """
    length = length_of_time(since) if since else None
    if length is not None and length > _LONGEST:
        raise typer.BadParameter("expected at most 7d: what is older isn't looked for", param_hint="--since")

    async def look(scripts: Scripts) -> int:
        from bridge.queue.outages import Outages  # noqa: PLC0415 - see `store`

        outages, now = Outages(scripts), datetime.now(UTC)
        if length is not None:
            await outages.note(now - length, now)
        outage = await outages.latest()
        if as_json:
            typer.echo(to_json({"outage": asdict(outage) if outage else None}, indent=2))
        else:
            typer.echo(in_words(outage) if outage else _NONE)
        return 0

    in_store(look, embedded_redis=embedded_redis)


def in_words(outage: PastOutage) -> str:
    """Say how far it is."""
    when = f"{outage.began:%Y-%m-%d %H:%M:%S} to {outage.ended:%Y-%m-%d %H:%M:%S} UTC"
    so_far = f"{outage.found} messages found, {outage.queued} of them queued"
    if outage.done_at is not None:
        return f"{when}: caught up at {outage.done_at:%Y-%m-%d %H:%M:%S} UTC; {so_far}."
    if not outage.is_planned:
        return f"{when}: a running bridge begins to catch up at once; if none runs, the next one that starts does."
    return f"{when}: {outage.read} threads and channels read, {outage.left} left; {so_far}."
