"""`bridge catch-up`: start looking for messages missed in an outage, and show the progress."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from bridge.cli.printing import moment, out, to_json
from bridge.cli.store import JsonOption, in_store, length_of_time
from bridge.queue.outages import BOUND, Outages, PastOutage
from bridge.queue.scripting import Scripts
from bridge.slack.blockkit.kit import counted

_NONE: Final = "Nothing to catch up on in the last 8 days."


def catch_up(
    *,
    since: Annotated[
        str | None, typer.Option(metavar="AGE", help="How long ago messages stopped arriving, such as 90m, 2h or 3d.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find and answer messages missed in an outage.

    With --since, the bridge reads Slack's history from that time on and queues the messages it missed. Without
    --since, the command shows the progress or the result of the latest catch-up.
    """
    length = None if since is None else length_of_time(since)
    if length is not None and length > BOUND:
        raise typer.BadParameter(f"“{since}” is too long ago: use at most {BOUND.days}d", param_hint="--since")

    async def look(scripts: Scripts) -> int:
        outages, now = Outages(scripts), scripts.clock.now()
        if length is not None:
            await outages.note(now - length, now)
        outage = await outages.latest()
        if as_json:
            out(to_json({"outage": outage}, indent=2))
        else:
            out(in_words(outage) if outage else _NONE)
        return 0

    in_store(look)


def in_words(outage: PastOutage) -> str:
    """Describe the progress of catching up on *outage*."""
    when = f"{moment(outage.began)} to {moment(outage.ended)}"
    so_far = f"{counted(outage.found, 'message')} checked, {outage.queued} missed and queued"
    if outage.done_at is not None:
        return f"{when}: caught up at {moment(outage.done_at)}; {so_far}."
    if not outage.is_planned:
        return f"{when}: catching up starts within seconds, or once a bridge is running."
    return f"{when}: {outage.read} of {outage.read + outage.left} channels and threads read; {so_far}."
