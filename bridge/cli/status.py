"""`bridge status`: what every process is doing."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import typer

from bridge.cli.catch_up import in_words
from bridge.cli.printing import colored, printable, to_json
from bridge.cli.store import JsonOption, in_store
from bridge.queue.wipe import CURE

if TYPE_CHECKING:
    from bridge.queue.outages import PastOutage
    from bridge.queue.scripting import Scripts
    from bridge.queue.status import Status


def status(
    *,
    as_json: JsonOption = False,
) -> None:
    """Show what each process is doing.

    Also counts busy, waiting and stopped threads, and dead letters. Works whether or not a bridge is running.
    """

    async def show(scripts: Scripts) -> int:
        from bridge.queue.outages import Outages  # noqa: PLC0415 - see `store`
        from bridge.queue.status import status_of  # noqa: PLC0415

        found, outage = await status_of(scripts), await Outages(scripts).latest()
        typer.echo(for_programs(found, outage) if as_json else colored(table(found, datetime.now(UTC), outage)))
        return 0

    in_store(show)


def for_programs(found: Status, outage: PastOutage | None = None) -> str:
    """Format the status as JSON; durations are in seconds."""
    processes = [
        {
            "name": one.name,
            "is_running": one.is_running,
            "last_heard_seconds": one.last_heard and one.last_heard.total_seconds(),
            "work": one.work,
        }
        for one in found.processes
    ]
    return to_json({**asdict(found), "processes": processes, "outage": outage and asdict(outage)}, indent=2)


def table(found: Status, now: datetime, outage: PastOutage | None = None) -> str:
    """Format the status for people."""
    lines = ["Processes"]
    for one in found.processes:
        if one.is_running:
            seen = f"running, {len(one.work)} in progress" if one.work else "running, idle"
        else:
            seen = f"not seen for {_spoken(one.last_heard) if one.last_heard else 'more than an hour'}"
        lines.append(f"  {'✓' if one.is_running else '✗'} {printable(one.name)}  {seen}")
        for work in one.work:
            age = f"accepted {_spoken(now - work.accepted_at)} ago" if work.accepted_at else ""
            lines.append(printable(f"      {work.lane}  {work.step}  {age}").rstrip())
    if not found.processes:
        lines.append("  No bridge is running.")
    numbers = {
        "busy threads": found.lanes,
        "threads waiting for someone to pick an agent": found.parked,
        "stopped threads with messages waiting": found.held,
        "dead letters (bridge dead list)": found.dead,
    }
    lines += ["", "Queue", *(f"  {number:>5}  {name}" for name, number in numbers.items())]
    if outage:
        lines += ["", "Last outage", f"  {in_words(outage)}"]
    if found.wipe:
        lines += ["", "Redis", f"  ! {found.wipe.in_words()}.", f"    → {CURE}"]
    return "\n".join(lines)


def _spoken(length: timedelta) -> str:
    """Format a duration roughly: 4 s, 3 min, 2 h."""
    seconds = max(0, int(length.total_seconds()))
    for unit, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"
